/**
 * Batches single look-ups. Look-ups requested within one turn of the event loop, within a given time, or while earlier
 * ones run are sent together. A look-up never starts before its request, so a caller sees everything that was true at
 * that time.
 */
import { monotonicMs } from './clock.js';
import { serviceBusy } from '../../domain/errors.js';

interface Limits {
  /** Concurrent look-ups. Requests meanwhile are collected for the next one. */
  readonly concurrent: number;
  /** Maximum keys of one look-up. */
  readonly keys: number;
  /** A request that has waited this long, in ms, when a look-up could start is refused. */
  readonly waitMs: number;
  /** Time in ms for which a look-up collects requests. Default: one turn of the event loop. */
  readonly gatherMs?: number;
}

interface PendingKey<R> {
  readonly key: readonly string[];
  readonly sinceMs: number;
  readonly found: Promise<R | undefined>;
  readonly settle: (result: R | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * `lookUp` must answer in the order of its keys, with undefined for missing values. The queue is bounded by its waiting
 * callers.
 */
export class BatchLoader<R> {
  private readonly waiting = new Map<string, PendingKey<R>>();
  private running = 0;
  private isScheduled = false;

  constructor(
    private readonly limits: Limits,
    private readonly lookUp: (keys: readonly (readonly string[])[]) => Promise<readonly (R | undefined)[]>,
  ) {}

  /**
   * Returns the value of a key; concurrent requests for it share one look-up. Throws the look-up's error, and 503
   * SERVICE_UNAVAILABLE when the request waited too long.
   */
  async load(...key: readonly string[]): Promise<R | undefined> {
    const name = key.join('\n');
    const known = this.waiting.get(name);
    if (known !== undefined) return known.found;
    const wanted = newPendingKey<R>(key);
    this.waiting.set(name, wanted);
    this.scheduleBatch();
    return wanted.found;
  }

  private scheduleBatch(): void {
    if (this.isScheduled || this.running >= this.limits.concurrent || this.waiting.size === 0) return;
    this.isScheduled = true;
    const start = (): void => {
      this.isScheduled = false;
      void this.runBatch();
      this.scheduleBatch();
    };
    if (this.limits.gatherMs === undefined) setImmediate(start);
    else setTimeout(start, this.limits.gatherMs);
  }

  private async runBatch(): Promise<void> {
    const batch = this.takeBatch();
    if (batch.length === 0) return;
    this.running += 1;
    try {
      const results = await this.lookUp(batch.map(({ key }) => key));
      batch.forEach(({ settle }, index) => settle(results[index]));
    } catch (error) {
      for (const { fail } of batch) fail(error);
    } finally {
      this.running -= 1;
      this.scheduleBatch();
    }
  }

  private takeBatch(): PendingKey<R>[] {
    const batch: PendingKey<R>[] = [];
    const oldestMs = monotonicMs() - this.limits.waitMs;
    for (const [name, wanted] of this.waiting) {
      if (batch.length >= this.limits.keys) break;
      this.waiting.delete(name);
      if (wanted.sinceMs < oldestMs) wanted.fail(serviceBusy('The service is busy'));
      else batch.push(wanted);
    }
    return batch;
  }
}

function newPendingKey<R>(key: readonly string[]): PendingKey<R> {
  let settle: PendingKey<R>['settle'] = () => undefined;
  let fail: PendingKey<R>['fail'] = () => undefined;
  const found = new Promise<R | undefined>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  return { key, sinceMs: monotonicMs(), found, settle, fail };
}
