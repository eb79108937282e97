import { confirmedNow } from '../../platform/database/confirmed-clock.js';
import type { Database } from '../../platform/database/database.js';

const PRUNE_NONCES = {
  name: 'prune_nonces',
  text: `DELETE FROM request_nonce WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM request_nonce WHERE expires_at < $2::timestamptz LIMIT $1)) RETURNING 1`,
};

/**
 * Deletes expired nonces in one bounded step and returns their number. Deletes none while the database's clock is not
 * confirmed.
 */
export async function pruneNonces(database: Database, rowsMax: number): Promise<number> {
  const now = await confirmedNow(database);
  return now === undefined ? 0 : (await database.query(PRUNE_NONCES, [rowsMax, now])).length;
}
