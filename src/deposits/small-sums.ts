/**
 * The sums of small payments that wait until they pass the minimum: one of each project and asset of those that enough
 * nodes have, another of those of one node's word. Only what has an undoubted rate is part of a sum. A sum is kept with its
 * amount and worth, so that no payment has to read those before it. Its deposits get the decision on it in batches.
 */
import type { DepositAsset } from '../domain/deposit-state.js';
import { invariant } from '../domain/errors.js';
import type { Transaction } from '../store/database.js';
import type { DepositRow } from './deposit-sql.js';
import * as sql from './small-sums-sql.js';

/** Deposits that get the decision on their sum in one transaction. */
const SETTLED_AT_ONCE = 500;

/** Whose sum it is. */
export interface SumOwner {
  readonly projectId: string;
  readonly asset: DepositAsset;
  readonly isAgreed: boolean;
}

/** Of a row that is not written yet: the members that a payment after it may still change. */
export interface Unwritten {
  status: string;
  reason: string | null;
  entryKey: string | null;
  sumId: bigint | null;
}

export interface SmallSum {
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

/** The reason for which a small deposit waits. */
export const waitReasonOf = ({ isAgreed }: Pick<SumOwner, 'isAgreed'>) => (isAgreed ? 'below_minimum' : 'one_node');

/** In one transaction, whose rows may be written at its end. */
export class SmallSums {
  private readonly known = new Map<string, SmallSum>();
  private hasClosed = false;

  constructor(private readonly tx: Transaction) {}

  /** The open sum. */
  async of(owner: SumOwner): Promise<SmallSum> {
    const place = placeOf(owner);
    const known = this.known.get(place);
    if (known !== undefined) return known;
    const [row] = await this.tx.query<{ id: bigint; amount: string; worth: string }>(sql.OPEN_SUM, paramsOf(owner));
    const sum: SmallSum = {
      id: row?.id,
      amount: BigInt(row?.amount ?? 0),
      worth: BigInt(row?.worth ?? 0),
      unwritten: [],
    };
    this.known.set(place, sum);
    return sum;
  }

  /** Makes a deposit that waits part of the open sum; returns the sum's id. */
  async add(owner: SumOwner, { amount, worth }: Part, unwritten?: Unwritten): Promise<bigint> {
    const sum = await this.of(owner);
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

  /** Takes a deposit out of the open sum, which is decided on with it. */
  async takeOut(owner: SumOwner, { amount, worth }: Part): Promise<void> {
    const sum = await this.of(owner);
    sum.amount -= amount;
    sum.worth -= worth;
  }

  /** Credits all of the sum with the deposit of this key, whose ledger entry is written. */
  async credit(owner: SumOwner, key: string): Promise<void> {
    await this.close(owner, { key, decision: 'credited', change: { status: 'credited', reason: null, entryKey: key } });
  }

  /** Leaves all of the sum to the decision on the deposit of this key, which is held. */
  async hold(owner: SumOwner, key: string, reason: string): Promise<void> {
    await this.close(owner, { key, decision: 'held', change: { status: 'pending', reason, entryKey: key } });
  }

  /** Writes the open sums. */
  async write(): Promise<void> {
    for (const { id, amount, worth } of this.known.values()) {
      if (id !== undefined) await this.tx.query(sql.WRITE_SUM, [id, amount, worth]);
    }
  }

  /** Writes open sums, once all rows of the transaction are written, and settles deposits of closed ones. */
  async finish(): Promise<void> {
    await this.write();
    if (this.hasClosed) await settle(this.tx);
  }

  private async close(
    owner: SumOwner,
    end: {
      readonly key: string;
      readonly decision: 'credited' | 'held';
      readonly change: Omit<Unwritten, 'sumId'>;
    },
  ): Promise<void> {
    const { id, amount, worth, unwritten } = await this.of(owner);
    if (id === undefined) return;
    await this.tx.query(sql.CLOSE_SUM, [id, amount, worth, end.key, end.decision, end.change.reason]);
    for (const each of unwritten) Object.assign(each, end.change);
    this.known.set(placeOf(owner), { id: undefined, amount: 0n, worth: 0n, unwritten: [] });
    this.hasClosed = true;
  }
}

/** Gives some deposits of closed sums the decision on their sum; the rest is left to later transactions. */
export async function settle(tx: Transaction): Promise<void> {
  const settled = await tx.query(sql.SETTLE_SUMMED, [SETTLED_AT_ONCE]);
  if (settled.length < SETTLED_AT_ONCE) await tx.query(sql.SETTLE_HELD, [SETTLED_AT_ONCE - settled.length]);
  await tx.query(sql.MARK_SETTLED);
}

/** The newest deposit of an open sum: it carries the others. Undefined while the row is locked. */
export async function newestOf(tx: Transaction, sumId: bigint): Promise<DepositRow | undefined> {
  const [row] = await tx.query<DepositRow>(sql.NEWEST_OF_SUM, [sumId]);
  return row;
}

const placeOf = (owner: SumOwner): string => paramsOf(owner).join(' ');

function paramsOf(owner: SumOwner): string[] {
  return [owner.projectId, owner.asset, waitReasonOf(owner)];
}
