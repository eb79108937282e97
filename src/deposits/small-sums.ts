/**
 * The small payments that wait until their sum passes the minimum, of each project and asset: those that enough nodes have
 * are one sum, those of one node's word another. Part of a sum is what has an undoubted rate. Writes `deposit` for the
 * book, in its transaction.
 */
import type { DepositAsset } from '../domain/deposit-state.js';
import { invariant } from '../domain/errors.js';
import type { Transaction } from '../store/database.js';
import * as sql from './deposit-sql.js';

/** Whose sum it is. */
export interface SumOwner {
  readonly projectId: string;
  readonly asset: DepositAsset;
  readonly isAgreed: boolean;
}

/** Of a row that is not written yet: what may still be changed by one that comes after it. */
export interface Unwritten {
  status: string;
  reason: string | null;
  entryKey: string | null;
}

export interface SmallSum {
  amount: bigint;
  worth: bigint;
  unwritten: Unwritten[];
}

/** As what a small one waits. */
export const waitReasonOf = ({ isAgreed }: Pick<SumOwner, 'isAgreed'>) => (isAgreed ? 'below_minimum' : 'one_node');

/** In one transaction, whose rows may be written at its end. */
export class SmallSums {
  private readonly known = new Map<string, SmallSum>();

  constructor(private readonly tx: Transaction) {}

  async of(owner: SumOwner): Promise<SmallSum> {
    const place = `${owner.projectId} ${owner.asset} ${waitReasonOf(owner)}`;
    const known = this.known.get(place);
    if (known !== undefined) return known;
    const [row] = await this.tx.query<{ amount: string; worth: string }>(sql.SMALL_ONES, paramsOf(owner));
    invariant(row !== undefined, 'a sum is a row');
    const sum: SmallSum = { amount: BigInt(row.amount), worth: BigInt(row.worth), unwritten: [] };
    this.known.set(place, sum);
    return sum;
  }

  /** Credits all of the sum with the deposit of this key, whose ledger entry stands. */
  async credit(owner: SumOwner, key: string): Promise<void> {
    await this.tx.query(sql.CREDIT_SMALL_ONES, [...paramsOf(owner), key]);
    await this.end(owner, { status: 'credited', reason: null, entryKey: key });
  }

  /** Leaves all of the sum to the decision on the deposit of this key, which is held. */
  async hold(owner: SumOwner, key: string, reason: string): Promise<void> {
    await this.tx.query(sql.HOLD_SMALL_ONES, [...paramsOf(owner), key, reason]);
    await this.end(owner, { status: 'pending', reason, entryKey: key });
  }

  private async end(owner: SumOwner, change: Unwritten): Promise<void> {
    const sum = await this.of(owner);
    for (const each of sum.unwritten) Object.assign(each, change);
    Object.assign(sum, { amount: 0n, worth: 0n, unwritten: [] });
  }
}

/** The newest of a sum that is written: it carries the others, as one does with which a sum passes. */
export async function newestOf(tx: Transaction, owner: SumOwner): Promise<sql.DepositRow | undefined> {
  const [row] = await tx.query<sql.DepositRow>(sql.NEWEST_SMALL_ONE, paramsOf(owner));
  return row;
}

function paramsOf(owner: SumOwner): unknown[] {
  return [owner.projectId, owner.asset, waitReasonOf(owner)];
}
