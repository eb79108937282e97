/**
 * Rules of chain costs and use (I15): a final transaction has its burnt TRX recorded, and the figure equals its receipt;
 * no rental gave more energy than it can have.
 */
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { solidPlaceOf, type TronClient } from '../../platform/chain/tron.client.js';
import type { Database } from '../../platform/database/database.js';
import { findingOf, type CheckResult, type Finding } from './finding.js';
import type { RecordCheck } from './record-check.js';

/**
 * Compares chain time with chain time, and database time with database time. Otherwise a fast chain, or a clock that
 * was set forward, could make a new transaction look an hour old. Rows without a cost have an index.
 */
export const COSTS_RECORDED: RecordCheck = {
  check: 'chain-costs',
  rule: 'I15',
  says: 'Every transaction that became final over an hour ago has a recorded cost.',
  stops: 'nothing',
  text: `SELECT 'transaction ' || encode(t.txid, 'hex') AS subject, t.order_id AS of_order, t.block_number, t.block_at
      FROM chain_tx t CROSS JOIN deposit_cursor c
     WHERE t.stage = 'uncosted' AND t.fee_sun IS NULL AND t.block_at < c.block_at - interval '1 hour'
       AND t.created_at < clock_timestamp() - interval '1 hour'`,
};

/** TRON: used energy recovers within 24 hours, so a rental gives its amount once more in each day. */
export const RENTAL_USES: RecordCheck = {
  check: 'rental-use',
  rule: 'I15',
  says: 'Used energy belongs to a delivered rental, which can have given as much.',
  stops: 'nothing',
  text: `SELECT 'order ' || u.order_id AS subject, u.order_id AS of_order, u.energy AS used, u.calls, o.energy, o.delivered_at
      FROM rental_use u LEFT JOIN orders o ON o.id = u.order_id
     WHERE (o.kind = 'rental' AND NOT o.test AND u.energy <= o.energy
       * (1 + extract(epoch FROM o.ends_at - o.delivered_at) / 86400)) IS NOT TRUE`,
};

const COSTS_ON_CHAIN = {
  check: 'chain-costs-receipts',
  rule: 'I15',
  says: 'The cost of a final transaction matches its receipt.',
  stops: 'nothing',
} as const;

/** Limits the receipts to those of the newest transactions: each needs one node request. */
const RECEIPTS_MAX = 200;
const CONCURRENT_LOOK_UPS = 4;

const NEWEST_COSTS = `SELECT encode(txid, 'hex') AS txid, order_id, fee_sun
    FROM (SELECT id, txid, order_id, fee_sun, status FROM chain_tx ORDER BY id DESC LIMIT 5000) t
   WHERE status = 'solid' AND fee_sun IS NOT NULL ORDER BY id DESC LIMIT $1`;

/** Compares the newest costs with the receipts of any node that answers. Throws ChainUnavailableError. */
export async function checkCosts(database: Database, client: TronClient, findingsMax: number): Promise<CheckResult> {
  const rows = await database.query<{ txid: string; order_id: bigint; fee_sun: bigint }>(NEWEST_COSTS, [RECEIPTS_MAX]);
  const findings: Finding[] = [];
  const { check, rule } = COSTS_ON_CHAIN;
  await forEachConcurrently(rows, CONCURRENT_LOOK_UPS, async ({ txid, order_id: orderId, fee_sun: recorded }) => {
    const place = await client.pool.ask('a final transaction', (node) => solidPlaceOf(node, txid));
    // Another rule reports its absence.
    if (place === undefined || place.feeSun === recorded) return;
    const facts = { recorded_sun: recorded, receipt_sun: place.feeSun };
    findings.push(findingOf({ check, rule, subject: `transaction ${txid}`, facts, orderId }));
  });
  const covered = `${rows.length.toString()} transactions, newest first`;
  return { ...COSTS_ON_CHAIN, count: findings.length, findings: findings.slice(0, findingsMax), covered };
}
