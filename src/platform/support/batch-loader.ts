/** Batches single look-ups (batcher.ts). Concurrent requests for one key share a look-up that has not started. */
import { Batcher, type BatchLimits } from './batcher.js';

type Key = readonly string[];

/** `lookUp` must answer in the order of its keys, with undefined for missing values. */
export class BatchLoader<R> {
  private readonly waiting = new Map<string, Promise<R | undefined>>();
  private readonly batcher: Batcher<Key, R | undefined>;

  constructor(limits: BatchLimits, lookUp: (keys: readonly Key[]) => Promise<readonly (R | undefined)[]>) {
    this.batcher = new Batcher(limits, async (keys) => {
      for (const key of keys) this.waiting.delete(nameOf(key));
      return lookUp(keys);
    });
  }

  /** Returns the value of a key. Throws like `Batcher.add`. */
  async load(...key: Key): Promise<R | undefined> {
    const name = nameOf(key);
    const known = this.waiting.get(name);
    if (known !== undefined) return known;
    const found = this.batcher.add(key);
    this.waiting.set(name, found);
    // No look-up forgets a key that was refused.
    found.catch(() => {
      if (this.waiting.get(name) === found) this.waiting.delete(name);
    });
    return found;
  }
}

const nameOf = (key: Key): string => key.join('\n');
