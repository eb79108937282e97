// Waits with a time limit. Every wait of this package uses these functions.
import { setTimeout as delay } from 'node:timers/promises';

/** Settles as `promise` does. Rejects after `limitMs` with a message that names `what`. */
export async function limited<T>(promise: Promise<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`${what} took longer than ${limitMs} ms`));
    }, limitMs);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Polls `check` every `everyMs` and returns its first result other than undefined. Rejects immediately if `check`
 * throws, and after `limitMs`.
 */
export async function until<T>(
  check: () => Promise<T | undefined> | T | undefined,
  limitMs: number,
  what: string,
  everyMs = 50,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value !== undefined) return value;
    if (Date.now() >= deadline) throw new Error(`${what} took longer than ${limitMs} ms`);
    await delay(everyMs);
  }
}
