/**
 * The process's own clock, for ages and deadlines inside one process only. It decides nothing about money:
 * quotes and leases are judged by the database's clock, rentals by the chain's (docs/interface.md §18).
 */
import { setTimeout as sleepFor } from 'node:timers/promises';

/** Milliseconds since the epoch by this machine's clock. */
export function nowMs(): number {
  return Date.now();
}

/** Monotonic milliseconds, for measuring ages and spans; unaffected by clock jumps. */
export function monotonicMs(): number {
  return performance.now();
}

/** Waits `ms`, or less when `signal` aborts; never rejects. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleepFor(ms, undefined, signal === undefined ? {} : { signal });
  } catch {
    // Aborted: the caller checks its signal.
  }
}

/** Thrown by `withDeadline` when the time is up. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/**
 * Settles as `work` does, or rejects with DeadlineError after `ms`. The work itself goes on; its late failure is
 * swallowed, so use this only for work whose result may be lost.
 */
export async function withDeadline<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new DeadlineError(`${what} took longer than ${ms.toString()} ms`));
    }, ms);
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
