/**
 * What is costly to read and much asked for: read once for all who ask, shown for a while, and read anew in the background
 * once it is older. So many keys at most: the oldest reading goes first.
 */
import { monotonicMs } from './clock.js';

interface Kept<T> {
  readonly value: Promise<T>;
  readonly atMs: number;
  /** Of the reading that takes its place. */
  isReplaced: boolean;
}

export interface KeptLimits {
  /** So long a reading serves everybody; an older one is shown while it is read anew. */
  readonly keptMs: number;
  /** An older one is shown to nobody. */
  readonly shownMs: number;
  readonly keysMax: number;
}

export class KeptReadings<T> {
  /** The oldest first. */
  private readonly kept = new Map<string, Kept<T>>();

  constructor(private readonly limits: KeptLimits) {}

  /** Rejects as `read` does, where there is nothing to show; what failed is not kept. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const kept = this.kept.get(key);
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : monotonicMs() - kept.atMs;
    if (kept === undefined || ageMs > this.limits.shownMs) return this.first(key, read());
    if (ageMs > this.limits.keptMs && !kept.isReplaced) {
      kept.isReplaced = true;
      // Whoever asks meanwhile need not wait for it; where it fails, the next who asks reads.
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
