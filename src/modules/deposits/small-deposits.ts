/**
 * Advances small deposits between blocks: assigns missing rates, adds them to sums, and judges sums that reach the
 * minimum.
 */
import { Injectable } from '@nestjs/common';
import { CREDITS_PER_USD, RATE_SCALE } from '../../domain/units.js';
import type { Transaction } from '../../platform/database/database.js';
import { CHAIN, DepositJudge } from './deposit-judge.js';
import { candidateOf, writeDecision } from './deposit-rows.js';
import { DepositTerms } from './deposit-terms.js';
import { claimProjects } from './project-claims.js';
import { RateHistory } from './rate-history.js';
import * as sql from './small-sums-sql.js';
import { lockNewest, settleClosedSums, waitReasonOf, type SumOwner } from './small-sums.js';
import { DepositBatch } from './deposit-batch.js';

const SMALL_BATCH = 500;
const SUMS_BATCH = 50;
/** The worth of one credit, in smallest units times rates. */
const CREDIT_WORTH = (1_000_000n * RATE_SCALE) / CREDITS_PER_USD;

const ownerOf = (row: { project_id: string; asset: SumOwner['asset'] }, reason: string): SumOwner => ({
  projectId: row.project_id,
  asset: row.asset,
  isAgreed: reason === waitReasonOf({ isAgreed: true }),
});

@Injectable()
export class SmallDeposits {
  /** The id of the sum after which the next step continues to judge. */
  private judgedTo = 0n;

  constructor(
    private readonly depositJudge: DepositJudge,
    private readonly rateHistory: RateHistory,
    private readonly terms: DepositTerms,
  ) {}

  /** Takes one bounded step of each kind, in the transaction of `batch`. */
  async advance(tx: Transaction, batch: DepositBatch): Promise<void> {
    await settleClosedSums(tx);
    await this.assignRates(tx);
    await this.joinSums(tx, batch);
    await this.judgeReachedSums(tx, batch);
  }

  /**
   * Assigns the first undoubted rate since their blocks to small deposits without one. While the newest rate is doubted
   * (which can last half a day), older rates are not searched.
   */
  private async assignRates(tx: Transaction): Promise<void> {
    for (const { asset, oldest, newest } of await tx.query<sql.UnratedRow>(sql.OLDEST_UNRATED)) {
      if ((await this.rateHistory.findUndoubted(tx, asset, newest)) === undefined) continue;
      const found = await this.rateHistory.findUndoubted(tx, asset, oldest);
      if (found !== undefined) await tx.query(sql.RATE_SMALL_ONES, [asset, found.rate, found.minute, SMALL_BATCH]);
    }
  }

  private async joinSums(tx: Transaction, batch: DepositBatch): Promise<void> {
    const rows = await tx.query<sql.UnsummedRow>(sql.UNSUMMED, [SMALL_BATCH]);
    if (rows.length === 0) return;
    const sums: bigint[] = [];
    for (const row of rows) {
      const amount = BigInt(row.amount);
      sums.push(await batch.smallSums.add(ownerOf(row, row.reason), { amount, worth: amount * row.rate_e8 }));
    }
    await tx.query(sql.JOIN_SUMS, [rows.map(({ id }) => id), sums]);
    await batch.smallSums.writeOpenSums();
  }

  /**
   * Judges open sums that reach the minimum. The decision is made for the newest deposit of a sum and covers the
   * others.
   */
  private async judgeReachedSums(tx: Transaction, batch: DepositBatch): Promise<void> {
    const minimums = [this.terms.minimumOf('TRX'), this.terms.minimumOf('USDT')];
    const passing = await tx.query<sql.PassingRow>(sql.PASSING_SUMS, [
      ...minimums,
      CREDIT_WORTH,
      this.judgedTo,
      SUMS_BATCH,
    ]);
    this.judgedTo = passing.length < SUMS_BATCH ? 0n : (passing.at(-1)?.id ?? 0n);
    const claimed = await claimProjects(
      tx,
      passing.map((row) => row.project_id),
    );
    for (const row of passing) {
      if (claimed.has(row.project_id)) await this.judgeSum(tx, batch, ownerOf(row, row.wait_reason), row.id);
    }
  }

  private async judgeSum(tx: Transaction, batch: DepositBatch, owner: SumOwner, sumId: bigint): Promise<void> {
    const row = await lockNewest(tx, sumId);
    if (row === undefined) return;
    const rateE8 = row.rate_e8;
    if (rateE8 === null) return;
    const candidate = { ...candidateOf(row), isAgreed: owner.isAgreed };
    await batch.smallSums.subtract(owner, { amount: candidate.amount, worth: candidate.amount * rateE8 });
    const decision = await this.depositJudge.judgeWithSum(tx, batch, candidate, rateE8);
    if (decision.status === 'pending') return;
    await this.depositJudge.enterInLedger(tx, batch, { candidate, decision, author: CHAIN });
    await writeDecision(tx, row.id, decision);
  }
}
