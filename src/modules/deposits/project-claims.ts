/**
 * Locks the projects that deposits are credited to. A project locked elsewhere is left for later, so that it delays no
 * other.
 */
import type { Transaction } from '../../platform/database/database.js';

const CLAIM = { name: 'claim_paid_projects', text: `SELECT claim_paid_projects($1::uuid[], $2) AS id` };

/**
 * Locked projects that one transaction waits for, a quarter of a second each. A busy balance is locked most of the
 * time, so a transaction that never waits would starve it.
 */
const WAITS_MAX = 4;

/** Locks the balances of these projects until the transaction ends. Returns the projects that it could lock. */
export async function claimProjects(tx: Transaction, projectIds: Iterable<string>): Promise<ReadonlySet<string>> {
  const wanted = [...new Set(projectIds)].sort();
  if (wanted.length === 0) return new Set();
  const rows = await tx.query<{ id: string }>(CLAIM, [wanted, WAITS_MAX]);
  return new Set(rows.map(({ id }) => id));
}
