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
  readonly solid: BlockHead;
  readonly ratio: EnergyRatio;
  /** Whether nodes contradict each other, so that nothing new is made on what they say. */
  readonly isDisputed: boolean;
}

/** Beyond this a transaction built on the view might name a stale head as its clock. */
const VIEW_AGE_MAX_MS = 15_000;

@Injectable()
export class ChainView {
  private view: View | undefined;
  private agreedMs = 0;
  private readAtMs = Number.NEGATIVE_INFINITY;

  /** Takes the time that all nodes agree the chain has reached. */
  reached(clockMs: number): void {
    this.agreedMs = clockMs;
  }

  update(view: View): void {
    this.view = view;
    this.readAtMs = monotonicMs();
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
