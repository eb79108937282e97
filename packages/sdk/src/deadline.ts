// The time limit of a whole call: all attempts, and the waits between them.
import { setTimeout as delay } from 'node:timers/promises';

/** A longer setTimeout fires immediately. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/** Options of every call. */
export interface CallOptions {
  /** Milliseconds for the whole call, with all attempts and waits. */
  readonly timeoutMs?: number | undefined;
  /** Aborts the call. The service may already have executed the request: see UnknownOutcomeError. */
  readonly signal?: AbortSignal | undefined;
}

export class Deadline {
  private readonly endsMs: number;
  readonly signal: AbortSignal | undefined;

  constructor(
    readonly timeoutMs: number,
    { signal }: CallOptions,
  ) {
    if (!(timeoutMs > 0)) throw new TypeError('timeoutMs must be a positive number of milliseconds');
    this.endsMs = performance.now() + timeoutMs;
    this.signal = signal;
  }

  /** Milliseconds left; 0 after the deadline. */
  get leftMs(): number {
    return Math.max(0, this.endsMs - performance.now());
  }

  get isAborted(): boolean {
    return this.signal?.aborted === true;
  }

  /**
   * Sleeps and returns true. Returns false immediately if the sleep would end after the deadline, and false as soon as
   * the caller's signal aborts.
   */
  async sleep(ms: number): Promise<boolean> {
    if (ms >= this.leftMs || this.isAborted) return false;
    return delay(Math.min(ms, TIMER_MAX_MS), true, this.signal === undefined ? {} : { signal: this.signal }).catch(
      () => false,
    );
  }
}

/**
 * Runs `act` with a signal that aborts after `limitMs` or with the given signal. Rejects as `act` does. Leaves no
 * listener on the caller's signal, which may be long-lived.
 */
export async function within<T>(
  limitMs: number,
  signal: AbortSignal | undefined,
  act: (ends: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort(signal?.reason);
  };
  const timer = setTimeout(
    () => {
      controller.abort(new Error(`no answer within ${Math.round(limitMs).toString()} ms`));
    },
    Math.min(limitMs, TIMER_MAX_MS),
  );
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    return await act(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
