/**
 * Holds callers that asked to wait (`Prefer: wait`), with one database read for all of them together. Bounded in number
 * and time. All are answered when the process stops.
 */
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { Log } from '../../platform/observability/logger.js';
import { Database } from '../../platform/database/database.js';
import { FIND_ARRIVED } from './order-rows.js';

interface Waiter {
  readonly projectId: string;
  readonly orderId: bigint;
  readonly deadlineMs: number;
  readonly release: () => void;
}

/**
 * A block takes 3 s, so callers do not notice a tenth of a second. Without waiters the process does not read. A slow
 * read is not waited for: waiters whose time is over are released beside it.
 */
const LOOK_EVERY_MS = 100;
/** Above these limits a wait is not granted, and the answer is immediate. One project cannot use all places. */
const WAITERS_MAX = 2000;
const WAITERS_PER_PROJECT = 500;

@Injectable()
export class OrderWaits implements OnModuleDestroy {
  private readonly waiters = new Set<Waiter>();
  private readonly counts = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private isReading = false;
  private isStopping = false;

  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /** Resolves when the order is delivered or refunded, after `seconds`, or when the process stops. Never rejects. */
  async waitForOutcome(projectId: string, orderId: bigint, seconds: number): Promise<void> {
    if (seconds <= 0 || this.isStopping || this.waiters.size >= WAITERS_MAX) return;
    const count = this.counts.get(projectId) ?? 0;
    if (count >= WAITERS_PER_PROJECT) return;
    this.counts.set(projectId, count + 1);
    await new Promise<void>((resolve) => {
      this.waiters.add({ projectId, orderId, deadlineMs: monotonicMs() + seconds * 1000, release: resolve });
      this.schedule();
    });
  }

  /** Releases all waiters. Later waits end immediately. */
  releaseAll(): void {
    this.isStopping = true;
    clearTimeout(this.timer);
    this.releaseMatching(() => true);
  }

  onModuleDestroy(): void {
    this.releaseAll();
  }

  private schedule(): void {
    if (this.timer !== undefined || this.waiters.size === 0 || this.isStopping) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const now = monotonicMs();
      this.releaseMatching(({ deadlineMs }) => deadlineMs <= now);
      if (!this.isReading) void this.releaseArrived();
      this.schedule();
    }, LOOK_EVERY_MS);
  }

  private async releaseArrived(): Promise<void> {
    this.isReading = true;
    try {
      const ids = [...new Set([...this.waiters].map((waiter) => waiter.orderId))];
      const rows = await this.database.query<{ id: bigint }>(FIND_ARRIVED, [ids]);
      const arrived = new Set(rows.map((row) => row.id));
      this.releaseMatching(({ orderId }) => arrived.has(orderId));
    } catch (error) {
      this.log.warn({ err: error }, 'failed to look up orders of waiting callers; will retry');
    } finally {
      this.isReading = false;
    }
  }

  private releaseMatching(matches: (waiter: Waiter) => boolean): void {
    for (const waiter of this.waiters) if (matches(waiter)) this.release(waiter);
  }

  private release(waiter: Waiter): void {
    this.waiters.delete(waiter);
    const left = (this.counts.get(waiter.projectId) ?? 1) - 1;
    if (left === 0) this.counts.delete(waiter.projectId);
    else this.counts.set(waiter.projectId, left);
    waiter.release();
  }
}
