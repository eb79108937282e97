// False rows that `verify` must find in orders of energy with bandwidth and an activation. `:running`, `:ended` and
// `:refunded` name rows of the history in verify-falsehoods-bundles.test.ts.
import { balanceBy, ORDER, type Plant } from './verify-plants-orders.js';

const RUNNING = `id = :running`;
const OF_RUNNING = `order_id = :running`;
const BANDWIDTH_LEG = `${OF_RUNNING} AND kind = 'bandwidth' AND NOT top_up`;
const TOP_UP = `${OF_RUNNING} AND kind = 'bandwidth' AND top_up`;
const ACTIVATION_LEG = `${OF_RUNNING} AND kind = 'activation'`;
const BANDWIDTH_TX = `leg_id = (SELECT id FROM leg WHERE ${BANDWIDTH_LEG})`;
const ACTIVATION_TX = `${OF_RUNNING} AND purpose = 'activate'`;
const LEG = /^leg \d+ of order \d+$/;
const TRANSACTION = /^transaction [0-9a-f]{64}$/;

export const BUNDLED_ORDERS: readonly Plant[] = [
  [
    'less bandwidth than was asked for, in order and leg',
    [
      `UPDATE orders SET bandwidth = bandwidth - 100, delivered_bandwidth = delivered_bandwidth - 100 WHERE ${RUNNING}`,
      `UPDATE leg SET bandwidth = bandwidth - 100 WHERE ${BANDWIDTH_LEG}`,
    ],
    ['order-request', 'order-said', 'order-stake'],
    ORDER,
  ],
  [
    'more bandwidth delivered than its leg has',
    [`UPDATE orders SET delivered_bandwidth = delivered_bandwidth + 1 WHERE ${RUNNING}`],
    ['order-legs', 'order-said'],
    ORDER,
  ],
  [
    'bandwidth that was never delivered',
    [`UPDATE orders SET delivered_bandwidth = NULL WHERE ${RUNNING}`],
    ['order-legs', 'order-said'],
    ORDER,
  ],
  [
    'a part of the price moved from energy to bandwidth, without its credits',
    [`UPDATE orders SET bandwidth_price_sun = bandwidth_price_sun + 1000 WHERE ${RUNNING}`],
    ['order-parts', 'order-said'],
    ORDER,
  ],
  [
    'a part of the price moved from energy to bandwidth, with its credits',
    [
      `UPDATE orders SET bandwidth_price_sun = bandwidth_price_sun + 1000000,
         bandwidth_credits = bandwidth_credits + trx_usd_e8 / 10 WHERE ${RUNNING}`,
    ],
    ['order-said'],
    ORDER,
  ],
  [
    'more credits of the activation, fewer of energy',
    [`UPDATE orders SET activation_credits = activation_credits + 1 WHERE ${RUNNING}`],
    ['order-parts', 'order-said'],
    ORDER,
  ],
  [
    'an activation that was not asked for',
    [`UPDATE orders SET activation_price_sun = NULL, activation_credits = NULL WHERE ${RUNNING}`],
    ['order-legs', 'order-request', 'order-said', 'orphan-rows'],
    ORDER,
  ],
  [
    'bandwidth that was not asked for',
    [
      `UPDATE orders SET bandwidth = NULL, bandwidth_price_sun = NULL, bandwidth_credits = NULL, delivered_bandwidth = NULL
        WHERE ${RUNNING}`,
    ],
    ['order-legs', 'order-request', 'order-said', 'order-stake', 'orphan-rows'],
    ORDER,
  ],
  [
    'bandwidth that falls short unseen',
    [`UPDATE orders SET sun_per_bandwidth_e6 = sun_per_bandwidth_e6 * 2 WHERE ${RUNNING}`],
    ['order-stake'],
    ORDER,
  ],
  [
    'bandwidth that is never topped up',
    [`UPDATE orders SET sun_per_bandwidth_e6 = NULL WHERE ${RUNNING}`],
    ['order-stake'],
    ORDER,
  ],
  [
    'energy that falls short unseen',
    [`UPDATE orders SET sun_per_energy_e6 = sun_per_energy_e6 * 2 WHERE ${RUNNING}`],
    ['order-stake'],
    ORDER,
  ],
  [
    'an event with other items',
    [
      `UPDATE event SET payload = replace(payload, '"kind":"bandwidth","amount":40000', '"kind":"bandwidth","amount":50000')
        WHERE order_id = :running AND type = 'order.settled'`,
    ],
    ['order-said'],
    ORDER,
  ],
  [
    'an event with another resource of a delegation',
    [
      `UPDATE event SET payload = replace(payload, '"resource":"BANDWIDTH",', '')
        WHERE order_id = :running AND type = 'order.settled'`,
    ],
    ['order-said'],
    ORDER,
  ],
];

