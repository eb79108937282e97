/**
 * The process's own clock, only for ages and deadlines inside one process. It decides nothing about money: quotes and
 * leases use the database's clock, rentals the chain's (docs/interface.md §18).
 */
import { setTimeout as sleepFor } from 'node:timers/promises';

/** Returns milliseconds since the epoch by this machine's clock. */
export function nowMs(): number {
  return Date.now();
}

/** Returns monotonic milliseconds for ages and durations, unaffected by clock jumps. */
export function monotonicMs(): number {
  return performance.now();
}

/** Waits `ms`, or less when `signal` aborts. Never rejects. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleepFor(ms, undefined, signal === undefined ? {} : { signal });
  } catch {
    // Aborted: the caller checks its signal.
  }
}

/** Thrown by `withDeadline` after the deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/**
 * Settles as `work` does, or rejects with DeadlineError after `ms`. The work continues and its late failure is
 * swallowed, so use this only for work with a dispensable result.
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
