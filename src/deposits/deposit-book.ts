/**
 * Takes deposits in: block by block, each with its ledger entries, its events and the cursor in one transaction, so that
 * nothing is credited twice and no block is passed unread. Beside it only head-sightings.ts writes deposits. Locks: cursor, deposits that wait, entries, balances last.
 */
import { Injectable } from '@nestjs/common';
import { Ledger } from '../billing/ledger.js';
import { BlockCursor } from '../blocks/block-cursor.js';
import { WitnessedBlocks, type Payment, type WitnessedBlock } from '../blocks/witnessed-blocks.js';
import { Config } from '../config/config.js';
import type { DepositAsset } from '../domain/deposit-state.js';
import { trxOf } from '../domain/conversion.js';
import { invariant } from '../domain/errors.js';
import { CREDITS_PER_USD, credits as creditsFrom, type Credits } from '../domain/units.js';
import { OperatorError } from '../domain/operator-error.js';
import { recordAct, type Author } from '../store/audit-log.js';
import { Database, type Transaction } from '../store/database.js';
import { insertMovements, paymentsIn, type ProjectPayment } from './block-payments.js';
import { insertDeposits, type Outcome } from './deposit-rows.js';
import { PEG_MIN, creditsOfWorth, judge, type Judgement, type MinuteRate } from './judgement.js';
import * as sql from './deposit-sql.js';
import { DepositTerms } from './deposit-terms.js';
import { atRecordedPlaces } from './recorded-places.js';
import { RateHistory } from './rate-history.js';

/** A small one may still be credited with one that comes after it. */
interface Decision extends Outcome {
  status: Outcome['status'];
  reason: Outcome['reason'];
  entryKey: Outcome['entryKey'];
  readonly credits: Credits | null;
}

/** A transfer to decide on. */
interface Candidate {
  readonly key: string;
  readonly projectId: string;
  readonly asset: DepositAsset;
  readonly amount: bigint;
  readonly at: Date;
  readonly isAgreed: boolean;
}

/** The small ones of one project and asset that wait. */
interface SmallOnes {
  amount: bigint;
  worth: bigint;
  /** Those of this very turn, whose rows are not written yet. */
  unwritten: Decision[];
}

const CHAIN: Author = { actor: 'chain', reason: 'deposit' };
const WAITING_AT_ONCE = 200;

/** The ledger's key of a deposit, for ever. */
function entryKeyOf(txid: string, kind: string, place: number): string {
  return `deposit:${txid}:${kind}:${place.toString()}`;
}

/** One transaction's work: what is entered in the ledger, and what the balances move by at its end. */
class Takings {
  readonly balances = new Map<string, bigint>();
  readonly small = new Map<string, SmallOnes>();
  readonly rates = new Map<string, MinuteRate | undefined>();
  /** Credited today by itself, where that has a limit. */
  creditedToday: bigint | undefined;
}

