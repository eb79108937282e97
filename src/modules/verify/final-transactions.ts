/** Transactions that the records know as final. A node that does not know them keeps no transaction history. */
import { History } from '../../platform/chain/history.js';
import type { Database } from '../../platform/database/database.js';

/**
 * The newest solid one among the last rows. A transaction that became final later than newer ones may be missed here.
 */
const NEWEST_SOLID = {
  name: 'newest_solid',
  text: `SELECT encode(t.txid, 'hex') AS txid, t.block_number
    FROM (SELECT id, txid, block_number, status FROM chain_tx ORDER BY id DESC LIMIT 1000) t
   WHERE t.status = 'solid' ORDER BY t.id DESC LIMIT 1`,
};

export function historyFromRecords(database: Database): History {
  return new History(async () => {
    const [row] = await database.query<{ txid: string; block_number: bigint }>(NEWEST_SOLID);
    return row && { txid: row.txid, blockNumber: Number(row.block_number) };
  });
}
