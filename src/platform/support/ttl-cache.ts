/**
 * Caches expensive readings: one read serves all callers, and a stale reading is still returned while it is refreshed
 * in the background. The number of keys is bounded; the oldest reading is evicted first.
 */
import { monotonicMs } from './clock.js';

interface Entry<T> {
  readonly value: Promise<T>;
  readonly atMs: number;
  /** True while a refresh is in progress. */
  isRefreshing: boolean;
}

export interface TtlCacheLimits {
  /** Age in ms up to which a reading is fresh. An older one is returned while it is refreshed. */
  readonly freshMs: number;
  /** A reading older than this is never returned. */
  readonly staleMsMax: number;
  readonly keysMax: number;
}

export class TtlCache<T> {
  /** The oldest first. */
  private readonly entries = new Map<string, Entry<T>>();

  constructor(private readonly limits: TtlCacheLimits) {}

  /** Returns a cached or new reading. Rejects as `read` does when there is none to return. Failures are not cached. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const entry = this.entries.get(key);
    const ageMs = entry === undefined ? Number.POSITIVE_INFINITY : monotonicMs() - entry.atMs;
    if (entry === undefined || ageMs > this.limits.staleMsMax) return this.storeFirst(key, read());
    if (ageMs > this.limits.freshMs && !entry.isRefreshing) {
      entry.isRefreshing = true;
      // Callers do not wait for the refresh. If it fails, the next call starts another.
      read().then(
        (value) => {
          this.store(key, Promise.resolve(value));
        },
        () => (entry.isRefreshing = false),
      );
    }
    return entry.value;
  }

  private storeFirst(key: string, value: Promise<T>): Promise<T> {
    const entry = this.store(key, value);
    value.catch(() => {
      if (this.entries.get(key) === entry) this.entries.delete(key);
    });
    return value;
  }

  private store(key: string, value: Promise<T>): Entry<T> {
    const entry = { value, atMs: monotonicMs(), isRefreshing: false };
    this.entries.delete(key);
    this.entries.set(key, entry);
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.limits.keysMax) break;
      this.entries.delete(oldest);
    }
    return entry;
  }
}
