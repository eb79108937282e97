/**
 * Transactions found in a block that could not be recorded yet, because another session held their rows or a statement
 * failed. They are kept in memory for a quick retry. A process that ends loses nothing: each order's own look-up finds
 * them.
 */
import type { BlockHead } from '../../../platform/chain/block.js';
import type { NetworkTotals } from '../../pool/bandwidth-stake.js';

/** The transactions of one block that are still to be recorded. */
export interface PendingInclusion {
  readonly block: BlockHead;
  readonly ratio: NetworkTotals;
  readonly txids: readonly string[];
}

/** Limit of remembered transactions. The rest are left to their orders' own look-ups. */
const TXIDS_MAX = 50_000;

export class PendingInclusions {
  private readonly parts = new Map<string, PendingInclusion>();

  /** Returns the number of transactions that wait for a retry. */
  get size(): number {
    let size = 0;
    for (const { txids } of this.parts.values()) size += txids.length;
    return size;
  }

  /** Replaces the pending transactions of `block`; an empty list clears them. */
  set(block: BlockHead, txids: readonly string[], ratio: NetworkTotals): void {
    this.parts.delete(block.id);
    if (txids.length === 0 || this.size + txids.length > TXIDS_MAX) return;
    const { number, id, timestampMs } = block;
    this.parts.set(block.id, { block: { number, id, timestampMs }, txids, ratio });
  }

  /** Returns the blocks to retry. Forgets blocks that left the chain: their transactions belong to another block. */
  due(isCurrent: (block: BlockHead) => boolean): PendingInclusion[] {
    for (const [id, { block }] of this.parts) if (!isCurrent(block)) this.parts.delete(id);
    return [...this.parts.values()];
  }
}
