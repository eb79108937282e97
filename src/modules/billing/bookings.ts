/** The steps that bookings of an operator share. */
import { ApiError, invariant } from '../../domain/errors.js';
import type { Credits } from '../../domain/units.js';
import type { Queryable } from '../../platform/database/database.js';
import * as sql from './ledger-sql.js';

/** The result of a booking. `isNew` is false for a reference that was booked before; then nothing is booked. */
export interface Booking {
  readonly isNew: boolean;
  readonly balanceCredits: Credits;
}

const NO_ROOM_FOR_REFUNDS =
  'The balance would exceed 2^53 − 1 credits if the charges of open orders were refunded. Book less, or wait until they are settled. Nothing was booked.';

export async function entryOf(
  tx: Queryable,
  entryKey: string,
): Promise<{ readonly project_id: string; readonly credits: bigint } | undefined> {
  const [entry] = await tx.query<{ project_id: string; credits: bigint }>(sql.FIND_ENTRY, [entryKey]);
  return entry;
}

/** Returns the result of booking an entry again. */
export async function bookedBefore(tx: Queryable, projectId: string): Promise<Booking> {
  const [account] = await tx.query<sql.AccountRow>(sql.FIND_ACCOUNT, [projectId]);
  invariant(account !== undefined, 'a booked entry has an account');
  return { isNew: false, balanceCredits: account.balance_credits as Credits };
}

/** Moves a balance as an operator booked, and returns it. Throws if the terms or the largest balance forbid it. */
export async function moveBalance(tx: Queryable, projectId: string, credits: Credits): Promise<Credits> {
  const [account] = await tx.query<{ balance_credits: bigint }>(sql.MOVE_BALANCE, [projectId, credits]);
  if (account === undefined) throw await refusedMove(tx, projectId, credits);
  if (credits > 0n && account.balance_credits > sql.ROOMY_BALANCE) {
    // A separate statement: under the row's lock it sees every charge that has lowered this balance.
    const [room] = await tx.query<{ fits: boolean }>(sql.HAS_ROOM, [projectId]);
    if (room?.fits !== true) throw new ApiError('INVALID_REQUEST', NO_ROOM_FOR_REFUNDS);
  }
  return account.balance_credits as Credits;
}

async function refusedMove(tx: Queryable, projectId: string, credits: Credits): Promise<ApiError> {
  const [account] = await tx.query<sql.AccountRow>(sql.FIND_ACCOUNT, [projectId]);
  if (account === undefined) return unknownProject();
  if (credits > 0n) return new ApiError('INVALID_REQUEST', 'The balance would exceed 2^53 − 1 credits.');
  return new ApiError(
    'INSUFFICIENT_CREDITS',
    'The adjustment would take the balance below the limit of the project’s terms.',
  );
}

export function unknownProject(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no project with this ID.');
}
