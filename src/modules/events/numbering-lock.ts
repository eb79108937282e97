/** The lock that lets one session at a time write positions, until its transaction ends. */
import type { Queryable } from '../../platform/database/database.js';

/** One of the service's advisory locks; `migrate` has another. */
const NUMBERING = 4_202_001;

const HOLD = { name: 'hold_numbering', text: `SELECT pg_try_advisory_xact_lock(${NUMBERING.toString()}) AS held` };

/** Returns true if this transaction holds the lock. Its later statements see all commits of the previous holder. */
export async function holdNumbering(tx: Queryable): Promise<boolean> {
  const [lock] = await tx.query<{ held: boolean }>(HOLD);
  return lock?.held === true;
}
