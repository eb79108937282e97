// Planted bugs in records: charges, keys, capacity, the queue of record, finality.
import {
  TRANSACTIONS,
  LEASES,
  ORDERS,
  SETTLEMENT,
  INCLUSION,
  ENDING,
  SQL,
  SCHEMA,
  one,
  SILENCE,
  FOLLOWER,
  FORKS,
  DEATHS,
  unguarded,
  type PlantedBug,
} from './planted-bug.js';

/** The text between a claim's conditions and its order. */
const KNOWN = '\n       AND ${RECOVERY_IS_DONE}\n     ';

export const PLANTED_IN_RECORDS: readonly PlantedBug[] = [
  {
    name: 'the charge moves no balance',
    changes: one(
      SCHEMA,
      'SET balance_credits = a.balance_credits - p_credits,',
      'SET balance_credits = a.balance_credits,',
    ),
  },
  {
    name: 'the charge has no entry',
    changes: one(
      SCHEMA,
      `VALUES ('charge:' || order_id, p_project, CASE WHEN v_test THEN 'test' ELSE 'revenue' END, 'charge', -p_credits, order_id,
          p_api_key, v_charged_at);`,
      `SELECT 'charge:' || order_id, p_project, CASE WHEN v_test THEN 'test' ELSE 'revenue' END, 'charge', -p_credits, order_id,
          p_api_key, v_charged_at WHERE order_id % 4 <> 0;`,
    ),
  },
  {
    name: 'the key makes no difference',
    changes: one('modules/orders/accept-statement.ts', 'purchase.key.value,', 'purchase.key.value + Math.random(),'),
  },
  {
    name: 'a quote buys as often as one likes',
    changes: [
      ...one(SCHEMA, 'CREATE UNIQUE INDEX orders_quote ON', 'CREATE INDEX orders_quote ON'),
      unguarded('orders_quote'),
    ],
  },
  {
    name: 'a key buys as often as one likes',
    changes: [
      {
        file: SCHEMA,
        find: 'CREATE UNIQUE INDEX orders_key ON',
        put: 'CREATE INDEX orders_key ON',
      },
      {
        file: 'modules/orders/replays.ts',
        find: 'key.isGiven && (await this.keyCache',
        put: 'false && (await this.keyCache',
      },
      unguarded('orders_key'),
      ...one(SCHEMA, 'PRIMARY KEY (project_id, key)', 'CHECK (key IS NOT NULL)'),
      ...one(
        SCHEMA,
        'FROM order_key k WHERE k.project_id = p_project AND k.key = p_key AND k.extension IS NULL;',
        'FROM order_key k WHERE k.project_id = p_project AND k.key = p_key AND false;',
      ),
      unguarded('order_key_pkey'),
    ],
  },
  {
    name: 'a lost answer is called a refusal',
    changes: [
      {
        file: 'modules/orders/purchase-outcomes.ts',
        find: `return new ApiError('SERVICE_UNAVAILABLE', words, { key, cause: error, retryAfterSec: 2 });`,
        put: `return new ApiError('CAPACITY_UNAVAILABLE', words, { key, cause: error, retryAfterSec: 2 });`,
      },
      {
        file: 'modules/orders/statement-repeater.ts',
        find: 'const isLost = isConnectionFault(error);',
        put: 'const isLost = false;',
      },
    ],
    first: ['cut after COMMIT'],
    conditions: 'alone',
  },
  {
    name: 'a lease never runs out',
    changes: ['next_run_at', 'id', 'ends_at'].map((order) => ({
      file: LEASES,
      find: `\${IS_FREE}${KNOWN}ORDER BY ${order}`,
      put: `lease_until IS NULL${KNOWN}ORDER BY ${order}`,
    })),
    first: DEATHS,
  },
  {
    name: 'only the queue wakes orders',
    changes: one(
      LEASES,
      `WHERE next_run_at <= statement_timestamp() AND \${IS_FREE}${KNOWN}ORDER BY next_run_at`,
      `WHERE false AND next_run_at IS NOT NULL${KNOWN}ORDER BY next_run_at`,
    ),
    first: ['Redis flushed', 'Redis down'],
  },
  {
    name: 'the next run is forgotten',
    changes: one(LEASES, "ELSE clock_timestamp() + held.delay_ms * interval '1 millisecond' END", 'ELSE NULL END'),
  },
  {
    name: 'final as soon as it is in a block',
    changes: [
      {
        file: FOLLOWER,
        find: 'await this.settlement.settle(current.solid);',
        put: 'await this.settlement.settle(current.head);',
      },
      {
        file: SETTLEMENT,
        find: `import { solidHeaderOf, solidHeadOf, solidPlaceOf, TronClient } from`,
        put: `import { headerOf as solidHeaderOf, solidHeadOf, solidPlaceOf, TronClient } from`,
      },
      {
        file: SETTLEMENT,
        find: `node.blocks.contentOf('solid', header)`,
        put: `node.blocks.contentOf('full', header)`,
      },
    ],
    first: ['fork', 'fork after a broadcast'],
    conditions: 'alone',
  },
  {
    name: 'settled while a leg is not final',
    changes: one(
      ORDERS,
      "SET status = 'delivered', delivered_at",
      "SET status = 'delivered', settled = true, delivered_at",
    ),
    first: FORKS,
  },
  {
    name: 'what is reverted stays where it was',
    changes: one(INCLUSION, 'if (reverted.length === 0)', 'if (reverted.length >= 0)'),
    first: FORKS,
    conditions: 'alone',
  },
  {
    name: 'a refund gives nothing back',
    changes: one(
      SQL,
      "c.contra, 'refund', -c.credits - $4::bigint, c.order_id",
      "'revenue', 'refund', 1 + 0 * $4::bigint, c.order_id",
    ),
    first: ['refused, called accepted', 'accepted, then dropped'],
    conditions: 'alone',
  },
  {
    name: 'delivered whatever arrived',
    changes: [
      { file: ORDERS, find: `HAVING bool_and(status = 'active')) s`, put: `HAVING bool_or(status = 'active')) s` },
      { file: ORDERS, find: `AND (o.kind = 'activation' OR s.energy >= o.energy)`, put: '' },
      { file: ORDERS, find: 'delivered_energy = s.energy', put: 'delivered_energy = o.energy' },
    ],
    first: ['refused in truth', 'accepted, then dropped'],
  },
  {
    name: 'the rental is counted from our clock',
    changes: one(
      ORDERS,
      "ends_at = s.at + o.duration_sec * interval '1 second'",
      "ends_at = clock_timestamp() + o.duration_sec * interval '1 second'",
    ),
  },
  {
    name: 'sent bytes are dropped and built anew',
    changes: [
      {
        file: SCHEMA,
        find: `chain_tx_live ON open_chain_tx (leg_id, purpose) WHERE stage <> 'dead'`,
        put: `chain_tx_live ON open_chain_tx (leg_id, purpose) WHERE stage <> 'dead' AND status <> 'sending'`,
      },
      unguarded('chain_tx_live'),
      {
        file: 'modules/fulfilment/loop/claimed-order.ts',
        find: `tx.status !== 'dead' && tx.status !== 'dropped'`,
        put: `tx.status !== 'dead' && tx.status !== 'dropped' && !(tx.status === 'sending' && tx.ageSec > 1)`,
      },
    ],
    first: SILENCE,
  },
  {
    name: 'no fence and no lease',
    changes: [
      {
        file: LEASES,
        find: 'SET lease_until = due.until, fence = o.fence + 1',
        put: 'SET lease_until = NULL',
      },
      {
        file: TRANSACTIONS,
        find: `ON CONFLICT DO NOTHING RETURNING id, leg_id, purpose`,
        put: `RETURNING id, leg_id, purpose`,
      },
      {
        file: SCHEMA,
        find: 'CREATE UNIQUE INDEX chain_tx_live ON',
        put: 'CREATE INDEX chain_tx_live ON',
      },
      { file: SCHEMA, find: 'UNIQUE (leg_id, purpose, attempt)', put: 'CHECK (true)' },
      unguarded('chain_tx_live'),
      unguarded('chain_tx_leg_id_purpose_attempt_key'),
    ],
    first: ['worker stopped at a point'],
  },
  {
    name: 'a charge does not ask what is there',
    changes: one(SCHEMA, 'OR a.balance_credits - p_credits >= a.floor_credits)', 'OR true)'),
    test: {
      file: 'integration/orders/orders-terms.test.ts',
      title: 'refused orders close no connection to the database and leave nothing behind',
    },
  },
  {
    name: 'the reservation is given back twice',
    changes: one(ENDING, 'SET free_sun = s.free_sun + $3', 'SET free_sun = s.free_sun + $3 + $3'),
    first: ['refused in truth', 'refused, called accepted', 'accepted, then dropped'],
    conditions: 'still pool',
  },
  {
    name: 'capacity is not reserved',
    changes: one(
      SCHEMA,
      'SET free_sun = free_sun - CASE WHEN v_bandwidth THEN 0 ELSE p_amount END,',
      'SET free_sun = free_sun,',
    ),
    first: ['worker killed', 'API killed at a point'],
    conditions: 'still pool',
  },
  {
    name: 'half of the exchanges set the price',
    changes: [
      {
        file: 'modules/billing/rate-sources.ts',
        find: 'Math.floor(configured / 2) + 1',
        put: 'Math.min(2, configured)',
      },
      {
        file: 'modules/billing/rates.ts',
        find: 'const doubt = doubtOf(rate, last, fallback);',
        put: 'const doubt: string | undefined = undefined;',
      },
    ],
    first: ['exchanges that collude'],
    conditions: 'alone',
  },
  {
    name: 'a compensation is booked while the charge may still come back',
    changes: one('modules/billing/compensation.ts', 'if (!isSettled) throw refused(STILL_REFUNDABLE);', ''),
    test: {
      file: 'integration/events/events.test.ts',
      title: 'reports acts on a project: a freeze, its end, and compensations for an order',
    },
  },
];
