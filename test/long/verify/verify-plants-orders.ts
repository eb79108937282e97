// False rows that `verify` must find: orders, delegations, transactions and wallets. `:running`, `:ended`, `:refunded`
// and `:project` name rows of the history (test/long/verify/verify-history.ts).

/** Name, statements, and the checks that must find it; for the first check the row and the expected details. */
export type Plant = readonly [
  what: string,
  statements: readonly string[],
  checks: readonly string[],
  subject: RegExp,
  says?: object,
];

const RUNNING = `id = :running`;
export const CHARGE = `entry_key = 'charge::running'`;
export const PROJECT = `project_id = ':project'`;
export const balanceBy = (sign: '+' | '-', amount: string): string =>
  `UPDATE credit_account SET balance_credits = balance_credits ${sign} ${amount} WHERE ${PROJECT}`;
export const ORDER = /^order \d+$/;
const LEG = `order_id = :running AND NOT top_up`;

export const ORDERS: readonly Plant[] = [
  [
    'more credits than the price is worth, charged too',
    [
      `UPDATE orders SET credits = credits + 1 WHERE ${RUNNING}`,
      `UPDATE credit_entry SET credits = credits - 1 WHERE ${CHARGE}`,
      balanceBy('-', '1'),
    ],
    ['order-price', 'order-said', 'spent-credits'],
    ORDER,
  ],
  [
    'ten times the price',
    [`UPDATE orders SET price_sun = price_sun * 10 WHERE ${RUNNING}`],
    ['order-price', 'order-said'],
    ORDER,
  ],
  [
    'an activation that was never asked for',
    [`UPDATE orders SET activation_price_sun = 1, activation_credits = 1 WHERE ${RUNNING}`],
    ['order-legs', 'order-parts', 'order-request', 'order-said'],
    ORDER,
  ],
  [
    'a refund that keeps a share for an activation which was not made',
    [`UPDATE orders SET kept_credits = 1 WHERE id = :refunded`],
    ['order-charge', 'order-said'],
    ORDER,
  ],
  [
    'another reason of a refund',
    [`UPDATE orders SET error = 'It was delivered.' WHERE id = :refunded`],
    ['order-error'],
    ORDER,
  ],
  [
    'the error of an unresolved order at a refunded one',
    [`UPDATE orders SET error_code = 'SUPPLIER_UNKNOWN' WHERE id = :refunded`],
    ['order-error'],
    ORDER,
  ],
  ['an error at a delivered order', [`UPDATE orders SET error = 'Late.' WHERE ${RUNNING}`], ['order-error'], ORDER],
  [
    'another rate',
    [`UPDATE orders SET trx_usd_e8 = trx_usd_e8 + 100 WHERE ${RUNNING}`],
    ['order-price', 'order-said'],
    ORDER,
  ],
  [
    'ten times the price, rate and credits, charged too',
    [
      `UPDATE orders SET price_sun = price_sun * 10, credits = credits * 10 WHERE ${RUNNING}`,
      `UPDATE credit_entry SET credits = credits * 10 WHERE ${CHARGE}`,
      balanceBy('-', `(SELECT -credits * 9 / 10 FROM credit_entry WHERE ${CHARGE})`),
    ],
    ['order-said', 'spent-credits'],
    ORDER,
  ],
  [
    'ten times the duration, and the end moved by it',
    [
      `UPDATE orders SET duration_sec = duration_sec * 10, ends_at = ends_at + duration_sec * 9 * interval '1 second' WHERE ${RUNNING}`,
      `UPDATE order_extension SET ends_at = ends_at + 86400 * 9 * interval '1 second' WHERE order_id = :running`,
    ],
    ['order-request', 'order-said'],
    ORDER,
  ],
  [
    'a delivery an hour after its block',
    [
      `UPDATE orders SET delivered_at = delivered_at + interval '1 hour', ends_at = ends_at + interval '1 hour' WHERE ${RUNNING}`,
      `UPDATE leg SET active_at = active_at + interval '1 hour' WHERE order_id = :running`,
      `UPDATE order_extension SET ends_at = ends_at + interval '1 hour' WHERE order_id = :running`,
    ],
    ['order-said', 'order-times'],
    ORDER,
  ],
  [
    'a reclaim an hour after its block',
    [`UPDATE orders SET reclaimed_at = reclaimed_at + interval '1 hour' WHERE id = :ended`],
    ['order-times'],
    ORDER,
  ],
  [
    'less energy than was asked for, in order and leg',
    [
      `UPDATE orders SET energy = energy - 1000, delivered_energy = delivered_energy - 1000 WHERE ${RUNNING}`,
      `UPDATE leg SET energy = energy - 1000 WHERE order_id = :running`,
    ],
    ['order-request', 'order-said', 'order-stake'],
    ORDER,
  ],
  [
    'more energy delivered than its leg has',
    [`UPDATE orders SET delivered_energy = delivered_energy + 1 WHERE ${RUNNING}`],
    ['order-legs', 'order-said'],
    ORDER,
  ],
  [
    'another receiver',
    [`UPDATE orders SET receive_address = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF' WHERE ${RUNNING}`],
    ['order-request', 'order-said', 'orphan-rows'],
    ORDER,
  ],
  [
    'another project',
    [`UPDATE orders SET project_id = gen_random_uuid() WHERE ${RUNNING}`],
    ['ledger-entry', 'order-twice'],
    /^entry \d+$/,
  ],
  [
    'another key',
    [`UPDATE orders SET key = key || 'x' WHERE ${RUNNING}`],
    ['order-request', 'order-said', 'order-twice'],
    /^(order|extension 1 of order) \d+$/,
  ],
  [
    'a refund that was never booked',
    [`UPDATE orders SET status = 'refunded' WHERE id = :ended`],
    ['order-charge', 'order-events', 'order-history'],
    ORDER,
  ],
  [
    'a refund that was undone',
    [`UPDATE orders SET status = 'delivered', delivered_at = now() WHERE id = :refunded`],
    ['order-charge', 'order-error', 'order-events', 'order-history', 'order-legs', 'order-stake'],
    ORDER,
  ],
  [
    'an order that nobody will look at again',
    [`UPDATE orders SET settled = false WHERE ${RUNNING}`],
    ['order-extensions', 'order-forgotten', 'order-history'],
    ORDER,
  ],
  [
    'an extension for less',
    [`UPDATE order_extension SET price_sun = price_sun / 2 WHERE order_id = :running`],
    ['order-price'],
    /^extension 1 of order \d+$/,
  ],
  [
    'a longer extension',
    [
      `UPDATE order_extension SET duration_sec = duration_sec + 60, ends_at = ends_at + interval '1 minute' WHERE order_id = :running`,
      `UPDATE orders SET ends_at = ends_at + interval '1 minute' WHERE ${RUNNING}`,
    ],
    ['order-request', 'order-said'],
    /^extension 1 of order \d+$/,
  ],
  [
    'an extension for more uses',
    [`UPDATE order_extension SET expected_uses = 2 WHERE order_id = :running`],
    ['order-request'],
    /^extension 1 of order \d+$/,
  ],
  [
    'an extension forgotten',
    [`UPDATE orders SET extensions = 0 WHERE ${RUNNING}`],
    ['order-events', 'order-extensions'],
    ORDER,
  ],
];

