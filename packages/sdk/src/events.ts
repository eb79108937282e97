// The project's event log: by page, by long poll, or as a stream that resumes after a lost connection.
import { type CallOptions } from './deadline.js';
import { EventStream, type StreamOptions } from './event-stream.js';
import type { EventPage, EventType } from './model.js';
import type { Transport } from './transport.js';

export interface EventQuery {
  /** Return events after this position; `latest`: from now on. Default: from the oldest event that is kept. */
  readonly after?: number | 'latest' | undefined;
  /** Return only these types. */
  readonly types?: readonly EventType[] | undefined;
  /** Events of a page, 1 to 100. Default: 20. */
  readonly limit?: number | undefined;
}

const WAIT_SEC_MAX = 30;

export class Events {
  constructor(private readonly transport: Transport) {}

  /**
   * Returns at most `limit` events after a position. Continue after `last_position`; store it together with the effects
   * of these events.
   *
   * Throws ApiError EVENTS_EXPIRED (410) with `oldestPosition` when the events after the position were deleted.
   */
  async list(query: EventQuery = {}, options?: CallOptions): Promise<EventPage> {
    return this.page(query, undefined, options);
  }

  /**
   * Long-polls: like `list`, but the service holds its answer until there is an event. `waitSec` is at most 30, the
   * default.
   */
  async poll(
    { waitSec = WAIT_SEC_MAX, ...query }: EventQuery & { readonly waitSec?: number | undefined } = {},
    options?: CallOptions,
  ): Promise<EventPage> {
    return this.page(query, Math.min(waitSec, WAIT_SEC_MAX), options);
  }

  /**
   * Returns every event in order, each once, as it happens:
   * `for await (const event of client.events.stream({ after }))`.
   *
   * After a lost connection or a restart of the service, the stream resumes after the last event you took. Store
   * `event.position` together with the effects of the event. Leave the loop or abort `signal` to end the stream. It
   * throws ApiError for errors that a retry cannot resolve (EVENTS_EXPIRED, KEY_SCOPE, PROJECT_FROZEN …). It throws the
   * last error after `outageLimitMs` without data or heartbeat (default 600 000), or immediately if the service asks for
   * a longer wait.
   */
  stream(query: Omit<EventQuery, 'limit'> = {}, options: StreamOptions = {}): EventStream {
    return new EventStream(this.transport, { after: query.after, types: query.types?.join(',') }, options);
  }

  private async page(query: EventQuery, wait: number | undefined, options?: CallOptions): Promise<EventPage> {
    const { after, types, limit } = query;
    const call = {
      method: 'GET',
      path: '/v1/events',
      query: { after, types: types?.join(','), limit, wait },
      kind: 'read',
      heldSec: wait,
      isAnswer: isPage,
    } as const;
    return (await this.transport.send<EventPage>(call, options)).body;
  }
}

const isPage = (body: object): boolean => 'items' in body && 'last_position' in body;
