/**
 * Sums of small deposits that wait until they reach the minimum. Each project and asset has one sum of deposits that
 * enough nodes report and one of deposits that a single node reports. Only deposits with an undoubted rate are in a
 * sum. A sum stores its amount and worth, so that no payment has to read the earlier ones. Its deposits receive the
 * decision on it in batches.
 */
import type { DepositAsset } from '../../domain/deposit-state.js';
import { invariant } from '../../domain/errors.js';
import type { Transaction } from '../../platform/database/database.js';
import type { DepositRow } from './deposit-sql.js';
import type { Decision } from './judgement.js';
import * as sql from './small-sums-sql.js';

/** Deposits that receive the decision on their sum in one transaction. */
const SETTLED_BATCH = 500;

/** The key of an open sum. */
export interface SumOwner {
  readonly projectId: string;
  readonly asset: DepositAsset;
  readonly isAgreed: boolean;
}

/** The decision of a row that is not written yet: a later payment may still change these members. */
type Unwritten = Pick<Decision, 'status' | 'reason' | 'entryKey' | 'sumId'>;

interface SmallSum {
  /** Undefined before its first deposit. */
  id: bigint | undefined;
  amount: bigint;
  worth: bigint;
  unwritten: Unwritten[];
}

interface Part {
  readonly amount: bigint;
  readonly worth: bigint;
}

/** Returns the reason for which a small deposit waits. */
export const waitReasonOf = ({ isAgreed }: Pick<SumOwner, 'isAgreed'>) => (isAgreed ? 'below_minimum' : 'one_node');

/** The open sums of one transaction, which writes its rows at the end. */
export class SmallSums {
  private readonly sums = new Map<string, SmallSum>();
  private hasClosed = false;

  constructor(private readonly tx: Transaction) {}

  /** Returns the open sum. */
  async findOpen(owner: SumOwner): Promise<SmallSum> {
    const place = placeOf(owner);
    const known = this.sums.get(place);
    if (known !== undefined) return known;
    const [row] = await this.tx.query<{ id: bigint; amount: string; worth: string }>(sql.OPEN_SUM, paramsOf(owner));
    const sum: SmallSum = {
      id: row?.id,
      amount: BigInt(row?.amount ?? 0),
      worth: BigInt(row?.worth ?? 0),
      unwritten: [],
    };
    this.sums.set(place, sum);
    return sum;
  }

  /** Adds a waiting deposit to the open sum and returns the sum's id. */
  async add(owner: SumOwner, { amount, worth }: Part, unwritten?: Unwritten): Promise<bigint> {
    const sum = await this.findOpen(owner);
    if (sum.id === undefined) {
      const [row] = await this.tx.query<{ id: bigint }>(sql.BEGIN_SUM, paramsOf(owner));
      invariant(row !== undefined, 'a sum that is begun is a row');
      sum.id = row.id;
    }
    sum.amount += amount;
    sum.worth += worth;
    if (unwritten !== undefined) {
      unwritten.sumId = sum.id;
      sum.unwritten.push(unwritten);
    }
    return sum.id;
  }

  /** Removes a deposit from the open sum, before the sum is judged together with it. */
  async subtract(owner: SumOwner, { amount, worth }: Part): Promise<void> {
    const sum = await this.findOpen(owner);
    sum.amount -= amount;
    sum.worth -= worth;
  }

  /** Credits the whole sum with the deposit of this key, whose ledger entry is already written. */
  async creditSum(owner: SumOwner, key: string): Promise<void> {
    await this.closeSum(owner, {
      key,
      decision: 'credited',
      change: { status: 'credited', reason: null, entryKey: key },
    });
  }

  /** Holds the whole sum with the deposit of this key. The decision on that deposit will decide it. */
  async holdSum(owner: SumOwner, key: string, reason: string): Promise<void> {
    await this.closeSum(owner, { key, decision: 'held', change: { status: 'pending', reason, entryKey: key } });
  }

  /** Writes the open sums. */
  async writeOpenSums(): Promise<void> {
    for (const { id, amount, worth } of this.sums.values()) {
      if (id !== undefined) await this.tx.query(sql.WRITE_SUM, [id, amount, worth]);
    }
  }

  /** Writes open sums and settles deposits of closed ones, after all rows of the transaction are written. */
  async finish(): Promise<void> {
    await this.writeOpenSums();
    if (this.hasClosed) await settleClosedSums(this.tx);
  }

  private async closeSum(
    owner: SumOwner,
    end: {
      readonly key: string;
      readonly decision: 'credited' | 'held';
      readonly change: Omit<Unwritten, 'sumId'>;
    },
  ): Promise<void> {
    const { id, amount, worth, unwritten } = await this.findOpen(owner);
    if (id === undefined) return;
    await this.tx.query(sql.CLOSE_SUM, [id, amount, worth, end.key, end.decision, end.change.reason]);
    for (const each of unwritten) Object.assign(each, end.change);
    this.sums.set(placeOf(owner), { id: undefined, amount: 0n, worth: 0n, unwritten: [] });
    this.hasClosed = true;
  }
}

/** Copies the decision on closed sums to a bounded number of their deposits. Later transactions do the rest. */
export async function settleClosedSums(tx: Transaction): Promise<void> {
  const settled = await tx.query(sql.SETTLE_SUMMED, [SETTLED_BATCH]);
  if (settled.length < SETTLED_BATCH) await tx.query(sql.SETTLE_HELD, [SETTLED_BATCH - settled.length]);
  const closed = await tx.query<{ id: bigint }>(sql.LOCK_CLOSED);
  if (closed.length > 0) await tx.query(sql.MARK_SETTLED, [closed.map(({ id }) => id)]);
}

/** Returns the newest deposit of an open sum, which carries the others; undefined while its row is locked. */
export async function lockNewest(tx: Transaction, sumId: bigint): Promise<DepositRow | undefined> {
  const [row] = await tx.query<DepositRow>(sql.NEWEST_OF_SUM, [sumId]);
  return row;
}

const placeOf = (owner: SumOwner): string => paramsOf(owner).join(' ');

function paramsOf(owner: SumOwner): string[] {
  return [owner.projectId, owner.asset, waitReasonOf(owner)];
}