const DELEGATE = `order_id = :running AND purpose = 'delegate' AND status = 'solid'`;
export const LEGS: readonly Plant[] = [
  [
    'less stake than its transaction',
    [`UPDATE leg SET amount_sun = amount_sun - 1000000 WHERE ${LEG}`],
    ['order-said', 'order-stake', 'transaction-content'],
    ORDER,
  ],
  ['less energy', [`UPDATE leg SET energy = energy - 1 WHERE ${LEG}`], ['order-legs', 'order-said'], ORDER],
  [
    'delivered earlier',
    [`UPDATE leg SET active_at = active_at - interval '1 minute' WHERE ${LEG}`],
    ['order-legs', 'order-times'],
    /./,
  ],
  [
    'delivered to another',
    [`UPDATE leg SET receive_address = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF' WHERE ${LEG}`],
    ['orphan-rows', 'transaction-content'],
    /./,
  ],
  [
    'of another wallet',
    [`UPDATE leg SET wallet_id = CASE wallet_id WHEN 1 THEN 2 ELSE 1 END WHERE ${LEG}`],
    ['capacity', 'orphan-rows'],
    /./,
  ],
  [
    'reclaimed while it runs',
    [`UPDATE leg SET status = 'reclaimed' WHERE ${LEG}`],
    ['leg-transactions', 'order-ended'],
    /^leg/,
  ],
  [
    'released though it was delivered',
    [`UPDATE leg SET status = 'released' WHERE ${LEG}`],
    ['leg-shape', 'leg-transactions', 'order-legs', 'order-stake'],
    /./,
  ],
  ['a top-up that was sold', [`UPDATE leg SET top_up = true WHERE ${LEG}`], ['order-legs'], ORDER],
  [
    'running again after its end',
    [`UPDATE leg SET status = 'active' WHERE order_id = :ended`],
    ['leg-transactions'],
    /^leg/,
  ],
  [
    'ended by nobody',
    [`UPDATE leg SET closed_at = now(), closed_by_txid = sha256('nobody') WHERE order_id = :ended`],
    ['closed-legs', 'leg-transactions'],
    /./,
  ],
  [
    'of another order',
    [`UPDATE leg SET order_id = :refunded, leg_no = 9 WHERE ${LEG}`],
    ['order-legs', 'order-stake', 'orphan-rows'],
    /./,
  ],
  [
    'delivered again',
    [`UPDATE leg SET status = 'placed' WHERE ${LEG}`],
    ['capacity', 'leg-shape', 'leg-transactions', 'order-forgotten', 'order-legs'],
    /./,
  ],
];

