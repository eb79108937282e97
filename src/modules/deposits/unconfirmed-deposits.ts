/**
 * Records payments in blocks that are not solid yet, so that projects see them early. They credit nothing. The solid
 * block decides, and a recorded payment that is missing from it is dropped. Writes `deposit` besides the
 * book, under the book's lease.
 */
import { Injectable } from '@nestjs/common';
import { BlockCursor } from '../../platform/blocks/block-cursor.js';
import { WitnessedBlocks, type WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import { Database } from '../../platform/database/database.js';
import { paymentsIn } from './block-payments.js';
import { UNDECIDED } from './deposit-judge.js';
import { insertDeposits } from './deposit-rows.js';
import type { Decision } from './judgement.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';
import { splitByLocks } from './unlocked-payments.js';

/**
 * TRON: a block is solid after 19 others. With a wider gap than this the chain has stalled, and the head is not read.
 */
const BLOCKS_MAX = 60;
const NOT_SOLID: Decision = { ...UNDECIDED, status: 'pending', reason: 'not_solid' };

@Injectable()
export class UnconfirmedDeposits {
  /** Ids of the blocks that were read, by height. */
  private readonly readBlocks = new Map<number, string>();

  constructor(
    private readonly database: Database,
    private readonly blockCursor: BlockCursor,
    private readonly blocks: WitnessedBlocks,
    private readonly terms: DepositTerms,
    private readonly tokens: DepositTokens,
  ) {}

  /**
   * Reads the unread blocks above `solid`, on the chain that two nodes agree on. Throws ChainUnavailableError, also
   * while the nodes have different blocks.
   */
  async recordNewBlocks(fence: bigint, solid: number, wanted: (address: string) => boolean): Promise<void> {
    for (const number of this.readBlocks.keys()) if (number <= solid) this.readBlocks.delete(number);
    const height = await this.blocks.readHeight('full');
    if (height - solid > BLOCKS_MAX) return;
    for (let number = solid + 1; number <= height; number += 1) {
      if (this.readBlocks.has(number)) continue;
      const block = await this.blocks.read(number, { payments: wanted }, 'full');
      const parent = this.readBlocks.get(number - 1);
      if (parent !== undefined && parent !== block.parentId) {
        // Another branch: the next call reads all of it.
        this.readBlocks.clear();
        return;
      }
      if (block.payments.length > 0 && !(await this.recordBlock(block, fence))) return;
      this.readBlocks.set(number, block.id);
    }
  }

  /** Returns false when the lease was lost. A payment below the minimum is recorded only once it is solid. */
  private async recordBlock(block: WitnessedBlock, fence: bigint): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const readTo = await this.blockCursor.lockUnderLease(tx, fence);
      if (readTo === undefined) return false;
      // The block was taken in as a solid one meanwhile.
      if (readTo >= BigInt(block.number)) return true;
      const { counting } = await paymentsIn(tx, block, (await this.tokens.history(tx)).at(block.number));
      const large = counting.filter(({ asset, payment }) => payment.amount >= this.terms.minimumOf(asset));
      // A payment with a locked project or row appears once its block is solid.
      const { ready } = await splitByLocks(tx, large);
      await insertDeposits(
        tx,
        block,
        ready.map((each) => ({ ...each, decision: NOT_SOLID })),
      );
      return true;
    });
  }
}
