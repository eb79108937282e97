/** Decides on deposits in solid blocks and enters them in the ledger, within the transaction of the deposit book. */
import { Injectable } from '@nestjs/common';
import { Ledger } from '../billing/ledger.js';
import { WitnessedBlocks } from '../../platform/blocks/witnessed-blocks.js';
import { Config } from '../../platform/config/config.js';
import { trxOf } from '../../domain/conversion.js';
import type { DepositAsset } from '../../domain/deposit-state.js';
import { CREDITS_PER_USD, credits as creditsFrom } from '../../domain/units.js';
import type { Author } from '../../platform/database/audit-log.js';
import type { Transaction } from '../../platform/database/database.js';
import { Blacklist } from './blacklist.js';
import * as sql from './deposit-sql.js';
import { DepositTerms } from './deposit-terms.js';
import { CREDITS_MAX, creditsOfWorth, judge, type Decision, type MinuteRate } from './judgement.js';
import { RateHistory, type UndoubtedRate } from './rate-history.js';
import { waitReasonOf } from './small-sums.js';
import type { Candidate, DepositBatch } from './deposit-batch.js';

export const CHAIN: Author = { actor: 'chain', reason: 'deposit' };
export const UNDECIDED = { rateE8: null, entryKey: null, credits: null, sumId: null } as const;

@Injectable()
export class DepositJudge {
  constructor(
    private readonly ledger: Ledger,
    private readonly rateHistory: RateHistory,
    private readonly blocks: WitnessedBlocks,
    private readonly terms: DepositTerms,
    private readonly blacklist: Blacklist,
    private readonly config: Config,
  ) {}

  /**
   * Judges a transfer together with the small deposits that wait beside it. A transfer below the minimum takes the
   * first undoubted rate. Without such a rate it waits outside any sum. Records in `batch` the state that later
   * transfers of the same transaction build on.
   */
  async decide(tx: Transaction, batch: DepositBatch, candidate: Candidate): Promise<Decision> {
    const { asset, amount, isAgreed } = candidate;
    if (candidate.isPaidByUs === true) {
      const rate = (await this.findRate(tx, batch, candidate))?.rate;
      return { ...UNDECIDED, status: 'held', reason: 'paid_by_us', rateE8: rate ?? null };
    }
    if (amount < this.terms.minimumOf(asset)) {
      const rate = (await this.findUndoubtedRate(tx, batch, candidate))?.rate;
      if (rate !== undefined) return this.judgeWithSum(tx, batch, candidate, rate);
      return { ...UNDECIDED, status: 'pending', reason: waitReasonOf(candidate) };
    }
    const judgement = judge(asset, { rate: await this.findRate(tx, batch, candidate), isAgreed });
    if (judgement.status === 'creditable') return this.judgeWithSum(tx, batch, candidate, judgement.rate);
    return { ...UNDECIDED, status: judgement.status, reason: judgement.reason, rateE8: judgement.rate ?? null };
  }

  /** Judges the sum of a transfer and the small deposits before it, as one payment of that size. */
  async judgeWithSum(tx: Transaction, batch: DepositBatch, candidate: Candidate, rate: bigint): Promise<Decision> {
    const { asset, amount, isAgreed, key } = candidate;
    const small = await batch.smallSums.findOpen(candidate);
    const worth = amount * rate;
    const total = creditsFrom(creditsOfWorth(small.worth + worth));
    if (small.amount + amount < this.terms.minimumOf(asset) || total === 0n) {
      const decision: Decision = { ...UNDECIDED, status: 'pending', reason: waitReasonOf(candidate), rateE8: rate };
      await batch.smallSums.add(candidate, { amount, worth }, decision);
      return decision;
    }
    const held = (reason: string): Decision => ({ ...UNDECIDED, status: 'held', reason, rateE8: rate });
    if (!isAgreed) return held('one_node');
    // A token held at a blacklisted address cannot be swept.
    if (asset === 'USDT' && this.blacklist.has(candidate.address)) return held('blacklisted');
    const excess = await this.findExcess(tx, batch, candidate, total);
    if (excess !== undefined) return held(excess);
    return { ...UNDECIDED, status: 'credited', reason: null, rateE8: rate, entryKey: key, credits: total };
  }

