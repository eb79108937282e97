/** Looks up one sent transaction in blocks, and records it as included if a block holds its own bytes. */
import { Injectable } from '@nestjs/common';
import { ChainUnavailableError, NodeError } from '../../../platform/chain/errors.js';
import { headerOf, placeOf, solidHeaderOf, TronClient } from '../../../platform/chain/tron.client.js';
import { BlockReader } from '../follow/block-reader.js';
import type { View } from '../follow/chain-view.js';
import { Inclusion } from '../follow/inclusion.js';
import type { OrderTx } from '../send/transaction-sender.js';

/** Subject of the node request for a sent transaction. */
export const SENT_TRANSACTION = 'a sent transaction';
/** Concurrent look-ups. A distant node takes 100 ms for each. */
export const LOOK_UPS_MAX = 16;

@Injectable()
export class FoundTransactions {
  constructor(
    private readonly client: TronClient,
    private readonly blockReader: BlockReader,
    private readonly inclusion: Inclusion,
  ) {}

  /**
   * Returns `recorded` if the transaction was found in a block by its own bytes and recorded, or `held` if another
   * session prevented the record.
   */
  async lookUp(step: OrderTx, view: View): Promise<'recorded' | 'held' | 'absent'> {
    try {
      const block = await this.client.pool.ask(SENT_TRANSACTION, async (node) => {
        const place = await placeOf(node, step.tx.txid);
        const header = place && (await headerOf(node, place.blockNumber));
        return header && (await this.blockReader.read(node, header, 'full', () => Promise.resolve([step.tx.txid])));
      });
      const found = block?.transactions.some((tx) => tx.txid === step.tx.txid && tx.succeeded) ?? false;
      if (block === undefined || !found) return 'absent';
      const { left } = await this.inclusion.includeBlock(block, [step.tx.txid], view.ratio);
      return left.length > 0 ? 'held' : 'recorded';
    } catch (error) {
      if (error instanceof ChainUnavailableError) return 'absent';
      throw error;
    }
  }

  /** Records the transaction from a solid block of any node. Returns true if its fate is now recorded. */
  async recordSolid(step: OrderTx, blockNumber: number, view: View): Promise<boolean> {
    for (const node of this.client.pool.nodes) {
      try {
        const header = await solidHeaderOf(node, blockNumber);
        const block =
          header && (await this.blockReader.read(node, header, 'solid', () => Promise.resolve([step.tx.txid])));
        if (block?.transactions.some((tx) => tx.txid === step.tx.txid && tx.succeeded) !== true) continue;
        const { left } = await this.inclusion.includeBlock(block, [step.tx.txid], view.ratio);
        return left.length === 0;
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
      }
    }
    return false;
  }
}
