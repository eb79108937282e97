/** States of deposit returns: booked first, then paid by a transaction that is signed elsewhere. Reads only. */
import type { Queryable } from '../../platform/database/database.js';
import type { Deposit } from '../../platform/database/entities/deposit.entity.js';
import { RETURN_IS_PAID } from '../../platform/database/paid-return.js';

export type ReturnState = 'being given back' | 'given back';

/** A listed deposit; `returnState` is null when it is not returned. */
export type ListedDeposit = Deposit & { readonly returnState: ReturnState | null };

const OF_ALL = {
  name: 'deposit_returns',
  text: `SELECT r.deposit_id, ${RETURN_IS_PAID} AS is_paid FROM deposit_return r JOIN deposit d ON d.id = r.deposit_id
    WHERE r.deposit_id = ANY ($1::bigint[])`,
};
/** A merchants' console has no right to read movements, so a database function answers. */
const OF_PROJECT = {
  name: 'project_deposit_returns',
  text: `SELECT deposit_id, is_paid FROM project_deposit_returns($1::bigint[])`,
};

/** `all`: any deposit, for the operator. `project`: the deposits of the project that the transaction names. */
export type ReturnScope = 'all' | 'project';

export async function withReturns(
  on: Queryable,
  scope: ReturnScope,
  deposits: readonly Deposit[],
): Promise<ListedDeposit[]> {
  if (deposits.length === 0) return [];
  const rows = await on.query<{ deposit_id: bigint; is_paid: boolean }>(scope === 'all' ? OF_ALL : OF_PROJECT, [
    deposits.map(({ id }) => id),
  ]);
  const states = new Map<bigint, ReturnState>(
    rows.map((row) => [row.deposit_id, row.is_paid ? 'given back' : 'being given back']),
  );
  return deposits.map((deposit) => Object.assign(deposit, { returnState: states.get(deposit.id) ?? null }));
}
