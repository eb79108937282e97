/**
 * Takes deposits in, block by block. One transaction writes a block's deposits, ledger entries and events and moves the
 * cursor, so that nothing is credited twice and no block is skipped. A payment with a locked project or row is parked
 * and taken in later. The other writers of deposits are held-deposits.ts, unconfirmed-deposits.ts, small-sums.ts and
 * small-deposits.ts.
 *
 * Locks: the cursor first, so that one transaction at a time takes deposits in. Deposits that are locked elsewhere are
 * skipped. The wait for a project and its balance is bounded (project-claims.ts). Entries come last.
 */
import { Injectable } from '@nestjs/common';
import { BlockCursor } from '../../platform/blocks/block-cursor.js';
import type { WitnessedBlock } from '../../platform/blocks/witnessed-blocks.js';
import type { Credits } from '../../domain/units.js';
import type { Author } from '../../platform/database/audit-log.js';
import { Database, type Statement, type Transaction } from '../../platform/database/database.js';
import { Blacklist } from './blacklist.js';
import { insertMovements, paymentsIn, type ProjectPayment } from './block-payments.js';
import { CHAIN, DepositJudge, UNDECIDED } from './deposit-judge.js';
import { candidateOf, entryKeyOf, insertDeposits, writeDecision, type DepositToWrite } from './deposit-rows.js';
import { PEG_MIN, type Decision } from './judgement.js';
import * as sql from './deposit-sql.js';
import { DepositTokens } from './deposit-tokens.js';
import { creditHeldWith, creditsWith, HeldDeposits, readHeldWith } from './held-deposits.js';
import { countIgnored } from './ignored-transfers.js';
import {
  PARKED_ADDRESSES,
  nextParked,
  parkPayments,
  unpark,
  type DepositBlock,
  type ParkedPayment,
} from './parked-payments.js';
import { claimProjects } from './project-claims.js';
import { atRecordedPlaces } from './recorded-places.js';
import { SmallDeposits } from './small-deposits.js';
import * as sums from './small-sums-sql.js';
import { DepositBatch, type Candidate } from './deposit-batch.js';
import { splitByLocks } from './unlocked-payments.js';

/** Differs from `CHAIN`, which would also credit all small deposits of the sum. */
const RELEASED: Author = { actor: 'chain', reason: 'its address is no longer blacklisted' };
const WAITING_BATCH = 200;
const RELEASED_BATCH = 100;
const ADDRESS_BATCH = 20;
const PARKED_BATCH = 200;
const REVERTED_BATCH = 500;

@Injectable()
export class DepositBook {
  /** The address after which the next check of held deposits begins. */
  private releasedTo = '';
  /** The deposit after which the next round of rate-less deposits begins. */
  private decidedTo = 0n;
  /** The parked payment after which the next round begins. */
  private unparkedTo = 0n;

  constructor(
    private readonly database: Database,
    private readonly blockCursor: BlockCursor,
    private readonly depositJudge: DepositJudge,
    private readonly smallDeposits: SmallDeposits,
    private readonly heldDeposits: HeldDeposits,
    private readonly tokens: DepositTokens,
    private readonly blacklist: Blacklist,
  ) {}

  /**
   * Reads the blacklist for the addresses that a block pays, before its transaction begins. Throws
   * ChainUnavailableError.
   */
  async readBlacklist({ payments }: WitnessedBlock, isOurs: (address: string) => boolean): Promise<void> {
    await this.blacklist.read(payments.flatMap(({ kind, to }) => (kind === 'log' && isOurs(to) ? [to] : [])));
  }

  /** Takes in the payments of the next block, in the transaction that moves the cursor past it. */
  async recordBlock(tx: Transaction, block: WitnessedBlock): Promise<void> {
    if (block.payments.length > 0 || block.fees.length > 0) await this.recordPayments(tx, block);
    await this.dropReverted(tx, block.number);
  }

  /** Drops deposits that were seen at the head up to this height and are in no solid block. */
  private async dropReverted(tx: Transaction, height: number): Promise<void> {
    const rows = await tx.query<{ id: bigint; project_id: string }>(sql.REVERTED, [height, REVERTED_BATCH]);
    const claimed = await claimProjects(
      tx,
      rows.map((row) => row.project_id),
    );
    const dropped = rows.filter((row) => claimed.has(row.project_id)).map(({ id }) => id);
    if (dropped.length > 0) await tx.query(sql.DROP_REVERTED, [dropped]);
  }

