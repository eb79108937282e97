/**
 * Runs single pieces of work in batches. Pieces added within one turn of the event loop, within a given time, or while
 * earlier batches run go together. A batch never starts before its pieces were added, so a caller sees everything that
 * was true at that time.
 */
import { monotonicMs } from './clock.js';
import { serviceBusy } from '../../domain/errors.js';

export interface BatchLimits {
  /** Concurrent batches. Pieces added meanwhile are collected for the next one. */
  readonly concurrent: number;
  /** Maximum pieces of one batch. */
  readonly size: number;
  /** A piece that has waited this long, in ms, when a batch could start is refused. */
  readonly waitMs: number;
  /** Time in ms for which a batch collects pieces. Default: one turn of the event loop. */
  readonly gatherMs?: number;
}

interface Pending<T, R> {
  readonly item: T;
  readonly sinceMs: number;
  readonly settle: (result: R) => void;
  readonly fail: (error: unknown) => void;
}

/** `run` must answer in the order of its items. The queue is bounded by its waiting callers. */
export class Batcher<T, R> {
  private readonly waiting: Pending<T, R>[] = [];
  private running = 0;
  private isScheduled = false;

  constructor(
    private readonly limits: BatchLimits,
    private readonly run: (items: readonly T[]) => Promise<readonly R[]>,
  ) {}

  /** Returns the item's result. Throws the batch's error, and 503 SERVICE_UNAVAILABLE if the item waited too long. */
  async add(item: T): Promise<R> {
    const result = new Promise<R>((settle, fail) => {
      this.waiting.push({ item, sinceMs: monotonicMs(), settle, fail });
    });
    this.scheduleBatch();
    return result;
  }

  private scheduleBatch(): void {
    if (this.isScheduled || this.running >= this.limits.concurrent || this.waiting.length === 0) return;
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
      const results = await this.run(batch.map(({ item }) => item));
      // `run` answers each item, so an index within the batch has a result.
      batch.forEach(({ settle }, index) => settle(results[index] as R));
    } catch (error) {
      for (const { fail } of batch) fail(error);
    } finally {
      this.running -= 1;
      this.scheduleBatch();
    }
  }

  private takeBatch(): Pending<T, R>[] {
    const oldestMs = monotonicMs() - this.limits.waitMs;
    // The queue is in the order of time: those that waited too long are its first.
    const inTime = this.waiting.findIndex(({ sinceMs }) => sinceMs >= oldestMs);
    const late = this.waiting.splice(0, inTime === -1 ? this.waiting.length : inTime);
    for (const { fail } of late) fail(serviceBusy('The service is busy'));
    return this.waiting.splice(0, this.limits.size);
  }
}
