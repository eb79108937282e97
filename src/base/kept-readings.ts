/**
 * Caches expensive readings: one read serves all callers, and a stale reading is still returned while it is refreshed
 * in the background. The number of keys is bounded; the oldest reading is evicted first.
 */
import { monotonicMs } from './clock.js';

interface Kept<T> {
  readonly value: Promise<T>;
  readonly atMs: number;
  /** True while a refresh is in progress. */
  isReplaced: boolean;
}

export interface KeptLimits {
  /** Age in ms up to which a reading is fresh. An older one is returned while it is refreshed. */
  readonly keptMs: number;
  /** A reading older than this is never returned. */
  readonly shownMs: number;
  readonly keysMax: number;
}

export class KeptReadings<T> {
  /** The oldest first. */
  private readonly kept = new Map<string, Kept<T>>();

  constructor(private readonly limits: KeptLimits) {}

  /** Returns a cached or new reading. Rejects as `read` does when there is none to return. Failures are not cached. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const kept = this.kept.get(key);
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : monotonicMs() - kept.atMs;
    if (kept === undefined || ageMs > this.limits.shownMs) return this.first(key, read());
    if (ageMs > this.limits.keptMs && !kept.isReplaced) {
      kept.isReplaced = true;
      // Callers do not wait for the refresh. If it fails, the next call starts another.
      read().then(
        (value) => {
          this.set(key, Promise.resolve(value));
        },
        () => (kept.isReplaced = false),
      );
    }
    return kept.value;
  }

  private first(key: string, value: Promise<T>): Promise<T> {
    const kept = this.set(key, value);
    value.catch(() => {
      if (this.kept.get(key) === kept) this.kept.delete(key);
    });
    return value;
  }

  private set(key: string, value: Promise<T>): Kept<T> {
    const kept = { value, atMs: monotonicMs(), isReplaced: false };
    this.kept.delete(key);
    this.kept.set(key, kept);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= this.limits.keysMax) break;
      this.kept.delete(oldest);
    }
    return kept;
  }
}
