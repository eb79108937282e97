/**
 * What is paid in blocks that are not solid yet, so that projects see it at once. Nothing is credited by it: the solid
 * block says what was paid, and whatever it does not say is dropped. Writes `deposit` beside the book, under its turn.
 */
import { Injectable } from '@nestjs/common';
import { BlockCursor } from '../blocks/block-cursor.js';
import { WitnessedBlocks, type WitnessedBlock } from '../blocks/witnessed-blocks.js';
import { Database } from '../store/database.js';
import { paymentsIn } from './block-payments.js';
import { NOTHING } from './deposit-judge.js';
import { insertDeposits, type Outcome } from './deposit-rows.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';
import { unlocked } from './unlocked-payments.js';

/** TRON: a block is solid after 19 others; with more than this between them the chain stands, and nothing is to be seen. */
const BLOCKS_MAX = 60;
const SEEN: Outcome = { ...NOTHING, status: 'pending', reason: 'not_solid' };

@Injectable()
export class HeadSightings {
  /** Ids of the blocks that were read, by height. */
  private readonly read = new Map<number, string>();

  constructor(
    private readonly database: Database,
    private readonly cursor: BlockCursor,
    private readonly blocks: WitnessedBlocks,
    private readonly terms: DepositTerms,
    private readonly tokens: DepositTokens,
  ) {}

  /**
   * Reads the blocks above `solid` that were not read yet, on the chain that two nodes have. Throws
   * ChainUnavailableError, also while they have not got the same blocks.
   */
  async look(fence: bigint, solid: number, wanted: (address: string) => boolean): Promise<void> {
    for (const number of this.read.keys()) if (number <= solid) this.read.delete(number);
    const height = await this.blocks.height('full');
    if (height - solid > BLOCKS_MAX) return;
    for (let number = solid + 1; number <= height; number += 1) {
      if (this.read.has(number)) continue;
      const block = await this.blocks.read(number, { payments: wanted }, 'full');
      const parent = this.read.get(number - 1);
      if (parent !== undefined && parent !== block.parentId) {
        // Another branch: all of it is read in the next look.
        this.read.clear();
        return;
      }
      if (block.payments.length > 0 && !(await this.note(block, fence))) return;
      this.read.set(number, block.id);
    }
  }

  /** False when the turn was lost. What would only wait for more is not noted before it is solid. */
  private async note(block: WitnessedBlock, fence: bigint): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const readTo = await this.cursor.hold(tx, fence);
      if (readTo === undefined) return false;
      // Taken in as a solid one meanwhile.
      if (readTo >= BigInt(block.number)) return true;
      const { counting } = await paymentsIn(tx, block, (await this.tokens.history(tx)).at(block.number));
      const large = counting.filter(({ asset, payment }) => payment.amount >= this.terms.minimumOf(asset));
      // One whose project or row is locked is seen once its block is solid.
      const { ready } = await unlocked(tx, large);
      await insertDeposits(
        tx,
        block,
        ready.map((each) => ({ ...each, outcome: SEEN })),
      );
      return true;
    });
  }
}
