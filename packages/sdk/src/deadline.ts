// The time that a call has over everything: all attempts, and the waits between them.
import { setTimeout as delay } from 'node:timers/promises';

/** A timer of more fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** What the caller of anything here may choose. */
export interface CallOptions {
  /** Milliseconds over all attempts and waits. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call when it is aborted. What was sent by then may have been taken: see UnknownOutcomeError. */
  readonly signal?: AbortSignal | undefined;
}

export class Deadline {
  private readonly endsMs: number;
  readonly signal: AbortSignal | undefined;

  constructor(
    readonly timeoutMs: number,
    { signal }: CallOptions,
  ) {
    if (!(timeoutMs > 0)) throw new TypeError('timeoutMs is a positive number of milliseconds');
    this.endsMs = performance.now() + timeoutMs;
    this.signal = signal;
  }

  /** 0 when the time is up. */
  get leftMs(): number {
    return Math.max(0, this.endsMs - performance.now());
  }

  get isAborted(): boolean {
    return this.signal?.aborted === true;
  }

  /** False at once when it would end after the deadline, and false when the caller's signal ends it. */
  async sleep(ms: number): Promise<boolean> {
    if (ms >= this.leftMs || this.isAborted) return false;
    return delay(ms, true, this.signal === undefined ? {} : { signal: this.signal }).catch(() => false);
  }
}

/**
 * Runs `act` with a signal that ends it after `limitMs`, or with the deadline's own signal. Rejects as `act` does.
 * Nothing is left behind on the caller's signal, which may live for long.
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