@Injectable()
export class DepositBook {
  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    private readonly rates: RateHistory,
    private readonly cursor: BlockCursor,
    private readonly blocks: WitnessedBlocks,
    private readonly terms: DepositTerms,
    private readonly config: Config,
  ) {}

  /** Takes in what is paid in the next block, in the transaction that moves the cursor past it. */
  async takeIn(tx: Transaction, block: WitnessedBlock): Promise<void> {
    if (block.payments.length > 0 || block.fees.length > 0) await this.record(tx, block);
    // Whatever of this block, or before it, stands in no solid one.
    await tx.query(sql.DROP_REVERTED, [block.number]);
  }

  /**
   * Takes in what is missing of a block that was read before, in its turn beside whoever reads on. Returns how many
   * deposits were missing. A block that is not read yet is left to its turn.
   */
  async takeInAgain(block: WitnessedBlock): Promise<number> {
    if (block.payments.length === 0 && block.fees.length === 0) return 0;
    return this.database.transaction(async (tx) => {
      const readTo = await this.cursor.holdBeside(tx);
      if (readTo === undefined || readTo < BigInt(block.number)) return 0;
      return this.record(tx, block, true);
    });
  }

  /** Decides on what waited for a rate that there is by now. Returns on how many. */
  async decideWaiting(fence: bigint): Promise<number> {
    return this.database.transaction(async (tx) => {
      if ((await this.cursor.hold(tx, fence)) === undefined) return 0;
      const rows = await tx.query<sql.DepositRow>(sql.WAITING, [WAITING_AT_ONCE, PEG_MIN]);
      const takings = new Takings();
      for (const row of rows) {
        const candidate = candidateOf(row);
        const decision = await this.decide(tx, takings, candidate);
        if (decision.status === 'pending' && decision.reason === row.reason) continue;
        await this.enter(tx, takings, { candidate, decision, author: CHAIN });
        await writeDecision(tx, row.id, decision);
      }
      await this.ledger.moveBalances(tx, takings.balances);
      return rows.length;
    });
  }

  /** The operator's decision on a held deposit. Throws OperatorError. */
  async resolve(id: bigint, isCredited: boolean, author: Author): Promise<Credits | undefined> {
    return this.database.transaction(async (tx) => {
      const [row] = await tx.query<sql.DepositRow>(sql.LOCK_ONE, [id]);
      if (row === undefined) throw new OperatorError(`There is no deposit ${id.toString()}.`, 1, 'NOT_FOUND');
      if (row.status !== 'held') throw new OperatorError(`Deposit ${id.toString()} is ${row.status}, not held.`);
      const candidate = candidateOf(row);
      await recordAct(tx, author, {
        action: isCredited ? 'deposits.credit' : 'deposits.ignore',
        subject: id.toString(),
        detail: { ...candidate },
      });
      if (!isCredited) {
        await tx.query(sql.DECIDE, [id, 'ignored', author.reason, row.rate_e8, null, null]);
        return undefined;
      }
      const rate = row.rate_e8 ?? (await this.rateOf(tx, new Takings(), candidate))?.rate;
      if (rate === undefined) throw new OperatorError('There is no rate for its minute yet.');
      const amount = creditsFrom(creditsOfWorth(candidate.amount * rate));
      if (amount === 0n) throw new OperatorError('It is worth less than one credit.');
      const decision: Decision = {
        status: 'credited',
        reason: null,
        rateE8: rate,
        entryKey: candidate.key,
        credits: amount,
      };
      const takings = new Takings();
      await this.enter(tx, takings, { candidate, decision, author });
      await writeDecision(tx, id, decision);
      await this.ledger.moveBalances(tx, takings.balances);
      return amount;
    });
  }

  /** Returns how many deposits were not known before. Of a rescan what was counted before is not counted again. */
  private async record(tx: Transaction, block: WitnessedBlock, isRescan = false): Promise<number> {
    const payments = await atRecordedPlaces(tx, block.payments);
    const { counting, ignored, movements } = await paymentsIn(
      tx,
      { ...block, payments },
      this.config.chain.tokenContract,
    );
    if (!isRescan) await countIgnored(tx, block, ignored);
    const takings = new Takings();
    const rows: (ProjectPayment & { readonly outcome: Decision })[] = [];
    for (const each of await unknownOf(tx, counting)) {
      const { payment, projectId, asset } = each;
      const candidate: Candidate = {
        key: entryKeyOf(payment.txid, payment.kind, payment.position),
        projectId,
        asset,
        amount: payment.amount,
        at: new Date(block.timestampMs),
        isAgreed: payment.isAgreed,
      };
      const outcome = await this.decide(tx, takings, candidate);
      await this.enter(tx, takings, { candidate, decision: outcome, author: CHAIN });
      rows.push({ ...each, outcome });
    }
    await insertDeposits(tx, block, rows);
    await insertMovements(tx, block, movements);
    await this.ledger.moveBalances(tx, takings.balances);
    return rows.length;
  }

  /** Judges a transfer with what waits beside it. Remembers in `takings` what later ones of the same turn build upon. */
  private async decide(tx: Transaction, takings: Takings, candidate: Candidate): Promise<Decision> {
    const { asset, amount, isAgreed, projectId } = candidate;
    const minimum = this.terms.minimumOf(asset);
    const rate = await this.rateOf(tx, takings, candidate);
    const judgement: Judgement = judge(asset, amount, { minimum, rate, isAgreed });
    const waits = judgement.status === 'pending' && judgement.reason !== 'below_minimum';
    if (judgement.status === 'held' || waits) {
      return { ...NOTHING, status: judgement.status, reason: judgement.reason, rateE8: judgement.rate ?? null };
    }
    const valued = judgement.rate ?? 0n;
    const small = await smallOnesOf(tx, takings, projectId, asset);
    const total = creditsFrom(creditsOfWorth(small.worth + amount * valued));
    if (small.amount + amount < minimum || total === 0n) {
      const decision: Decision = { ...NOTHING, status: 'pending', reason: 'below_minimum', rateE8: valued };
      small.amount += amount;
      small.worth += amount * valued;
      small.unwritten.push(decision);
      return decision;
    }
    if (await this.isOverDaily(tx, takings, total)) {
      return { ...NOTHING, status: 'held', reason: 'auto_max', rateE8: valued };
    }
    return { status: 'credited', reason: null, rateE8: valued, entryKey: candidate.key, credits: total };
  }

  /** With one node there is a limit to what its word alone is worth, for a deposit and for a day. */
  private async isOverDaily(tx: Transaction, takings: Takings, amount: bigint): Promise<boolean> {
    if (!this.blocks.isByOneNode) return false;
    const limit = BigInt(this.config.deposits.autoMaxUsd) * CREDITS_PER_USD;
    const [row] = takings.creditedToday === undefined ? await tx.query<{ credits: string }>(sql.CREDITED_TODAY) : [];
    const before = takings.creditedToday ?? BigInt(row?.credits ?? '0');
    const isOver = before + amount > limit;
    takings.creditedToday = isOver ? before : before + amount;
    return isOver;
  }

  /** Enters what is credited in the ledger, and credits the small ones that its entry holds too. */
  private async enter(
    tx: Transaction,
    takings: Takings,
    { candidate, decision, author }: { candidate: Candidate; decision: Decision; author: Author },
  ): Promise<void> {
    const { key, projectId, asset, amount } = candidate;
    const { credits } = decision;
    if (credits === null) return;
    const reason = author === CHAIN ? `${trxOf(amount)} ${asset}` : author.reason;
    await this.ledger.enterDeposit(tx, { entryKey: key, projectId, credits, actor: author.actor, reason });
    takings.balances.set(projectId, (takings.balances.get(projectId) ?? 0n) + credits);
    // What the operator credits stands for itself.
    if (author !== CHAIN) return;
    await tx.query(sql.CREDIT_SMALL_ONES, [projectId, asset, key]);
    const small = await smallOnesOf(tx, takings, projectId, asset);
    for (const decision of small.unwritten)
      Object.assign(decision, { status: 'credited', reason: null, entryKey: key });
    Object.assign(small, { amount: 0n, worth: 0n, unwritten: [] });
  }

  private async rateOf(tx: Transaction, takings: Takings, { asset, at }: Candidate): Promise<MinuteRate | undefined> {
    const place = `${asset} ${at.toISOString().slice(0, 16)}`;
    if (!takings.rates.has(place)) takings.rates.set(place, await this.rates.find(tx, asset, at));
    return takings.rates.get(place);
  }
}

