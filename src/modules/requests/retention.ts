/** Prunes the request log from its oldest rows, in bounded steps. */
import { confirmedNow } from '../../platform/database/confirmed-clock.js';
import type { Database } from '../../platform/database/database.js';
import { oldestIds } from '../../platform/database/retention-sql.js';

/** Retention of refused requests. */
export const REQUESTS_KEPT_DAYS = 7;

const OLDEST = oldestIds('refused_request', 'at');
const PRUNE_REQUESTS = {
  name: 'prune_requests',
  text: `DELETE FROM refused_request WHERE id = ANY (ARRAY(${OLDEST})) RETURNING id`,
};

/**
 * Makes one bounded step and returns the number of deleted rows. Deletes none while the database's clock is not
 * confirmed.
 */
export async function pruneRequests(database: Database, rowsMax: number): Promise<number> {
  const now = await confirmedNow(database);
  return now === undefined ? 0 : (await database.query(PRUNE_REQUESTS, [REQUESTS_KEPT_DAYS, rowsMax, now])).length;
}
