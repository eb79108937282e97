// One stream of events, over any number of connections.
import { setTimeout as delay } from 'node:timers/promises';
import { TIMER_MAX_MS, within } from './deadline.js';
import { EventSourceReader, type Said } from './event-source.js';
import { ApiError, NetworkError } from './errors.js';
import type { EnergyEvent } from './model.js';
import type { Transport } from './transport.js';

export interface StreamOptions {
  /** Ends the stream without an error. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds without data or heartbeat before the stream throws. Default: 600 000. It throws immediately if the
   * service asks for a longer wait.
   */
  readonly outageLimitMs?: number | undefined;
  /** Called with the reason for a lost connection, before the stream reconnects. */
  readonly onCut?: ((error: Error) => void) | undefined;
}

interface Start {
  readonly after: number | 'latest' | undefined;
  readonly types: string | undefined;
}

const OUTAGE_LIMIT_MS = 600_000;
const OPEN_LIMIT_MS = 15_000;
/** The service sends a heartbeat every 15 s. */
const QUIET_LIMIT_MS = 45_000;
const BASE_WAIT_MS = 250;
const WAIT_MAX_MS = 15_000;

export class EventStream implements AsyncIterable<EnergyEvent> {
  /** Position up to which events were delivered or filtered out by `types`. Undefined before the first connection. */
  position: number | undefined;
  private failures = 0;
  private aliveMs = performance.now();

  constructor(
    private readonly transport: Transport,
    private readonly start: Start,
    private readonly options: StreamOptions,
  ) {}

  /** A second iteration continues after `position`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<EnergyEvent, void, undefined> {
    // Aborts when the consumer leaves its loop, even during a wait for a connection.
    const ended = new AbortController();
    const { signal } = this.options;
    const end = (): void => ended.abort();
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted === true) end();
    this.aliveMs = performance.now();
    const { outageLimitMs = OUTAGE_LIMIT_MS } = this.options;
    if (!(outageLimitMs > 0)) throw new TypeError('outageLimitMs must be a positive number of milliseconds');
    try {
      while (!ended.signal.aborted) yield* this.connection(ended.signal);
    } finally {
      signal?.removeEventListener('abort', end);
      end();
    }
  }

  /** Reads one connection to its end, then waits before the next. Throws errors that a retry cannot resolve. */
  private async *connection(ends: AbortSignal): AsyncGenerator<EnergyEvent, void, undefined> {
    const query = { after: this.position ?? this.start.after, types: this.start.types };
    const call = { method: 'GET', path: '/v1/events/stream', query, kind: 'read' } as const;
    const opened = await this.transport.open(call, OPEN_LIMIT_MS, ends);
    if (ends.aborted) return;
    if ('error' in opened) {
      if (!opened.isTransient) throw opened.error;
      await this.cut(opened.error, ends);
      return;
    }
    const requestId = opened.headers.get('x-request-id') ?? undefined;
    const reader = (opened.body as ReadableStream<Uint8Array> | null)?.getReader();
    let why = new NetworkError('the service closed the connection', requestId);
    try {
      const source = new EventSourceReader();
      for (;;) {
        const chunk = await soon(reader?.read(), ends);
        if (chunk === undefined || chunk.done) break;
        for (const said of source.take(chunk.value)) yield* this.eventsOf(said);
        this.aliveMs = performance.now();
        this.failures = 0;
      }
    } catch (thrown) {
      why = new NetworkError(thrown instanceof Error ? thrown.message : String(thrown), requestId, thrown);
    } finally {
      reader?.cancel().catch(() => undefined);
    }
    await this.cut(why, ends);
  }

  /** Yields the event unless it was delivered before. */
  private *eventsOf({ position, data }: Said): Generator<EnergyEvent, void, undefined> {
    if (position === undefined || position <= (this.position ?? -1)) return;
    if (data !== undefined) yield JSON.parse(data) as EnergyEvent;
    // Set after the yield: a consumer that leaves the loop at an event receives that event again when it resumes.
    this.position = position;
  }

  /** Waits before the next connection. Throws `why` after too long an outage, or if the requested wait is too long. */
  private async cut(why: Error, ends: AbortSignal): Promise<void> {
    if (ends.aborted) return;
    const leftMs = this.aliveMs + (this.options.outageLimitMs ?? OUTAGE_LIMIT_MS) - performance.now();
    const askedMs = why instanceof ApiError ? (why.retryAfterSec ?? 0) * 1000 : 0;
    if (leftMs < 0 || askedMs > leftMs) throw why;
    this.options.onCut?.(why);
    const ms = askedMs + Math.random() * Math.min(WAIT_MAX_MS, BASE_WAIT_MS * 2 ** this.failures);
    this.failures += 1;
    await delay(Math.min(ms, leftMs, TIMER_MAX_MS), undefined, { signal: ends }).catch(() => undefined);
  }
}

/** Returns the next chunk. Rejects after QUIET_LIMIT_MS without data, and when the stream ends. */
async function soon<T>(read: Promise<T> | undefined, ends: AbortSignal): Promise<T | undefined> {
  return within(QUIET_LIMIT_MS, ends, async (over) => {
    const isOver = new Promise<never>((_, reject) => {
      const end = (): void => {
        reject(over.reason instanceof Error ? over.reason : new Error('the stream was ended'));
      };
      over.addEventListener('abort', end, { once: true });
      if (over.aborted) end();
    });
    return Promise.race([read, isOver]);
  });
}
