/**
 * The numbers of rows that callers are told. A restored backup lacks the newest rows, and its sequences would give
 * their numbers to other rows.
 */
import type { Queryable } from './database.js';

/** Sequences of the numbers that an API, an event, a webhook or a console shows. Positions of events are raised apart. */
export const TOLD_SEQUENCES = [
  'orders_id_seq',
  'credit_entry_id_seq',
  'deposit_id_seq',
  'auto_delegation_id_seq',
  'webhook_delivery_id_seq',
] as const;

/**
 * More orders than an hour between two dumps can hold. A longer gap would delay `verify`, which judges ledger entries in
 * ranges of numbers, also empty ones.
 */
const STEP = 1_000_000;

/** `nextval` needs the same right as `setval`; reading the last value would need another one. */
const RAISE = `SELECT setval(name::regclass, nextval(name::regclass) + $2) FROM unnest($1::text[]) AS name`;

/** Raises each sequence, even if the transaction is rolled back. Returns the step. */
export async function raiseToldNumbers(tx: Queryable): Promise<number> {
  await tx.query(RAISE, [TOLD_SEQUENCES, STEP]);
  return STEP;
}