export const BUNDLED_LEGS: readonly Plant[] = [
  [
    'a leg of bandwidth that is one of energy',
    [`UPDATE leg SET kind = 'rental' WHERE ${BANDWIDTH_LEG}`],
    ['capacity', 'leg-shape', 'order-said', 'order-stake', 'transaction-content'],
    /^wallet/,
  ],
  [
    'less bandwidth',
    [`UPDATE leg SET bandwidth = bandwidth - 1 WHERE ${BANDWIDTH_LEG}`],
    ['order-legs', 'order-said'],
    ORDER,
  ],
  ['energy of a leg of bandwidth', [`UPDATE leg SET energy = 5 WHERE ${TOP_UP}`], ['leg-shape'], LEG],
  ['a top-up without its bandwidth', [`UPDATE leg SET bandwidth = NULL WHERE ${TOP_UP}`], ['leg-shape'], LEG],
  [
    'bandwidth of an activation',
    [`UPDATE leg SET bandwidth = 5 WHERE ${ACTIVATION_LEG}`],
    ['leg-shape', 'order-legs'],
    LEG,
  ],
  [
    'less stake than its transaction',
    [`UPDATE leg SET amount_sun = amount_sun - 1000 WHERE ${BANDWIDTH_LEG}`],
    ['order-said', 'order-stake', 'transaction-content'],
    ORDER,
  ],
  [
    'a top-up of bandwidth that was sold',
    [`UPDATE leg SET top_up = false, top_up_cause = NULL WHERE ${TOP_UP}`],
    ['order-legs'],
    ORDER,
  ],
  [
    'released though it was delivered',
    [`UPDATE leg SET status = 'released' WHERE ${BANDWIDTH_LEG}`],
    ['leg-shape', 'leg-transactions', 'order-legs', 'order-stake'],
    /./,
  ],
  [
    'running again after its end',
    [`UPDATE leg SET status = 'active' WHERE order_id = :ended AND kind = 'bandwidth'`],
    ['bandwidth', 'leg-transactions'],
    /^wallet/,
  ],
  [
    'an activation that is gone',
    [`DELETE FROM leg WHERE ${ACTIVATION_LEG}`, `DELETE FROM chain_tx WHERE ${ACTIVATION_TX}`],
    ['order-legs'],
    ORDER,
  ],
  [
    'an activation of a pool wallet',
    [
      `UPDATE leg SET wallet_id = (SELECT wallet_id FROM leg WHERE ${BANDWIDTH_LEG}) WHERE ${ACTIVATION_LEG}`,
      `UPDATE chain_tx SET wallet_id = (SELECT wallet_id FROM leg WHERE ${BANDWIDTH_LEG}) WHERE ${ACTIVATION_TX}`,
    ],
    ['orphan-rows', 'transaction-content'],
    /^leg \d+$/,
  ],
];

export const BUNDLED_TRANSACTIONS: readonly Plant[] = [
  [
    'the bytes of the delegation of energy',
    [
      `UPDATE chain_tx t SET raw_data = other.raw_data, expires_at = other.expires_at FROM chain_tx other
        WHERE t.${BANDWIDTH_TX} AND other.leg_id = (SELECT id FROM leg WHERE ${OF_RUNNING} AND kind = 'rental')`,
    ],
    ['transaction-content', 'transaction-id'],
    /./,
  ],
  [
    'a delegation of bandwidth that is an activation',
    [`UPDATE chain_tx SET purpose = 'activate' WHERE ${BANDWIDTH_TX}`],
    ['transaction-content'],
    TRANSACTION,
  ],
  [
    'a delegation of bandwidth that is gone',
    [`DELETE FROM chain_tx WHERE ${BANDWIDTH_TX}`],
    ['leg-transactions', 'order-said', 'order-settled'],
    /./,
  ],
];

export const KEPT_ACTIVATIONS: readonly Plant[] = [
  [
    'all of it returned in the books',
    [
      `UPDATE credit_entry SET credits = credits + (SELECT activation_credits FROM orders WHERE id = :refunded)
        WHERE entry_key = 'refund::refunded'`,
      balanceBy('+', '(SELECT activation_credits FROM orders WHERE id = :refunded)'),
    ],
    ['order-charge'],
    ORDER,
  ],
  [
    'nothing kept',
    [`UPDATE orders SET kept_credits = NULL WHERE id = :refunded`],
    ['order-charge', 'order-said'],
    ORDER,
  ],
  [
    'more kept than the activation, in order and books',
    [
      `UPDATE orders SET kept_credits = kept_credits + 1000 WHERE id = :refunded`,
      `UPDATE credit_entry SET credits = credits - 1000 WHERE entry_key = 'refund::refunded'`,
      balanceBy('-', '1000'),
    ],
    ['order-charge', 'order-said', 'spent-credits'],
    ORDER,
  ],
  [
    'an activation that died after all',
    [
      `UPDATE chain_tx SET status = 'dead', evidence = '{"absences": "none"}' WHERE order_id = :refunded AND purpose = 'activate'`,
    ],
    ['death-evidence', 'leg-transactions', 'order-charge'],
    /./,
  ],
  [
    'kept of an order that runs',
    [`UPDATE orders SET kept_credits = activation_credits WHERE ${RUNNING}`],
    ['order-charge'],
    ORDER,
  ],
  [
    'a day that does not count what is kept',
    [
      `UPDATE credit_account SET spent_credits = spent_credits - (SELECT kept_credits FROM orders WHERE id = :refunded)`,
    ],
    ['spent-credits'],
    /^project/,
  ],
];