  /**
   * Takes in the missing deposits of a block that was read before, while the regular reader goes on. Returns their
   * number. A block that the reader has not reached yet is left to the reader.
   */
  async recordMissing(block: WitnessedBlock): Promise<number> {
    if (block.payments.length === 0 && block.fees.length === 0) return 0;
    return this.database.transaction(async (tx) => {
      const readTo = await this.blockCursor.lockWithoutLease(tx);
      if (readTo === undefined || readTo < BigInt(block.number)) return 0;
      return this.recordPayments(tx, block, true);
    });
  }

  /**
   * Takes in parked payments, and decides on deposits whose missing rate has arrived. Both steps are bounded. Returns
   * the number of deposits decided on, without the small ones.
   */
  async decideWaiting(fence: bigint): Promise<number> {
    await this.recordParked(fence);
    const waiting = await this.readWaiting();
    await this.blacklist.read([
      ...waiting.flatMap(({ asset, address }) => (asset === 'USDT' ? [address] : [])),
      ...(await this.readAddresses(sums.WAITING_ADDRESSES, [WAITING_BATCH])),
    ]);
    return this.database.transaction(async (tx) => {
      if ((await this.blockCursor.lockUnderLease(tx, fence)) === undefined) return 0;
      const batch = new DepositBatch(tx);
      await this.smallDeposits.advance(tx, batch);
      const rows = await this.lockWaiting(tx, waiting);
      for (const row of rows) {
        const candidate = candidateOf(row);
        const decision = await this.depositJudge.decide(tx, batch, candidate);
        if (decision.status === 'pending' && decision.reason === row.reason) continue;
        await this.depositJudge.enterInLedger(tx, batch, { candidate, decision, author: CHAIN });
        await writeDecision(tx, row.id, decision);
      }
      await this.depositJudge.writeBatch(tx, batch);
      return rows.length;
    });
  }

  /** Returns the next round of deposits that waited for a rate which is known now. */
  private async readWaiting(): Promise<readonly sql.WaitingRow[]> {
    const rows = await this.database.query<sql.WaitingRow>(sql.WAITING, [WAITING_BATCH, PEG_MIN, this.decidedTo]);
    this.decidedTo = rows.length < WAITING_BATCH ? 0n : (rows.at(-1)?.id ?? 0n);
    return rows;
  }

  /** Locks those that still wait. Skips rows that others have locked. */
  private async lockWaiting(tx: Transaction, rows: readonly sql.WaitingRow[]): Promise<readonly sql.DepositRow[]> {
    const claimed = await claimProjects(
      tx,
      rows.map((row) => row.project_id),
    );
    if (claimed.size === 0) return [];
    return tx.query<sql.DepositRow>(sql.LOCK_WAITING, [rows.map(({ id }) => id), [...claimed]]);
  }

  /** Takes in parked payments whose locks are gone: a bounded number, in rotation. */
  private async recordParked(fence: bigint): Promise<void> {
    await this.blacklist.read(await this.readAddresses(PARKED_ADDRESSES, [this.unparkedTo, PARKED_BATCH]));
    await this.database.transaction(async (tx) => {
      if ((await this.blockCursor.lockUnderLease(tx, fence)) === undefined) return;
      const parked = await nextParked(tx, this.unparkedTo, PARKED_BATCH);
      this.unparkedTo = parked.length < PARKED_BATCH ? 0n : (parked.at(-1)?.id ?? 0n);
      if (parked.length === 0) return;
      const { ready, locked } = await splitByLocks(tx, parked);
      const batch = new DepositBatch(tx);
      for (const { block, payments } of byBlock(ready)) await this.writePayments(tx, batch, block, payments);
      await this.depositJudge.writeBatch(tx, batch);
      await unpark(
        tx,
        parked.filter((each) => !locked.includes(each)),
      );
    });
  }

  /**
   * Credits deposits that were held for a blacklisted address, once it is no longer listed: a few addresses per call,
   * in rotation. Deposits whose tokens the owner destroyed meanwhile stay held. Throws ChainUnavailableError.
   */
  async releaseUnlisted(fence: bigint): Promise<void> {
    const held = await this.readAddresses(sql.BLACKLISTED_ADDRESSES, [this.releasedTo, ADDRESS_BATCH]);
    this.releasedTo = held.length < ADDRESS_BATCH ? '' : (held.at(-1) ?? '');
    await this.blacklist.read(held);
    const free = held.filter((address) => !this.blacklist.has(address));
    if (free.length === 0) return;
    await this.database.transaction(async (tx) => {
      if ((await this.blockCursor.lockUnderLease(tx, fence)) === undefined) return;
      const batch = new DepositBatch(tx);
      const rows = await tx.query<sql.BlacklistedRow>(sql.LOCK_BLACKLISTED, [free, RELEASED_BATCH]);
      const claimed = await claimProjects(
        tx,
        rows.map((row) => row.project_id),
      );
      for (const row of rows) if (claimed.has(row.project_id)) await this.releaseDeposit(tx, batch, row);
      await this.depositJudge.writeBatch(tx, batch);
    });
  }

