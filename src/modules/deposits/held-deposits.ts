/**
 * Decides on held deposits for an operator: credits or refuses each once, in the caller's transaction. Locks the deposit
 * first, the balance last.
 */
import { Injectable } from '@nestjs/common';
import { OperatorError } from '../../domain/operator-error.js';
import { credits as creditsFrom, type Credits } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import type { Queryable, Transaction } from '../../platform/database/database.js';
import { Deposit } from '../../platform/database/entities/deposit.entity.js';
import { Ledger } from '../billing/ledger.js';
import { DepositBatch, type Candidate } from './deposit-batch.js';
import { candidateOf, entryKeyOf, writeDecision } from './deposit-rows.js';
import * as sql from './deposit-sql.js';
import { creditsOfWorth } from './judgement.js';
import { RateHistory } from './rate-history.js';
import * as sums from './small-sums-sql.js';
import { settleClosedSums } from './small-sums.js';

/** The worth of a held deposit, together with the small deposits that wait with it. */
export interface HeldWorth {
  /** At the rate of its minute; undefined while there is none. */
  readonly credits: Credits | undefined;
  /** The sum of the small deposits, in the smallest unit. */
  readonly smallAmount: bigint;
}

@Injectable()
export class HeldDeposits {
  constructor(
    private readonly ledger: Ledger,
    private readonly rateHistory: RateHistory,
  ) {}

  /** Returns a deposit by its id. Throws OperatorError. */
  async find(tx: Transaction, id: bigint): Promise<Deposit> {
    const found = await tx.repository(Deposit).findOneBy({ id });
    if (found === null) throw unknownDeposit(id);
    return found;
  }

  /** Returns the deposit whose ledger entry has the key `deposit:<reference>`. */
  async findByReference(tx: Transaction, reference: string): Promise<Deposit> {
    const [txid = '', kind = '', place = ''] = reference.split(':');
    return tx.repository(Deposit).findOneByOrFail({
      txid: Buffer.from(txid, 'hex'),
      kind: kind as Deposit['kind'],
      place: Number(place),
    });
  }

  async readWorth(on: Queryable, deposit: Deposit): Promise<HeldWorth> {
    const { asset, blockAt: at, kind, place, rateE8 } = deposit;
    const key = entryKeyOf(deposit.txid.toString('hex'), kind, place);
    return this.worthOf(on, { key, asset, at, amount: BigInt(deposit.amount) }, rateE8);
  }

  private async worthOf(
    on: Queryable,
    { key, asset, at, amount }: Pick<Candidate, 'key' | 'asset' | 'at' | 'amount'>,
    known: bigint | null,
  ): Promise<HeldWorth & { readonly rate: bigint | undefined }> {
    const small = await readHeldWith(on, key);
    const rate = known ?? (await this.rateHistory.find(on, asset, at))?.rate;
    const credits = rate === undefined ? undefined : creditsWith(small, amount, rate);
    return { credits, smallAmount: small.amount, rate };
  }

  /**
   * Applies the operator's decision. Returns the credits; undefined when the deposit is refused. `expected`: the worth
   * that the operator saw. Throws OperatorError, also if the worth is different now.
   */
  async resolve(
    tx: Transaction,
    id: bigint,
    {
      isCredited,
      author,
      expected,
    }: { readonly isCredited: boolean; readonly author: Author; readonly expected?: Credits },
  ): Promise<Credits | undefined> {
    const [row] = await tx.query<sql.DepositRow>(sql.LOCK_ONE, [id]);
    if (row === undefined) throw unknownDeposit(id);
    if (row.status !== 'held') throw new OperatorError(`Deposit ${id.toString()} is ${row.status}, not held.`);
    const candidate = candidateOf(row);
    const { key, projectId } = candidate;
    const { credits, smallAmount, rate } = await this.worthOf(tx, candidate, row.rate_e8);
    if (expected !== undefined && credits !== expected) {
      throw new OperatorError(`The worth of deposit ${id.toString()} has changed. Look at it again.`);
    }
    await recordAct(tx, author, {
      action: isCredited ? 'deposits.credit' : 'deposits.ignore',
      subject: id.toString(),
      detail: { ...candidate, smallOnes: smallAmount },
    });
    if (!isCredited) {
      await tx.query(sql.DECIDE, [id, 'ignored', author.reason, row.rate_e8, null, null, null]);
      await tx.query(sums.DECIDE_SUM, [key, 'ignored', author.reason]);
      await settleClosedSums(tx);
      return undefined;
    }
    if (rate === undefined || credits === undefined) {
      throw new OperatorError('There is no rate for its minute yet. Try again later.');
    }
    if (credits === 0n) throw new OperatorError('The deposit is worth less than one credit.');
    if (credits > (await new DepositBatch(tx).roomOf(projectId))) {
      throw new OperatorError('The balance would exceed 2^53 − 1 credits. Lower it with `credits adjust` first.');
    }
    await this.ledger.enterDeposit(tx, { entryKey: key, projectId, credits, ...author });
    const decision = { status: 'credited', reason: null, rateE8: rate, entryKey: key, credits, sumId: null } as const;
    await writeDecision(tx, id, decision);
    await creditHeldWith(tx, key);
    await this.ledger.moveBalances(tx, new Map([[projectId, credits]]));
    return credits;
  }
}

/** Returns the part of the ledger entry's key that names the deposit. */
export const referenceOf = ({ txid, kind, place }: Deposit): string =>
  entryKeyOf(txid.toString('hex'), kind, place).slice('deposit:'.length);

/**
 * Credits the small deposits whose sum was held with the deposit of this key: some now, the rest in later transactions.
 */
export async function creditHeldWith(tx: Transaction, key: string): Promise<void> {
  await tx.query(sums.DECIDE_SUM, [key, 'credited', null]);
  await settleClosedSums(tx);
}

/** The sum of the small deposits that are held with a deposit. */
interface HeldSum {
  readonly amount: bigint;
  readonly worth: bigint;
}

/** Reads the sum of the small deposits that are held with the deposit of this key. */
export async function readHeldWith(on: Queryable, key: string): Promise<HeldSum> {
  const [small] = await on.query<{ amount: string; worth: string }>(sums.WORTH_HELD_WITH, [key]);
  return { amount: BigInt(small?.amount ?? 0), worth: BigInt(small?.worth ?? 0) };
}

/** Returns the credits for a deposit and the small deposits that are held with it. */
export const creditsWith = ({ worth }: HeldSum, amount: bigint, rate: bigint): Credits =>
  creditsFrom(creditsOfWorth(worth + amount * rate));

const unknownDeposit = (id: bigint): OperatorError =>
  new OperatorError(`There is no deposit ${id.toString()}.`, 1, 'NOT_FOUND');
