/** Prunes answered and forgotten requests for explanations, in bounded steps. */
import { confirmedNow } from '../../platform/database/confirmed-clock.js';
import type { Database } from '../../platform/database/database.js';

const KEPT_HOURS = 24;

const PRUNE_EXPLANATIONS = {
  name: 'prune_explanations',
  text: `DELETE FROM explanation_request WHERE id IN (SELECT id FROM explanation_request
      WHERE requested_at < $2::timestamptz - $1 * interval '1 hour' ORDER BY requested_at LIMIT $3)
    RETURNING id`,
};

/** Makes one bounded step and returns the number of deleted rows. Deletes none while the clock is not confirmed. */
export async function pruneExplanations(database: Database, rowsMax: number): Promise<number> {
  const now = await confirmedNow(database);
  return now === undefined ? 0 : (await database.query(PRUNE_EXPLANATIONS, [KEPT_HOURS, now, rowsMax])).length;
}