  /** Returns the reason to hold a sum that is too large to be credited without the operator. */
  async findExcess(
    tx: Transaction,
    batch: DepositBatch,
    candidate: Candidate,
    total: bigint,
  ): Promise<'amount' | 'auto_max' | undefined> {
    if (total > CREDITS_MAX || total > (await batch.roomOf(candidate.projectId))) return 'amount';
    return (await this.isOverDaily(tx, batch, total)) ? 'auto_max' : undefined;
  }

  /**
   * With a single node, a daily limit bounds the credits granted on its word alone. A larger deposit always exceeds it.
   */
  private async isOverDaily(tx: Transaction, batch: DepositBatch, amount: bigint): Promise<boolean> {
    if (!this.blocks.isByOneNode) return false;
    const limit = BigInt(this.config.deposits.autoMaxUsd) * CREDITS_PER_USD;
    const [row] = batch.creditedToday === undefined ? await tx.query<{ credits: string }>(sql.CREDITED_TODAY) : [];
    const before = batch.creditedToday ?? BigInt(row?.credits ?? '0');
    const isOver = before + amount > limit;
    batch.creditedToday = isOver ? before : before + amount;
    return isOver;
  }

  /**
   * Enters a credited deposit in the ledger, together with the small deposits that its entry includes. Holding a small
   * deposit holds its sum: the operator decides on all of it.
   */
  async enterInLedger(
    tx: Transaction,
    batch: DepositBatch,
    {
      candidate,
      decision,
      author,
    }: { readonly candidate: Candidate; readonly decision: Decision; readonly author: Author },
  ): Promise<void> {
    const { key, projectId, asset, amount } = candidate;
    const { credits, status, reason: why } = decision;
    const isInSum = status === 'held' && why !== 'paid_by_us';
    if (isInSum && why !== null && amount < this.terms.minimumOf(asset)) {
      await batch.smallSums.holdSum(candidate, key, why);
    }
    if (credits === null) return;
    const reason = author === CHAIN ? `${trxOf(amount)} ${asset}` : author.reason;
    await this.ledger.enterDeposit(tx, { entryKey: key, projectId, credits, actor: author.actor, reason });
    batch.balances.set(projectId, (batch.balances.get(projectId) ?? 0n) + credits);
    // A deposit credited by the operator includes only the small deposits that are held with it.
    if (author === CHAIN) await batch.smallSums.creditSum(candidate, key);
  }

  /** Writes the changed balances and sums, after the deposits of the transaction. */
  async writeBatch(tx: Transaction, batch: DepositBatch): Promise<void> {
    await batch.smallSums.finish();
    await this.ledger.moveBalances(tx, batch.balances);
  }

  async findRate(tx: Transaction, batch: DepositBatch, { asset, at }: Candidate): Promise<MinuteRate | undefined> {
    return readOnce(batch.rates, minuteOf(asset, at), () => this.rateHistory.find(tx, asset, at));
  }

  private async findUndoubtedRate(
    tx: Transaction,
    batch: DepositBatch,
    { asset, at }: Candidate,
  ): Promise<UndoubtedRate | undefined> {
    return readOnce(batch.undoubtedRates, minuteOf(asset, at), () => this.rateHistory.findUndoubted(tx, asset, at));
  }
}

const minuteOf = (asset: DepositAsset, at: Date): string => `${asset} ${at.toISOString().slice(0, 16)}`;

async function readOnce<T>(known: Map<string, T>, key: string, read: () => Promise<T>): Promise<T> {
  if (!known.has(key)) known.set(key, await read());
  return known.get(key) as T;
}
