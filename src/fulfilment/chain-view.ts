/**
 * What this worker knows of the chain right now: head, solid head, and the ratio of sun to energy. Read together,
 * renewed by the follower; too old a view is no view.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../clock.js';
import type { BlockHead } from '../chain/block.js';
import type { EnergyRatio } from '../pool/energy-ratio.js';

export interface View {
  readonly head: BlockHead;
  readonly solid: BlockHead;
  readonly ratio: EnergyRatio;
}

/** Beyond this a transaction built on the view might name a stale head as its clock. */
const VIEW_AGE_MAX_MS = 15_000;

@Injectable()
export class ChainView {
  private view: View | undefined;
  private readAtMs = Number.NEGATIVE_INFINITY;

  update(view: View): void {
    this.view = view;
    this.readAtMs = monotonicMs();
  }

  /** The chain's clock as last seen, however long ago; zero before the first look. */
  get headTimestampMs(): number {
    return this.view?.head.timestampMs ?? 0;
  }

  /** The latest view; undefined while no node has given one lately. */
  get current(): View | undefined {
    return monotonicMs() - this.readAtMs <= VIEW_AGE_MAX_MS ? this.view : undefined;
  }
}
