/**
 * Rules of chain costs and use (I15): a final transaction has its burnt TRX recorded, and the figure equals its receipt;
 * no rental gave more energy than it can have.
 */
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { solidFeesOf } from '../../platform/chain/executed-block.js';
import type { TronClient } from '../../platform/chain/tron.client.js';
import type { Database } from '../../platform/database/database.js';
import { findingOf, type CheckResult, type Finding } from './finding.js';
import { CHECK_LIMIT_MS, type RecordCheck } from './record-check.js';

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

/** Text of equal order, because the driver needs kilobytes for each bytea of an array. */
const COSTS_OF_BLOCKS = `SELECT block_number, string_agg(encode(txid, 'hex'), ',') AS txids, string_agg(order_id::text, ',') AS order_ids,
      string_agg(fee_sun::text, ',') AS fees
    FROM chain_tx WHERE status = 'solid' AND fee_sun IS NOT NULL
   GROUP BY block_number ORDER BY block_number DESC LIMIT $1`;

interface CostsRow {
  readonly block_number: bigint;
  readonly txids: string;
  readonly order_ids: string;
  readonly fees: string;
}

/** Compares the costs of the newest blocks with the receipts of any node that answers. Throws ChainUnavailableError. */
export async function checkCosts(
  database: Database,
  client: TronClient,
  { blocksMax, concurrency, findingsMax }: Readonly<Record<'blocksMax' | 'concurrency' | 'findingsMax', number>>,
): Promise<CheckResult> {
  const statement = { text: COSTS_OF_BLOCKS, query_timeout: CHECK_LIMIT_MS };
  const rows = await database.query<CostsRow>(statement, [blocksMax]);
  const findings: Finding[] = [];
  const { check, rule } = COSTS_ON_CHAIN;
  await forEachConcurrently(rows, concurrency, async ({ block_number: number, txids, order_ids, fees }) => {
    const receipts = await client.pool.ask('receipts of a solid block', (node) => solidFeesOf(node, Number(number)));
    const [orderIds, recorded] = [order_ids.split(','), fees.split(',')];
    for (const [index, txid] of txids.split(',').entries()) {
      const burnt = receipts.get(txid);
      // Another rule reports its absence.
      if (burnt === undefined || burnt.toString() === recorded[index]) continue;
      const facts = { recorded_sun: recorded[index], receipt_sun: burnt };
      const orderId = BigInt(orderIds[index] ?? '0');
      findings.push(findingOf({ check, rule, subject: `transaction ${txid}`, facts, orderId }));
    }
  });
  const covered = `${rows.length.toString()} blocks, newest first`;
  return { ...COSTS_ON_CHAIN, count: findings.length, findings: findings.slice(0, findingsMax), covered };
}
