/**
 * This worker's current view of the chain: head, solid head and the ratio of sun to energy. The follower reads them
 * together and renews them. An outdated view counts as missing.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../../platform/support/clock.js';
import type { BlockHead } from '../../../platform/chain/block.js';
import type { NetworkTotals } from '../../pool/bandwidth-stake.js';

export interface View {
  readonly head: BlockHead;
  /** The last known solid head, or block 0 before the first one. Only settlement uses it. */
  readonly solid: BlockHead;
  /** The reference block of new transactions: the solid head, or an old block of the full port. */
  readonly reference: BlockHead;
  readonly ratio: NetworkTotals;
  /** True while nodes contradict each other. No new transaction is then built on their answers. */
  readonly isDisputed: boolean;
}

/** A transaction built on an older view might use a stale head as its clock. */
const VIEW_AGE_MAX_MS = 15_000;
/**
 * Three blocks without a view, or a minute without a new solid block, count as an outage. Failures during it are
 * retried.
 */
const GAP_MS = 10_000;
const SOLID_GAP_MS = 60_000;

@Injectable()
export class ChainView {
  private view: View | undefined;
  private agreedMs = 0;
  private readAtMs = Number.NEGATIVE_INFINITY;
  private solidMovedAtMs = Number.NEGATIVE_INFINITY;
  private movingSinceMs = monotonicMs();

  /** Records the latest chain time that all nodes agree on. */
  advanceClock(clockMs: number): void {
    this.agreedMs = clockMs;
  }

  update(view: View): void {
    const nowMs = monotonicMs();
    const isSolidLater = view.solid.number > (this.view?.solid.number ?? -1);
    if (nowMs - this.readAtMs > GAP_MS || (isSolidLater && nowMs - this.solidMovedAtMs > SOLID_GAP_MS)) {
      this.movingSinceMs = nowMs;
    }
    if (isSolidLater) this.solidMovedAtMs = nowMs;
    this.view = view;
    this.readAtMs = nowMs;
  }

  /** Returns the seconds since the chain resumed after its last outage or halt. */
  get movingSec(): number {
    return (monotonicMs() - this.movingSinceMs) / 1000;
  }

  /**
   * Returns the last chain time that no node contradicted, at any age; 0 before the first. Rentals end by this time.
   */
  get clockMs(): number {
    return this.agreedMs;
  }

  /** Returns the latest view, or undefined if it is older than 15 s. */
  get current(): View | undefined {
    return monotonicMs() - this.readAtMs <= VIEW_AGE_MAX_MS ? this.view : undefined;
  }
}
