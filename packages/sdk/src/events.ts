// The log of what happened to the project: page by page, waiting for the next, or as a stream that goes on after a cut.
import { type CallOptions } from './deadline.js';
import { EventStream, type StreamOptions } from './event-stream.js';
import type { EventPage, EventType } from './model.js';
import type { Transport } from './transport.js';

export interface EventQuery {
  /** Go on after this position; `latest`: from now on. Left out: from the oldest event that is kept. */
  readonly after?: number | 'latest' | undefined;
  /** Only these types. */
  readonly types?: readonly EventType[] | undefined;
  /** Events of a page, 1 to 100, 20 unless said. */
  readonly limit?: number | undefined;
}

const WAIT_SEC_MAX = 30;

export class Events {
  constructor(private readonly transport: Transport) {}

  /**
   * The events after a position, at most `limit`; go on after `last_position`, which you keep with the work it led to.
   *
   * Throws ApiError EVENTS_EXPIRED (410) with `oldestPosition` when what followed is not kept any more.
   */
  async list(query: EventQuery = {}, options?: CallOptions): Promise<EventPage> {
    return this.page(query, undefined, options);
  }

  /** As `list`, but held until there is something, for `waitSec` seconds at most (30, which is the most, unless said). */
  async poll(
    { waitSec = WAIT_SEC_MAX, ...query }: EventQuery & { readonly waitSec?: number | undefined } = {},
    options?: CallOptions,
  ): Promise<EventPage> {
    return this.page(query, Math.min(waitSec, WAIT_SEC_MAX), options);
  }

  /**
   * Every event in order, each once, as it happens: `for await (const event of client.events.stream({ after }))`.
   *
   * A cut, or a service that restarts, is no end: the stream goes on after the last event you took. Keep
   * `event.position` with the work it led to. It ends by leaving the loop or by `signal`, and throws ApiError for what
   * time does not heal (EVENTS_EXPIRED, KEY_SCOPE, PROJECT_FROZEN …), and the last error after `outageLimitMs` without any
   * sign of life (600 000 unless said).
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
