/**
 * Consumes solid blocks for deposits. Before each pass it records rates and decides on waiting deposits. When no block
 * is left, it reads the head and releases deposits whose address is no longer blacklisted.
 */
import { Injectable } from '@nestjs/common';
import type { BlockConsumer } from '../../platform/blocks/block-consumer.js';
import type { WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import { runEach } from '../../platform/support/concurrency.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import { DepositBook } from './deposit-book.js';
import { ADDRESSES } from './deposit-sql.js';
import { DepositTokens } from './deposit-tokens.js';
import { UnconfirmedDeposits } from './unconfirmed-deposits.js';
import { RateRecorder } from './rate-recorder.js';

@Injectable()
export class DepositReader implements BlockConsumer {
  private isInUse = false;
  private addresses: ReadonlySet<string> = new Set();
  private addressesMark: string | null = null;

  constructor(
    private readonly depositBook: DepositBook,
    private readonly unconfirmedDeposits: UnconfirmedDeposits,
    private readonly rateRecorder: RateRecorder,
    private readonly tokens: DepositTokens,
    private readonly database: Database,
  ) {}

  get needsWitnesses(): boolean {
    return this.isInUse;
  }

  async prepare(fence: bigint): Promise<void> {
    await this.loadWatched();
    if (!this.isInUse) return;
    await this.rateRecorder.record();
    await this.depositBook.decideWaiting(fence);
  }

  /**
   * Reloads all addresses when they have changed. Throws StartError when deposits were never paid in TOKEN_CONTRACT.
   */
  async loadWatched(): Promise<void> {
    const [row] = await this.database.query<{ in_use: boolean; mark: string | null }>(ADDRESSES_MARK);
    // Also checks after an account was begun while this worker runs.
    if (row?.in_use === true && !this.isInUse) await this.tokens.assertKnown();
    this.isInUse = row?.in_use ?? false;
    const mark = row?.mark ?? null;
    if (mark === this.addressesMark) return;
    const rows = await this.database.query<{ address: string }>(ADDRESSES);
    this.addresses = new Set(rows.map(({ address }) => address));
    this.addressesMark = mark;
  }

  watchesPayments(address: string): boolean {
    return this.addresses.has(address);
  }

  /** Throws ChainUnavailableError. */
  async inspect(block: WitnessedBlock): Promise<void> {
    if (this.isInUse) await this.depositBook.readBlacklist(block, (address) => this.addresses.has(address));
  }

  async consumeBlock(tx: Transaction, block: WitnessedBlock): Promise<() => void> {
    if (this.isInUse) await this.depositBook.recordBlock(tx, block);
    return () => undefined;
  }

  /** Records payments in blocks that are not solid yet, and releases held deposits. Throws ChainUnavailableError. */
  async workBetweenBlocks(fence: bigint, solid: number): Promise<void> {
    if (!this.isInUse) return;
    await runEach([
      () => this.unconfirmedDeposits.recordNewBlocks(fence, solid, (address) => this.addresses.has(address)),
      () => this.depositBook.releaseUnlisted(fence),
    ]);
  }
}

/**
 * The number of addresses does not suffice: a failover may lose one that is known here, and another project then gets
 * one at another place.
 */
const ADDRESSES_MARK = {
  name: 'deposit_addresses_mark',
  text: `SELECT EXISTS (SELECT FROM deposit_account) AS in_use,
    (SELECT count(*) || ' ' || bit_xor(hashint8extended(place, account)) FROM deposit_address) AS mark`,
};
