/**
 * Reads solid blocks again, besides the regular reader, and takes in missing deposits. Idempotent: a deposit's key
 * never changes.
 */
import { Injectable } from '@nestjs/common';
import { WitnessedBlocks, type WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import { OperatorError } from '../../domain/operator-error.js';
import { Database } from '../../platform/database/database.js';
import { ADDRESSES } from './deposit-sql.js';
import { DepositBook } from './deposit-book.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';

/** 31 days of blocks, one every three seconds. */
const RESCAN_BLOCKS_MAX = 31 * 28_800;
/** Concurrent reads: the request budget of the nodes is shared with the workers. */
const CONCURRENT_BLOCKS = 4;

export interface RescanReport {
  readonly blocks: number;
  /** Deposits that were missing. */
  readonly found: number;
  /** True if it stopped on its signal before the last block. */
  readonly interrupted: boolean;
}

@Injectable()
export class Rescan {
  constructor(
    private readonly database: Database,
    private readonly terms: DepositTerms,
    private readonly tokens: DepositTokens,
    private readonly blocks: WitnessedBlocks,
    private readonly depositBook: DepositBook,
  ) {}

  /**
   * Rescans from one block to another, both included. Calls `onProgress` with the last finished block, and stops on
   * `signal`. Throws OperatorError, StartError when TOKEN_CONTRACT is not the token of the deposits,
   * ChainUnavailableError. Finished blocks stay recorded after an error.
   */
  async run(
    { from, to }: { readonly from: number; readonly to: number },
    onProgress: (block: number, found: number) => void = () => undefined,
    signal?: AbortSignal,
  ): Promise<RescanReport> {
    if (to < from || to - from >= RESCAN_BLOCKS_MAX) {
      throw new OperatorError(
        `The blocks are out of range. Give a first and a later last block, at most ${RESCAN_BLOCKS_MAX.toString()} blocks.`,
        2,
      );
    }
    const readTo = await this.terms.needReadTo();
    await this.tokens.assertSetting();
    const last = Math.min(to, Number(readTo));
    const rows = await this.database.query<{ address: string }>(ADDRESSES);
    const addresses = new Set(rows.map(({ address }) => address));
    let found = 0;
    let next = from;
    while (next <= last && signal?.aborted !== true) {
      const count = Math.min(CONCURRENT_BLOCKS, last - next + 1);
      const reading = Array.from({ length: count }, (_, index) =>
        this.blocks.read(next + index, { payments: (address) => addresses.has(address) }),
      );
      const read: readonly WitnessedBlock[] = await Promise.all(reading);
      for (const block of read) {
        await this.depositBook.readBlacklist(block, (address) => addresses.has(address));
        found += await this.depositBook.recordMissing(block);
      }
      next += count;
      onProgress(next - 1, found);
    }
    return { blocks: next - from, found, interrupted: next <= last };
  }
}
