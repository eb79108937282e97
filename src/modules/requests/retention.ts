/** Prunes the request log from its oldest rows, in bounded steps. */
import { confirmedNow } from '../../platform/database/confirmed-clock.js';
import type { Database } from '../../platform/database/database.js';

/** Retention of refused requests. */
export const REQUESTS_KEPT_DAYS = 7;

/** Scans only the oldest rows: an index on the time would cost every write for this purpose alone. */
const PRUNE_REQUESTS = {
  name: 'prune_requests',
  text: `DELETE FROM refused_request
    WHERE id IN (SELECT id FROM refused_request ORDER BY id LIMIT $2) AND at < $3::timestamptz - $1 * interval '1 day'
    RETURNING id`,
};

/**
 * Makes one bounded step and returns the number of deleted rows. Deletes none while the database's clock is not
 * confirmed.
 */
export async function pruneRequests(database: Database, rowsMax: number): Promise<number> {
  const now = await confirmedNow(database);
  return now === undefined ? 0 : (await database.query(PRUNE_REQUESTS, [REQUESTS_KEPT_DAYS, rowsMax, now])).length;
}
