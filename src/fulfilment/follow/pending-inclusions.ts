/**
 * What stands in a block and could not be recorded yet, because another session held its rows or a statement failed.
 * Kept in memory for a quick second try; a process that ends loses nothing, since each order's own look-up finds it.
 */
import type { BlockHead } from '../../chain/block.js';
import type { EnergyRatio } from '../../pool/energy-ratio.js';

/** What of a block is still to be recorded. */
export interface PendingInclusion {
  readonly block: BlockHead;
  readonly ratio: EnergyRatio;
  readonly txids: readonly string[];
}

/** Transactions remembered; those beyond are left to their orders' own look-ups. */
const TXIDS_MAX = 50_000;

export class PendingInclusions {
  private readonly parts = new Map<string, PendingInclusion>();

  /** How many transactions wait for a second try. */
  get size(): number {
    let size = 0;
    for (const { txids } of this.parts.values()) size += txids.length;
    return size;
  }

  /** Sets what is left of `block`; nothing clears it. */
  set(block: BlockHead, txids: readonly string[], ratio: EnergyRatio): void {
    this.parts.delete(block.id);
    if (txids.length === 0 || this.size + txids.length > TXIDS_MAX) return;
    const { number, id, timestampMs } = block;
    this.parts.set(block.id, { block: { number, id, timestampMs }, txids, ratio });
  }

  /** What to try again, and forgets blocks that are no longer the chain's: their transactions belong to another block. */
  due(isCurrent: (block: BlockHead) => boolean): PendingInclusion[] {
    for (const [id, { block }] of this.parts) if (!isCurrent(block)) this.parts.delete(id);
    return [...this.parts.values()];
  }
}