export const TRANSACTIONS: readonly Plant[] = [
  [
    'a block an hour later',
    [`UPDATE chain_tx SET block_at = block_at + interval '1 hour' WHERE ${DELEGATE}`],
    ['order-times'],
    /^leg/,
  ],
  [
    'dead though it is solid',
    [`UPDATE chain_tx SET status = 'dead', evidence = '{"absences": "none"}' WHERE ${DELEGATE}`],
    ['death-evidence', 'leg-transactions', 'order-settled'],
    /./,
  ],
  ['not final any more', [`UPDATE chain_tx SET status = 'included' WHERE ${DELEGATE}`], ['order-settled'], /^order/],
  [
    'other bytes',
    [`UPDATE chain_tx SET raw_data = raw_data || '\\x00' WHERE ${DELEGATE}`],
    ['transaction-content', 'transaction-id'],
    /./,
  ],
  [
    'another id',
    [`UPDATE chain_tx SET txid = sha256(txid) WHERE ${DELEGATE}`],
    ['order-said', 'transaction-id'],
    ORDER,
  ],
  [
    'of another order',
    [`UPDATE chain_tx SET order_id = :refunded WHERE ${DELEGATE}`],
    ['order-refunded', 'order-said', 'orphan-rows'],
    /./,
  ],
  [
    'another purpose',
    [`UPDATE chain_tx SET purpose = 'reclaim' WHERE ${DELEGATE}`],
    ['leg-transactions', 'order-settled', 'reclaim-early', 'transaction-content'],
    /./,
  ],
  ['of another wallet', [`UPDATE chain_tx SET wallet_id = wallet_id + 1000 WHERE ${DELEGATE}`], ['orphan-rows'], /./],
  [
    'a reclaim before the end',
    [
      `UPDATE chain_tx SET block_at = block_at - interval '1 hour' WHERE order_id = :ended AND purpose = 'reclaim'`,
      `UPDATE orders SET reclaimed_at = reclaimed_at - interval '1 hour' WHERE id = :ended`,
    ],
    ['reclaim-early'],
    ORDER,
  ],
  [
    'a reclaim that is gone',
    [`DELETE FROM chain_tx WHERE order_id = :ended AND purpose = 'reclaim'`],
    ['leg-transactions'],
    /^leg/,
  ],
  [
    'a delivery that is gone',
    [`DELETE FROM chain_tx WHERE ${DELEGATE}`],
    ['leg-transactions', 'order-said', 'order-settled'],
    /./,
  ],
];

export const WALLETS: readonly Plant[] = [
  ['another role', [`UPDATE pool_wallet SET role = 'activation' WHERE role = 'pool'`], ['orphan-rows'], /./],
  [
    'another address',
    [
      `UPDATE pool_wallet SET address = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF' WHERE id = (SELECT wallet_id FROM leg WHERE ${LEG})`,
    ],
    ['transaction-content'],
    /./,
  ],
  [
    'a wallet that is gone',
    [`DELETE FROM pool_wallet WHERE id = (SELECT wallet_id FROM leg WHERE ${LEG})`],
    ['orphan-rows'],
    /./,
  ],
  [
    'more free than is staked',
    [`UPDATE pool_slot SET free_sun = free_sun + 10000000000000 WHERE wallet_id = 1 AND slot_no = 1`],
    ['capacity'],
    /^wallet/,
  ],
  [
    'bandwidth that nothing pays for',
    [`UPDATE pool_slot SET free_transactions = free_transactions + 1000000000 WHERE wallet_id = 1 AND slot_no = 1`],
    ['bandwidth'],
    /^wallet/,
  ],
  [
    'more bandwidth for sale than is staked',
    [`UPDATE pool_slot SET free_bandwidth_sun = 10000000000000 WHERE wallet_id = 1 AND slot_no = 1`],
    ['bandwidth-stake'],
    /^wallet/,
  ],
];
