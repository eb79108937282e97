/**
 * Serves the log as Server-Sent Events. Reads small pages, each after the caller has taken the one before. A caller
 * that takes nothing for a while is disconnected, and resumes from the last id it has seen.
 */
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs, sleep } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { drained } from '../../platform/http/pipeline/drained.js';
import type { Caller } from '../../platform/http/pipeline/request-context.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { isDatabaseAway, isTooSlow } from '../../platform/database/database.js';
import type { EventItem, EventPage } from './event-log.js';
import { EventReading, type Wanted } from './event-reading.js';
import { EventWaits } from './event-waits.js';
import { HeldReads, type HeldRead } from './held-reads.js';
import type { EventType } from '../../domain/event-types.js';

/** Events per page: 200 KB at the largest event size, and typically 30 KB. */
const PAGE_LIMIT = 20;
/** Interval of keep-alive comments while nothing else is sent. */
const COMMENT_MS = 15_000;
/** Maximum life of a stream, shortened randomly so that streams do not all reconnect at the same time. */
const LIFE_MS = 3_600_000;
const LIFE_SPREAD = 0.2;
const RETRY_MS = 1000;

const ENDS = ['caller', 'refusal', 'stop', 'slow', 'age', 'expired', 'failed'] as const;
type End = (typeof ENDS)[number];

interface Stream {
  readonly caller: Caller;
  readonly response: ServerResponse;
  readonly held: HeldRead;
  readonly types: readonly EventType[] | undefined;
}

/** The position of a stream. Sent events are not kept while it waits. */
interface Progress {
  readonly after: bigint;
  /** True if the next read should follow immediately. */
  readonly hasMore: boolean;
}

@Injectable()
export class EventStreams {
  private readonly ended: Counter<'by'>;
  private readonly slowMs: number;

  constructor(
    private readonly reading: EventReading,
    private readonly eventWaits: EventWaits,
    private readonly heldReads: HeldReads,
    private readonly log: Log,
    config: Config,
    metrics: Metrics,
  ) {
    this.slowMs = config.http.streamSlowSec * 1000;
    this.ended = new Counter({
      name: 'event_streams_ended_total',
      help: 'Ended streams of events, by cause (`by`).',
      labelNames: ['by'] as const,
      registers: [metrics.registry],
    });
    for (const by of ENDS) this.ended.inc({ by }, 0);
  }

  /** Streams events until a cause ends the stream. Throws a refusal before the stream begins: 410, 429, 503. */
  async serve(caller: Caller, response: ServerResponse, { after, types }: Omit<Wanted, 'limit'>): Promise<void> {
    await this.heldReads.runHeld('stream', caller, response, async (held) => {
      const stream: Stream = { caller, response, held, types };
      const first = await this.reading.readPage(caller.project.id, { after, types, limit: PAGE_LIMIT });
      if (held.refusal !== undefined) throw held.refusal;
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
      const by = await this.run(stream, first);
      this.ended.inc({ by });
      // Discard the data that the caller has not taken by now.
      if (response.writableNeedDrain) response.destroy();
      else response.end();
    });
  }

  private async run(stream: Stream, first: EventPage): Promise<End> {
    const { held } = stream;
    const endsMs = monotonicMs() + LIFE_MS * (1 - LIFE_SPREAD * Math.random());
    try {
      // Sent even before the first event, so that the caller knows where to resume.
      let progress = await this.send(stream, first);
      while (monotonicMs() < endsMs) {
        const untilMs = Math.min(monotonicMs() + COMMENT_MS, endsMs);
        if (!progress.hasMore) await this.waitForArrival(stream, progress.after, untilMs);
        progress = await this.send(stream, await this.read(stream, progress.after, untilMs));
      }
      return 'age';
    } catch (thrown) {
      if (thrown instanceof StreamEnd) return thrown.by;
      if (thrown instanceof ApiError && thrown.code === 'EVENTS_EXPIRED') return 'expired';
      this.log.error({ err: thrown, requestId: stream.caller.requestId }, 'event stream failed');
      return held.endedBy ?? 'failed';
    }
  }

  /** Waits for an event after `after`. Throws StreamEnd. */
  private async waitForArrival({ caller, held }: Stream, after: bigint, untilMs: number): Promise<void> {
    await this.eventWaits.waitForEvents(caller.project.id, after, untilMs - monotonicMs(), held.signal);
    throwIfEnded(held);
  }

  /**
   * Returns the events after `after`. An unavailable or busy database does not end the stream: the page is then empty.
   * Throws StreamEnd.
   */
  private async read({ caller, held, types }: Stream, after: bigint, untilMs: number): Promise<EventPage> {
    for (;;) {
      try {
        const page = await this.reading.readPage(caller.project.id, { after, types, limit: PAGE_LIMIT });
        throwIfEnded(held);
        return page;
      } catch (thrown) {
        throwIfEnded(held);
        const isBusy = thrown instanceof ApiError && thrown.code === 'SERVICE_UNAVAILABLE';
        if (!isBusy && !isDatabaseAway(thrown) && !isTooSlow(thrown)) throw thrown;
        // Random delay, so that streams do not all read when the database is back.
        await sleep(RETRY_MS * (0.5 + Math.random()), held.signal);
        if (monotonicMs() >= untilMs) return { items: [], lastPosition: after, hasMore: false };
      }
    }
  }

  /**
   * Sends the events, or a keep-alive comment if there are none. Resolves once there is room for more. Throws
   * StreamEnd.
   */
  private async send({ response, held }: Stream, { items, lastPosition, hasMore }: EventPage): Promise<Progress> {
    throwIfEnded(held);
    if (!response.write(textOf(items, lastPosition))) {
      const isTaken = await drained(response, this.slowMs, held.signal);
      throwIfEnded(held);
      if (!isTaken) throw new StreamEnd('slow');
    }
    return { after: lastPosition, hasMore };
  }
}

class StreamEnd extends Error {
  constructor(readonly by: End) {
    super(by);
  }
}

function throwIfEnded({ endedBy }: HeldRead): void {
  if (endedBy !== undefined) throw new StreamEnd(endedBy);
}

/**
 * Each event has its position as id. If the page ends with skipped events or is empty, a comment with the last position
 * follows.
 */
function textOf(items: readonly EventItem[], lastPosition: bigint): string {
  const events = items.map(({ position, payload }) => `id: ${position.toString()}\ndata: ${payload}\n\n`);
  if (items.at(-1)?.position !== lastPosition) events.push(`:\nid: ${lastPosition.toString()}\n\n`);
  return events.join('');
}
