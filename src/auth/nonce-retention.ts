/** Deletes nonces that have expired, a little at a time. */
import type { Database } from '../store/database.js';

const PRUNE_NONCES = {
  name: 'prune_nonces',
  text: `DELETE FROM request_nonce WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM request_nonce WHERE expires_at < clock_timestamp() LIMIT $1)) RETURNING 1`,
};

/** One bounded step; returns how many rows it deleted. */
export async function pruneNonces(database: Database, rowsMax: number): Promise<number> {
  return (await database.query(PRUNE_NONCES, [rowsMax])).length;
}