const NOTHING = { rateE8: null, entryKey: null, credits: null } as const;

async function smallOnesOf(tx: Transaction, takings: Takings, projectId: string, asset: string): Promise<SmallOnes> {
  const place = `${projectId} ${asset}`;
  const known = takings.small.get(place);
  if (known !== undefined) return known;
  const [row] = await tx.query<{ amount: string; worth: string }>(sql.SMALL_ONES, [projectId, asset]);
  invariant(row !== undefined, 'a sum is a row');
  const small: SmallOnes = { amount: BigInt(row.amount), worth: BigInt(row.worth), unwritten: [] };
  takings.small.set(place, small);
  return small;
}

/** Those that were not taken in from a solid block before: by a rescan, or by a reader that was faster. */
async function unknownOf(tx: Transaction, payments: readonly ProjectPayment[]): Promise<readonly ProjectPayment[]> {
  if (payments.length === 0) return payments;
  const rows = await tx.query<sql.KnownRow>(sql.KNOWN, [
    payments.map(({ payment }) => Buffer.from(payment.txid, 'hex')),
    payments.map(({ payment }) => payment.kind),
    payments.map(({ payment }) => payment.position),
  ]);
  const known = new Set(rows.map(({ txid, kind, place }) => entryKeyOf(txid, kind, place)));
  return payments.filter(({ payment }) => !known.has(entryKeyOf(payment.txid, payment.kind, payment.position)));
}

/** By address, contract and day: anybody can send tokens of his own making by the million. */
async function countIgnored(tx: Transaction, block: WitnessedBlock, payments: readonly Payment[]): Promise<void> {
  const counts = new Map<string, number>();
  for (const { to, contract } of payments) {
    const place = `${to} ${contract ?? ''}`;
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  if (counts.size === 0) return;
  const places = [...counts.keys()].sort().map((place) => place.split(' '));
  await tx.query(sql.COUNT_IGNORED, [
    new Date(block.timestampMs),
    places.map(([to]) => to),
    places.map(([, contract]) => contract),
    [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count),
  ]);
}

function candidateOf(row: sql.DepositRow): Candidate {
  return {
    key: entryKeyOf(row.txid, row.kind, row.place),
    projectId: row.project_id,
    asset: row.asset,
    amount: BigInt(row.amount),
    at: row.block_at,
    isAgreed: true,
  };
}

async function writeDecision(tx: Transaction, id: bigint, decision: Decision): Promise<void> {
  const { status, reason, rateE8: rate, entryKey, credits } = decision;
  await tx.query(sql.DECIDE, [id, status, reason, rate, entryKey, credits]);
}
