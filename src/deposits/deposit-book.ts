/**
 * Takes deposits in: block by block, each with its ledger entries, its events and the cursor in one transaction, so that
 * nothing is credited twice and no block is passed unread. Beside it only head-sightings.ts and, for it, small-sums.ts write
 * deposits. Locks: cursor, deposits that wait, entries, balances last.
 */
import { Injectable } from '@nestjs/common';
import { Ledger } from '../billing/ledger.js';
import { BlockCursor } from '../blocks/block-cursor.js';
import { WitnessedBlocks, type WitnessedBlock } from '../blocks/witnessed-blocks.js';
import { Config } from '../config/config.js';
import { trxOf } from '../domain/conversion.js';
import { CREDITS_PER_USD, credits as creditsFrom, type Credits } from '../domain/units.js';
import { OperatorError } from '../domain/operator-error.js';
import { recordAct, type Author } from '../store/audit-log.js';
import { Database, type Transaction } from '../store/database.js';
import { Blacklist } from './blacklist.js';
import { insertMovements, paymentsIn, type ProjectPayment } from './block-payments.js';
import { insertDeposits, type Outcome } from './deposit-rows.js';
import { CREDITS_MAX, PEG_MIN, creditsOfWorth, judge, type MinuteRate } from './judgement.js';
import * as sql from './deposit-sql.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';
import { countIgnored } from './ignored-transfers.js';
import { atRecordedPlaces } from './recorded-places.js';
import { RateHistory, type UndoubtedRate } from './rate-history.js';
import { Takings, type Candidate } from './takings.js';
import { newestOf, waitReasonOf, type SumOwner } from './small-sums.js';

/** A small one may still be credited with one that comes after it. */
interface Decision extends Outcome {
  status: Outcome['status'];
  reason: Outcome['reason'];
  entryKey: Outcome['entryKey'];
  readonly credits: Credits | null;
}

const CHAIN: Author = { actor: 'chain', reason: 'deposit' };
/** Not `CHAIN`, with which all small ones of the sum would be credited. */
const RELEASED: Author = { actor: 'chain', reason: 'its address is blacklisted no more' };
const WAITING_AT_ONCE = 200;
const RELEASED_AT_ONCE = 100;
const ADDRESSES_AT_ONCE = 20;
const SMALL_AT_ONCE = 2000;

/** The ledger's key of a deposit, for ever. */
function entryKeyOf(txid: string, kind: string, place: number): string {
  return `deposit:${txid}:${kind}:${place.toString()}`;
}

