// Planted bugs in the recorded chain costs.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const costs = (title: string): NamedTest => ({ file: 'long/costs/chain-costs.test.ts', title });

const reports = (title: string): NamedTest => ({ file: 'integration/reports/reports.test.ts', title });

const uses = (title: string): NamedTest => ({ file: 'integration/savings/rental-use.test.ts', title });

const figures = (title: string): NamedTest => ({ file: 'integration/console/console-figures.test.ts', title });

export const PLANTED_COSTS: readonly PlantedBug[] = [
  {
    name: 'an activation costs its bandwidth alone',
    changes: one(
      'platform/chain/executed-block.ts',
      "receipt['fee'] === undefined ? 0n : int64(receipt['fee'])",
      "isJsonObject(receipt['receipt']) ? (int64(receipt['receipt']['net_fee'] ?? 0) ?? 0n) : 0n",
    ),
    test: costs('each delegation and each activation has the cost of its receipt, also where no deposits are in use'),
  },
  {
    name: 'a cost whose row was held while its block was read is forgotten',
    changes: one(
      'modules/costs/cost-recorder.ts',
      'AND fee_sun IS NULL AND id > $1',
      'AND fee_sun IS NULL AND id < $1',
    ),
    test: costs(
      'a row that another session holds while its block is read is looked up later, and nothing is counted twice',
    ),
  },
  {
    name: 'a recorded cost may be changed',
    changes: one(SCHEMA, "IF OLD.status = 'solid' AND OLD.fee_sun IS NULL THEN", "IF OLD.status = 'solid' THEN"),
    test: costs('a recorded cost is never changed'),
  },
  {
    name: 'deposits are read on from where one node had led the cursor',
    changes: one(
      'modules/deposits/deposit-addresses.ts',
      'if (added !== undefined && accounts?.count === 1) await this.blockCursor.restartAt(tx, head);',
      'if (added !== undefined && accounts?.count === 0) await this.blockCursor.restartAt(tx, head);',
    ),
    test: costs('the first account of deposits starts the cursor over, wherever one node had led it; costs go on'),
  },
  {
    name: 'blocks are passed unread while deposits are in use',
    changes: one(
      'platform/blocks/block-follower.ts',
      'if (this.needsWitnesses) return this.readBlocks(lease, height);',
      'if (this.needsWitnesses && height < 0) return this.readBlocks(lease, height);',
    ),
    test: costs('the first account of deposits starts the cursor over, wherever one node had led it; costs go on'),
  },
  {
    name: 'verify does not see that a cost is missing',
    changes: one('modules/verify/cost-checks.ts', 'AND t.fee_sun IS NULL AND', 'AND t.fee_sun < 0 AND'),
    test: costs('verify reports a cost that is missing for long, and one that differs from the receipt'),
  },
  {
    name: 'verify takes every recorded cost for that of the receipt',
    changes: one('modules/verify/cost-checks.ts', 'burnt.toString() === recorded[index]', 'burnt >= 0n'),
    test: costs('verify reports a cost that is missing for long, and one that differs from the receipt'),
  },
  {
    name: 'a report takes the last day with the first moment of the next',
    changes: one(
      'modules/reports/report-sql.ts',
      'e.created_at >= $1 AND e.created_at < $2',
      'e.created_at >= $1 AND e.created_at <= $2',
    ),
    test: reports('each amount by day, project and wallet is that of the ledger, to the last unit'),
  },
  {
    name: 'a report loses what the division of an order among its wallets leaves over',
    changes: one(
      'modules/reports/report-sql.ts',
      'CASE WHEN p.place = 1 THEN p.credits - sum(p.credits_part) OVER item ELSE 0 END AS credits',
      '0 AS credits',
    ),
    test: reports('each amount by day, project and wallet is that of the ledger, to the last unit'),
  },
  {
    name: 'a report counts costs of blocks that may still be reverted',
    changes: one(
      'modules/reports/report-sql.ts',
      " AND t.block_at < $2 AND t.status = 'solid'",
      ' AND t.block_at < $2',
    ),
    test: reports('each amount by day, project and wallet is that of the ledger, to the last unit'),
  },
  {
    name: 'a report of the past says what is owed now',
    changes: one(
      'modules/reports/report-sql.ts',
      'a.balance_credits - coalesce(since.credits, 0)',
      'a.balance_credits - 0 * coalesce(since.credits, 0)',
    ),
    test: reports('the debt at the end of a day is that of the balances then'),
  },
  {
    name: 'an outage counts as idle stake',
    changes: one(
      'modules/pool/wallet-days.ts',
      'AND p.ms > 0 AND p.ms <= $5::bigint',
      'AND p.ms > 0 AND $5::bigint > 0',
    ),
    test: reports('adds up a wallet’s idle and recovering energy by day as it is read, without outages'),
  },
  {
    name: 'a block replaces the energy used before it',
    changes: one(
      'modules/savings/rental-use-recorder.ts',
      'SET energy = rental_use.energy + excluded.energy',
      'SET energy = excluded.energy',
    ),
    test: uses('adds up the staked energy of each call, and counts a block once'),
  },
  {
    name: 'energy used before a rental counts as used of it',
    changes: one('modules/savings/rental-use-recorder.ts', 'AND o.delivered_at <= $4 AND', 'AND'),
    test: uses('counts no use before the rental, and none of an address without one'),
  },
  {
    name: 'the last uses of a rental are lost once it is over',
    changes: one('modules/savings/rental-use-recorder.ts', 'AND l.changed_at > $4', 'AND l.changed_at < $4'),
    test: uses('counts a use of the last blocks although the rental is over when they are read, and none after them'),
  },
  {
    name: 'uses after the end of a rental count until it is archived',
    changes: one('modules/savings/rental-use-recorder.ts', ' AND (o.reclaimed_at IS NULL OR o.reclaimed_at > $4)', ''),
    test: uses('counts a use of the last blocks although the rental is over when they are read, and none after them'),
  },
  {
    name: 'each rental of a receiver counts the whole use',
    changes: one(
      'modules/savings/rental-use-recorder.ts',
      'used - coalesce(sum(room) OVER earlier, 0)',
      'used - coalesce(sum(0) OVER earlier, 0)',
    ),
    test: uses('fills the rental that ends first, up to the energy it can have given, then the next'),
  },
  {
    name: 'verify believes any used energy',
    changes: one('modules/verify/cost-checks.ts', '/ 86400)) IS NOT TRUE', '/ 86400)) IS NULL'),
    test: uses('verify finds a use that the rental cannot have given, and one of no rental'),
  },
  {
    name: 'a saving is claimed for all energy that was rented',
    changes: one('modules/console/order-page.ts', 'savedSun(used, feeSun,', 'savedSun(order.energy ?? used, feeSun,'),
    test: figures(
      'savings are the cost of burning the energy that was used, minus the price, on the home page and the order’s page',
    ),
  },
  {
    name: 'played orders have savings',
    changes: one('modules/console/order-page.ts', ' || order.test || feeSun === undefined', ' || feeSun === undefined'),
    test: figures(
      'savings are the cost of burning the energy that was used, minus the price, on the home page and the order’s page',
    ),
  },
];