  private async releaseDeposit(tx: Transaction, batch: DepositBatch, row: sql.BlacklistedRow): Promise<void> {
    const candidate = candidateOf(row);
    const { key } = candidate;
    const holdFor = async (reason: string, rateE8: bigint | null): Promise<void> => {
      await writeDecision(tx, row.id, { ...UNDECIDED, status: 'held', reason, rateE8 });
    };
    if (row.is_destroyed) return holdFor('destroyed', row.rate_e8);
    const rate = row.rate_e8 ?? (await this.depositJudge.findRate(tx, batch, candidate))?.rate;
    if (rate === undefined) return;
    const total = creditsWith(await readHeldWith(tx, key), candidate.amount, rate);
    const excess = await this.depositJudge.findExcess(tx, batch, candidate, total);
    if (excess !== undefined) return holdFor(excess, rate);
    const decision: Decision = {
      ...UNDECIDED,
      status: 'credited',
      reason: null,
      rateE8: rate,
      entryKey: key,
      credits: total,
    };
    await this.depositJudge.enterInLedger(tx, batch, { candidate, decision, author: RELEASED });
    await writeDecision(tx, row.id, decision);
    await creditHeldWith(tx, key);
  }

  private async readAddresses(statement: Statement, params: readonly unknown[]): Promise<string[]> {
    return (await this.database.query<{ address: string }>(statement, params)).map(({ address }) => address);
  }

  /**
   * Applies the operator's decision on a held deposit. Returns the credits; undefined when the deposit is ignored.
   * Throws OperatorError.
   */
  async resolveHeld(id: bigint, isCredited: boolean, author: Author): Promise<Credits | undefined> {
    await this.tokens.assertSetting();
    return this.database.transaction((tx) => this.heldDeposits.resolve(tx, id, { isCredited, author }));
  }

  /**
   * Records a block and returns the number of deposits that were new. A rescan does not count ignored transfers again.
   */
  private async recordPayments(tx: Transaction, block: WitnessedBlock, isRescan = false): Promise<number> {
    const payments = await atRecordedPlaces(tx, block.payments);
    const tokens = (await this.tokens.history(tx)).at(block.number);
    const { counting, ignored, movements } = await paymentsIn(tx, { ...block, payments }, tokens);
    if (!isRescan) await countIgnored(tx, block, ignored);
    const { ready, locked } = await splitByLocks(tx, counting);
    await parkPayments(tx, block, locked);
    const batch = new DepositBatch(tx);
    await this.writePayments(tx, batch, block, ready);
    await insertMovements(tx, block, movements);
    await this.depositJudge.writeBatch(tx, batch);
    return ready.length;
  }

  /** Decides on payments of a block and writes them with their ledger entries. */
  private async writePayments(
    tx: Transaction,
    batch: DepositBatch,
    block: DepositBlock,
    payments: readonly ProjectPayment[],
  ): Promise<void> {
    const rows: DepositToWrite[] = [];
    for (const each of payments) {
      const { payment, projectId, asset, isPaidByUs } = each;
      const candidate: Candidate = {
        key: entryKeyOf(payment.txid, payment.kind, payment.position),
        projectId,
        asset,
        amount: payment.amount,
        at: new Date(block.timestampMs),
        isAgreed: payment.isAgreed,
        address: payment.to,
        isPaidByUs,
      };
      const decision = await this.depositJudge.decide(tx, batch, candidate);
      await this.depositJudge.enterInLedger(tx, batch, { candidate, decision, author: CHAIN });
      rows.push({ ...each, decision });
    }
    await insertDeposits(tx, block, rows);
  }
}

interface ParkedBlock {
  readonly block: DepositBlock;
  readonly payments: ParkedPayment[];
}

function byBlock(parked: readonly ParkedPayment[]): readonly ParkedBlock[] {
  const blocks = new Map<number, ParkedBlock>();
  for (const each of parked) {
    const known = blocks.get(each.block.number);
    if (known === undefined) blocks.set(each.block.number, { block: each.block, payments: [each] });
    else known.payments.push(each);
  }
  return [...blocks.values()];
}
