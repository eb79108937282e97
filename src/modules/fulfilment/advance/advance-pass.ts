/** One pass over claimed orders: their plans, and the results of the steps taken so far. */
import { isDatabaseAway } from '../../../platform/database/database.js';
import type { ClaimedOrder } from '../loop/claimed-order.js';
import type { Released } from '../loop/order-claims.js';
import { isEnding, type Plan } from '../plan/plan.js';
import type { Verdict } from '../plan/reclaim-guard.js';

export interface Planned {
  readonly order: ClaimedOrder;
  readonly plan: Plan;
}

/** The parts of the worker that a pass depends on. */
export interface PassContext {
  /** The chain's clock at the start of the pass. */
  readonly clockMs: number;
  /** Returns the delay until the next run of an order still under way. */
  readonly delayMs: () => number;
  /** Logs an order's error and shows it to the operator. Never rejects for an error of the order alone. */
  readonly reportFailure: (order: ClaimedOrder, error: unknown) => Promise<void>;
}

/** Order id → the error that its run threw. */
export type Failures = ReadonlyMap<bigint, unknown>;

export class AdvancePass {
  /** Verdicts from the chain on the pairs of the planned reclaims. */
  readonly verdicts = new Map<string, Verdict>();
  private readonly failures = new Map<bigint, unknown>();
  private readonly movedOn = new Set<bigint>();
  private readonly restMsOf = new Map<bigint, number>();
  private readonly released = new Set<bigint>();

  constructor(
    readonly planned: readonly Planned[],
    private readonly context: PassContext,
  ) {}

  get failed(): Failures {
    return this.failures;
  }

  /** Milliseconds until the next run of an order still under way. */
  get delayMs(): number {
    return this.context.delayMs();
  }

  /** Runs an order again immediately, because it moved and can move again. */
  runAgain(order: ClaimedOrder): void {
    this.movedOn.add(order.id);
  }

  hasMoved(order: ClaimedOrder): boolean {
    return this.movedOn.has(order.id);
  }

  /** Notes that an order was released with its last transaction, for the usual time. */
  noteReleased(order: ClaimedOrder): void {
    this.released.add(order.id);
  }

  /** Limits the time until an order's reclaim is checked again. */
  restAtMost(order: ClaimedOrder, ms: number): void {
    this.restMsOf.set(order.id, Math.min(ms, this.restMsOf.get(order.id) ?? ms));
  }

  /**
   * Runs `work` for one order. An error of this order alone ends its pass: the remaining steps skip it, so that it does
   * not block others.
   */
  async runForOrder(order: ClaimedOrder, work: () => Promise<void>): Promise<void> {
    if (this.failures.has(order.id)) return;
    try {
      await work();
    } catch (error) {
      // Without the database no order can advance.
      if (isDatabaseAway(error)) throw error;
      this.failures.set(order.id, error);
      await this.context.reportFailure(order, error);
    }
  }

  /** Returns the orders that are still to be released, with their next runs. */
  toRelease(): Released[] {
    const { delayMs } = this;
    const held = this.planned.filter(({ order: { id } }) => {
      const isDueEarlier = this.movedOn.has(id) || this.restMsOf.has(id) || this.failures.has(id);
      return isDueEarlier || !this.released.has(id);
    });
    return held.map(({ order }) => ({
      order,
      delayMs: this.hasMoved(order) ? 0 : (this.restMsOf.get(order.id) ?? delayMs),
      isEnding: isEnding(order, this.context.clockMs),
    }));
  }
}
