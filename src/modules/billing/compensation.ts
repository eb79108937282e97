/** Credits that an operator gives for an order that was not delivered as sold. */
import { ApiError, invariant } from '../../domain/errors.js';
import type { Credits } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import type { Queryable, Transaction } from '../../platform/database/database.js';
import { bookedBefore, entryOf, moveBalance, type Booking } from './bookings.js';
import * as sql from './ledger-sql.js';

/** Credits that may still be given for an order and its extensions, and the number of its compensations. */
export interface Compensated {
  readonly leftCredits: Credits;
  readonly count: number;
}

/** The booking of a compensation, with its number. */
export interface NumberedBooking extends Booking {
  readonly number: number;
}

const STILL_REFUNDABLE =
  'The order is not settled, so its charge may still be refunded automatically. Compensate once it is settled. Nothing was booked.';

/** Books a compensation as the last statements of a transaction (`Ledger.compensate`). */
export async function compensateIn(
  tx: Transaction,
  {
    orderId,
    credits,
    number,
  }: { readonly orderId: bigint; readonly credits: Credits; readonly number: number | undefined },
  author: Author,
): Promise<NumberedBooking> {
  const { projectId, isSettled } = await lockOrder(tx, orderId);
  if (!isSettled) throw refused(STILL_REFUNDABLE);
  const { leftCredits, count } = await compensatedIn(tx, orderId);
  const wanted = number ?? count + 1;
  if (wanted <= count) {
    await assertSame(tx, orderId, wanted, credits);
    return { ...(await bookedBefore(tx, projectId)), number: wanted };
  }
  if (wanted > count + 1) {
    throw refused(`The next compensation of the order is number ${(count + 1).toString()}. Nothing was booked.`);
  }
  if (credits > leftCredits) {
    const most = leftCredits > 0n ? leftCredits.toString() : 'nothing';
    throw refused(
      `Only ${most} of the order’s charges can still be given back. Give at most that many credits. Nothing was booked.`,
    );
  }
  const written = await tx.query(sql.INSERT_COMPENSATION, [orderId, wanted, credits, author.actor, author.reason]);
  invariant(written.length === 1, 'only what was charged has something left to give back');
  await recordAct(tx, author, {
    action: 'orders.compensate',
    subject: orderId.toString(),
    detail: { number: wanted, credits, projectId },
  });
  return { isNew: true, number: wanted, balanceCredits: await moveBalance(tx, projectId, credits) };
}

/** Returns zero for an unknown order. */
export async function compensatedIn(on: Queryable, orderId: bigint): Promise<Compensated> {
  const [row] = await on.query<{ left_credits: bigint; count: number }>(sql.COMPENSATED, [orderId]);
  return { leftCredits: (row?.left_credits ?? 0n) as Credits, count: row?.count ?? 0 };
}

async function lockOrder(
  tx: Queryable,
  orderId: bigint,
): Promise<{ readonly projectId: string; readonly isSettled: boolean }> {
  const lock = () => tx.query<{ project_id: string; settled: boolean }>(sql.LOCK_ORDER, [orderId]);
  // The first attempt may wait for a lock while the order moves to the archive. The second attempt then finds it there.
  const [order = (await lock())[0]] = await lock();
  if (order === undefined) throw new ApiError('NOT_FOUND', 'There is no order with this number.');
  return { projectId: order.project_id, isSettled: order.settled };
}

async function assertSame(tx: Queryable, orderId: bigint, number: number, credits: Credits): Promise<void> {
  const entry = await entryOf(tx, `compensation:${orderId.toString()}:${number.toString()}`);
  invariant(entry !== undefined, 'compensations are numbered without a gap');
  if (entry.credits === credits) return;
  throw refused(
    `Compensation number ${number.toString()} of the order is already booked, over ${entry.credits.toString()} credits. Nothing was booked.`,
  );
}

const refused = (msg: string): ApiError => new ApiError('INVALID_REQUEST', msg);
