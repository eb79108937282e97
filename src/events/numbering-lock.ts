/** One session at a time writes positions: whoever holds this lock, until its transaction ends. */
import type { Queryable } from '../store/database.js';

/** One of the service's advisory locks; `migrate` has another. */
const NUMBERING = 4_202_001;

const HOLD = { name: 'hold_numbering', text: `SELECT pg_try_advisory_xact_lock(${NUMBERING.toString()}) AS held` };

/** Whether this transaction numbers. Statements after it see whatever the one before it has committed. */
export async function holdNumbering(tx: Queryable): Promise<boolean> {
  const [lock] = await tx.query<{ held: boolean }>(HOLD);
  return lock?.held === true;
}