@Injectable()
export class DepositBook {
  /** The address after which held deposits are checked next. */
  private releasedTo = '';

  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    private readonly rates: RateHistory,
    private readonly cursor: BlockCursor,
    private readonly blocks: WitnessedBlocks,
    private readonly terms: DepositTerms,
    private readonly tokens: DepositTokens,
    private readonly blacklist: Blacklist,
    private readonly config: Config,
  ) {}

  /**
   * Reads what is to be known of the addresses that a block pays before its transaction begins. Throws
   * ChainUnavailableError.
   */
  async inspect({ payments }: WitnessedBlock, isOurs: (address: string) => boolean): Promise<void> {
    await this.blacklist.read(payments.flatMap(({ kind, to }) => (kind === 'log' && isOurs(to) ? [to] : [])));
  }

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

  /** Decides on what waited for a rate that there is by now. Returns on how many; small ones are not counted. */
  async decideWaiting(fence: bigint): Promise<number> {
    await this.blacklist.read(await this.addressesOf(sql.WAITING_ADDRESSES, [WAITING_AT_ONCE]));
    return this.database.transaction(async (tx) => {
      if ((await this.cursor.hold(tx, fence)) === undefined) return 0;
      const takings = new Takings(tx);
      await this.rateSmallOnes(tx, takings);
      const rows = await tx.query<sql.DepositRow>(sql.WAITING, [WAITING_AT_ONCE, PEG_MIN]);
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

  /**
   * Credits what was held because its address was blacklisted, once it is not: a few addresses at once, in turn. What its
   * token's owner destroyed meanwhile stays held. Throws ChainUnavailableError.
   */
  async releaseUnlisted(fence: bigint): Promise<void> {
    const held = await this.addressesOf(sql.BLACKLISTED_ADDRESSES, [this.releasedTo, ADDRESSES_AT_ONCE]);
    this.releasedTo = held.length < ADDRESSES_AT_ONCE ? '' : (held.at(-1) ?? '');
    await this.blacklist.read(held);
    const free = held.filter((address) => !this.blacklist.has(address));
    if (free.length === 0) return;
    await this.database.transaction(async (tx) => {
      if ((await this.cursor.hold(tx, fence)) === undefined) return;
      const takings = new Takings(tx);
      for (const row of await tx.query<sql.BlacklistedRow>(sql.LOCK_BLACKLISTED, [free, RELEASED_AT_ONCE])) {
        await this.release(tx, takings, row);
      }
      await this.ledger.moveBalances(tx, takings.balances);
    });
  }

  private async release(tx: Transaction, takings: Takings, row: sql.BlacklistedRow): Promise<void> {
    const candidate = candidateOf(row);
    const { key } = candidate;
    const holdFor = async (reason: string, rateE8: bigint | null): Promise<void> => {
      await writeDecision(tx, row.id, { ...NOTHING, status: 'held', reason, rateE8 });
    };
    if (row.is_destroyed) return holdFor('destroyed', row.rate_e8);
    const rate = row.rate_e8 ?? (await this.rateOf(tx, takings, candidate))?.rate;
    if (rate === undefined) return;
    const [small] = await tx.query<{ worth: string }>(sql.WORTH_HELD_WITH, [key]);
    const total = creditsFrom(creditsOfWorth(BigInt(small?.worth ?? 0) + candidate.amount * rate));
    const excess = await this.excessOf(tx, takings, candidate, total);
    if (excess !== undefined) return holdFor(excess, rate);
    const decision: Decision = { status: 'credited', reason: null, rateE8: rate, entryKey: key, credits: total };
    await this.enter(tx, takings, { candidate, decision, author: RELEASED });
    await writeDecision(tx, row.id, decision);
    await tx.query(sql.CREDIT_HELD_WITH, [key]);
  }

  private async addressesOf(statement: { name: string; text: string }, params: readonly unknown[]): Promise<string[]> {
    return (await this.database.query<{ address: string }>(statement, [...params])).map(({ address }) => address);
  }

  /** The operator's decision on a held deposit. Throws OperatorError. */
  async resolve(id: bigint, isCredited: boolean, author: Author): Promise<Credits | undefined> {
    await this.tokens.assertSetting();
    return this.database.transaction(async (tx) => {
      const [row] = await tx.query<sql.DepositRow>(sql.LOCK_ONE, [id]);
      if (row === undefined) throw new OperatorError(`There is no deposit ${id.toString()}.`, 1, 'NOT_FOUND');
      if (row.status !== 'held') throw new OperatorError(`Deposit ${id.toString()} is ${row.status}, not held.`);
      const candidate = candidateOf(row);
      const { key } = candidate;
      const [small] = await tx.query<{ amount: string; worth: string }>(sql.WORTH_HELD_WITH, [key]);
      await recordAct(tx, author, {
        action: isCredited ? 'deposits.credit' : 'deposits.ignore',
        subject: id.toString(),
        detail: { ...candidate, smallOnes: BigInt(small?.amount ?? 0) },
      });
      if (!isCredited) {
        await tx.query(sql.DECIDE, [id, 'ignored', author.reason, row.rate_e8, null, null]);
        await tx.query(sql.IGNORE_HELD_WITH, [key, author.reason]);
        return undefined;
      }
      const rate = row.rate_e8 ?? (await this.rateOf(tx, new Takings(tx), candidate))?.rate;
      if (rate === undefined) throw new OperatorError('There is no rate for its minute yet.');
      const amount = creditsFrom(creditsOfWorth(BigInt(small?.worth ?? 0) + candidate.amount * rate));
      if (amount === 0n) throw new OperatorError('It is worth less than one credit.');
      const decision: Decision = {
        status: 'credited',
        reason: null,
        rateE8: rate,
        entryKey: key,
        credits: amount,
      };
      const takings = new Takings(tx);
      if (amount > (await takings.roomOf(candidate.projectId))) {
        throw new OperatorError('The balance would be more than 2^53 − 1 credits: lower it by `credits adjust` first.');
      }
      await this.enter(tx, takings, { candidate, decision, author });
      await writeDecision(tx, id, decision);
      await tx.query(sql.CREDIT_HELD_WITH, [key]);
      await this.ledger.moveBalances(tx, takings.balances);
      return amount;
    });
  }

  /** Returns how many deposits were not known before. Of a rescan what was counted before is not counted again. */
  private async record(tx: Transaction, block: WitnessedBlock, isRescan = false): Promise<number> {
    const payments = await atRecordedPlaces(tx, block.payments);
    const tokens = (await this.tokens.history(tx)).at(block.number);
    const { counting, ignored, movements } = await paymentsIn(tx, { ...block, payments }, tokens);
    if (!isRescan) await countIgnored(tx, block, ignored);
    const takings = new Takings(tx);
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
        address: payment.to,
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

  /**
   * Gives small ones that had none the first undoubted rate since their blocks, and judges each sum that they bring over the
   * minimum. While the newest rate is doubted, which it can be for half a day, nothing older is looked through.
   */
  private async rateSmallOnes(tx: Transaction, takings: Takings): Promise<void> {
    for (const { asset, oldest, newest } of await tx.query<sql.UnratedRow>(sql.OLDEST_UNRATED)) {
      if ((await this.rates.findUndoubted(tx, asset, newest)) === undefined) continue;
      const found = await this.rates.findUndoubted(tx, asset, oldest);
      if (found === undefined) continue;
      const rated = await tx.query<{ project_id: string; reason: string }>(sql.RATE_SMALL_ONES, [
        asset,
        found.rate,
        found.minute,
        SMALL_AT_ONCE,
      ]);
      const owners = new Map(
        rated.map(({ project_id: projectId, reason }) => [
          `${projectId} ${reason}`,
          { projectId, asset, isAgreed: reason === waitReasonOf({ isAgreed: true }) },
        ]),
      );
      for (const owner of owners.values()) await this.judgeSum(tx, takings, owner);
    }
  }

  /** Judges a sum whose rows are all written, with the newest of them as the one that it passes with. */
  private async judgeSum(tx: Transaction, takings: Takings, owner: SumOwner): Promise<void> {
    const sum = await takings.small.of(owner);
    if (sum.amount < this.terms.minimumOf(owner.asset)) return;
    const row = await newestOf(tx, owner);
    if (row === undefined || row.rate_e8 === null) return;
    const candidate = { ...candidateOf(row), isAgreed: owner.isAgreed };
    sum.amount -= candidate.amount;
    sum.worth -= candidate.amount * row.rate_e8;
    const decision = await this.addTo(tx, takings, candidate, row.rate_e8);
    if (decision.status === 'pending') return;
    await this.enter(tx, takings, { candidate, decision, author: CHAIN });
    await writeDecision(tx, row.id, decision);
  }

  /**
   * Judges a transfer with what waits beside it. One that is too small by itself has the first undoubted rate, and without
   * one it waits, part of no sum. Remembers in `takings` what later ones of the same turn build upon.
   */
  private async decide(tx: Transaction, takings: Takings, candidate: Candidate): Promise<Decision> {
    const { asset, amount, isAgreed } = candidate;
    if (amount < this.terms.minimumOf(asset)) {
      const rate = (await this.undoubtedRateOf(tx, takings, candidate))?.rate;
      if (rate !== undefined) return this.addTo(tx, takings, candidate, rate);
      return { ...NOTHING, status: 'pending', reason: waitReasonOf(candidate) };
    }
    const judgement = judge(asset, { rate: await this.rateOf(tx, takings, candidate), isAgreed });
    if (judgement.status === 'creditable') return this.addTo(tx, takings, candidate, judgement.rate);
    return { ...NOTHING, status: judgement.status, reason: judgement.reason, rateE8: judgement.rate ?? null };
  }

  /** Judges the sum that a transfer makes with the small ones before it, as one payment of that size. */
  private async addTo(tx: Transaction, takings: Takings, candidate: Candidate, rate: bigint): Promise<Decision> {
    const { asset, amount, isAgreed, key } = candidate;
    const small = await takings.small.of(candidate);
    const total = creditsFrom(creditsOfWorth(small.worth + amount * rate));
    if (small.amount + amount < this.terms.minimumOf(asset) || total === 0n) {
      const decision: Decision = { ...NOTHING, status: 'pending', reason: waitReasonOf(candidate), rateE8: rate };
      small.amount += amount;
      small.worth += amount * rate;
      small.unwritten.push(decision);
      return decision;
    }
    const held = (reason: string): Decision => ({ ...NOTHING, status: 'held', reason, rateE8: rate });
    if (!isAgreed) return held('one_node');
    // It could be swept only if the token let the address send.
    if (asset === 'USDT' && this.blacklist.has(candidate.address)) return held('blacklisted');
    const excess = await this.excessOf(tx, takings, candidate, total);
    if (excess !== undefined) return held(excess);
    return { status: 'credited', reason: null, rateE8: rate, entryKey: key, credits: total };
  }

  /** As what a sum is held that is too large to be credited without the operator. */
  private async excessOf(
    tx: Transaction,
    takings: Takings,
    candidate: Candidate,
    total: bigint,
  ): Promise<'amount' | 'auto_max' | undefined> {
    if (total > CREDITS_MAX || total > (await takings.roomOf(candidate.projectId))) return 'amount';
    return (await this.isOverDaily(tx, takings, total)) ? 'auto_max' : undefined;
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

  /**
   * Enters what is credited in the ledger, and credits the small ones that its entry holds too. Where a small one is held,
   * its sum is: the others are decided on with it.
   */
  private async enter(
    tx: Transaction,
    takings: Takings,
    { candidate, decision, author }: { candidate: Candidate; decision: Decision; author: Author },
  ): Promise<void> {
    const { key, projectId, asset, amount } = candidate;
    const { credits, status, reason: why } = decision;
    if (status === 'held' && why !== null && amount < this.terms.minimumOf(asset)) {
      await takings.small.hold(candidate, key, why);
    }
    if (credits === null) return;
    const reason = author === CHAIN ? `${trxOf(amount)} ${asset}` : author.reason;
    await this.ledger.enterDeposit(tx, { entryKey: key, projectId, credits, actor: author.actor, reason });
    takings.balances.set(projectId, (takings.balances.get(projectId) ?? 0n) + credits);
    // What the operator credits stands for itself, and for what is held with it.
    if (author === CHAIN) await takings.small.credit(candidate, key);
  }

  private async rateOf(tx: Transaction, takings: Takings, { asset, at }: Candidate): Promise<MinuteRate | undefined> {
    const place = `${asset} ${at.toISOString().slice(0, 16)}`;
    if (!takings.rates.has(place)) takings.rates.set(place, await this.rates.find(tx, asset, at));
    return takings.rates.get(place);
  }

  private async undoubtedRateOf(
    tx: Transaction,
    takings: Takings,
    { asset, at }: Candidate,
  ): Promise<UndoubtedRate | undefined> {
    const place = `${asset} ${at.toISOString().slice(0, 16)}`;
    if (!takings.undoubted.has(place)) takings.undoubted.set(place, await this.rates.findUndoubted(tx, asset, at));
    return takings.undoubted.get(place);
  }
}

const NOTHING = { rateE8: null, entryKey: null, credits: null } as const;

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

function candidateOf(row: sql.DepositRow): Candidate {
  return {
    key: entryKeyOf(row.txid, row.kind, row.place),
    projectId: row.project_id,
    asset: row.asset,
    amount: BigInt(row.amount),
    at: row.block_at,
    address: row.address,
    isAgreed: true,
  };
}

async function writeDecision(tx: Transaction, id: bigint, decision: Decision): Promise<void> {
  const { status, reason, rateE8: rate, entryKey, credits } = decision;
  await tx.query(sql.DECIDE, [id, status, reason, rate, entryKey, credits]);
}
