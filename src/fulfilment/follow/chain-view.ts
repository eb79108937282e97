/**
 * What this worker knows of the chain right now: head, solid head, and the ratio of sun to energy. Read together,
 * renewed by the follower; too old a view is no view.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../base/clock.js';
import type { BlockHead } from '../../chain/block.js';
import type { EnergyRatio } from '../../pool/energy-ratio.js';

export interface View {
  readonly head: BlockHead;
  /** The last solid head known; block 0 before any is. Only what is settled asks for it. */
  readonly solid: BlockHead;
  /** What new transactions refer to: the solid head, or an old block of the full port. */
  readonly reference: BlockHead;
  readonly ratio: EnergyRatio;
  /** Whether nodes contradict each other, so that nothing new is made on what they say. */
  readonly isDisputed: boolean;
}

/** Beyond this a transaction built on the view might name a stale head as its clock. */
const VIEW_AGE_MAX_MS = 15_000;
/** Three blocks without a view, or a minute without a new solid one, is an outage: what failed during it is tried again. */
const GAP_MS = 10_000;
const SOLID_GAP_MS = 60_000;

@Injectable()
export class ChainView {
  private view: View | undefined;
  private agreedMs = 0;
  private readAtMs = Number.NEGATIVE_INFINITY;
  private solidMovedAtMs = Number.NEGATIVE_INFINITY;
  private movingSinceMs = monotonicMs();

  /** Takes the time that all nodes agree the chain has reached. */
  reached(clockMs: number): void {
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

  /** Seconds since the chain began to move again after it was last away or stood still. */
  get movingSec(): number {
    return (monotonicMs() - this.movingSinceMs) / 1000;
  }

  /** The chain's time that no node contradicts, as last seen, however long ago; by it rentals end. 0 at first. */
  get clockMs(): number {
    return this.agreedMs;
  }

  /** The latest view; undefined while no node has given one lately. */
  get current(): View | undefined {
    return monotonicMs() - this.readAtMs <= VIEW_AGE_MAX_MS ? this.view : undefined;
  }
}
