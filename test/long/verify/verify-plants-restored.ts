// More false rows that `verify` must find, as a partial restore or a change by hand leaves them: orders, delegations and
// transactions. The placeholders are those of verify-plants-orders.ts.
import { balanceBy, ORDER, type Plant } from './verify-plants-orders.js';

const RUNNING = `WHERE id = :running`;
const LEG = `WHERE order_id = :running AND NOT top_up`;
const DELEGATE = `WHERE order_id = :running AND purpose = 'delegate' AND status = 'solid'`;
const RECLAIM = `WHERE order_id = :ended AND purpose = 'reclaim'`;
const OF_LEG = /^leg \d+ of order \d+$/;
const TRANSACTION = /^transaction/;
const COPY = `order_id, 8, kind, wallet_id, receive_address, amount_sun, energy`;
const NEW_LEG = `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, top_up)`;

export const RESTORED_ORDERS: readonly Plant[] = [
  [
    'an order created an hour earlier',
    [`UPDATE orders SET created_at = created_at - interval '1 hour' ${RUNNING}`],
    ['order-said'],
    ORDER,
  ],
  [
    'an order for three uses',
    [`UPDATE orders SET expected_uses = 3 ${RUNNING}`],
    ['order-request', 'order-said'],
    ORDER,
  ],
  [
    'an order with another fee limit',
    [`UPDATE orders SET energy_fee_sun = energy_fee_sun * 2 ${RUNNING}`],
    ['order-said'],
    ORDER,
  ],
  ['an order with another reference', [`UPDATE orders SET reference = 'other' ${RUNNING}`], ['order-said'], ORDER],
  ['an order with other metadata', [`UPDATE orders SET metadata = '{"a":"b"}' ${RUNNING}`], ['order-said'], ORDER],
  [
    'an order for a transfer that was not requested',
    [`UPDATE orders SET transfer = '{"to":"T","amount":"1"}' ${RUNNING}`],
    ['order-request'],
    ORDER,
  ],
  [
    'a rental that ended without a time',
    [`UPDATE orders SET reclaimed_at = NULL WHERE id = :ended`],
    ['order-ended', 'order-events'],
    ORDER,
  ],
  [
    'a running rental with a time of its end',
    [`UPDATE orders SET reclaimed_at = ends_at ${RUNNING}`],
    ['order-ended', 'order-events'],
    ORDER,
  ],
  [
    'an order that is due again after it was settled',
    [`UPDATE orders SET settled = false, next_run_at = now() WHERE id = :ended`],
    ['order-history'],
    ORDER,
  ],
  [
    'a rental that runs again after its end, with its leg and transaction',
    [
      `UPDATE orders SET reclaimed_at = NULL WHERE id = :ended`,
      `UPDATE leg SET status = 'active' WHERE order_id = :ended`,
      `UPDATE chain_tx SET status = 'signed', block_number = NULL, block_id = NULL, block_at = NULL, fee_sun = NULL, sends = 0, sent_at = NULL ${RECLAIM}`,
    ],
    ['order-events'],
    ORDER,
  ],
  ['a settled rental that is undone', [`UPDATE orders SET undoing = true ${RUNNING}`], ['order-ended'], ORDER],
  [
    'the key of an order that is gone',
    [`INSERT INTO order_key (project_id, key, order_id) VALUES (':project', 'nothing', 999999)`],
    ['order-twice'],
    /^key nothing/,
  ],
  [
    'an order without its key',
    [`DELETE FROM order_key WHERE order_id = :running AND extension IS NULL`],
    ['order-twice'],
    /^key/,
  ],
  [
    'an order that is gone with entries, legs and transactions',
    [
      balanceBy('-', `(SELECT sum(credits) FROM credit_entry WHERE order_id = :ended)`),
      ...['credit_entry', 'leg', 'chain_tx', 'order_key'].map(
        (table) => `DELETE FROM ${table} WHERE order_id = :ended`,
      ),
      `DELETE FROM orders WHERE id = :ended`,
    ],
    ['event-orders'],
    /^event \d+$/,
  ],
  [
    'an extension that is gone with its charge and time',
    [
      balanceBy('+', `(SELECT -credits FROM credit_entry WHERE entry_key = 'charge::running:ext:1')`),
      `DELETE FROM credit_entry WHERE entry_key = 'charge::running:ext:1'`,
      `DELETE FROM order_key WHERE order_id = :running AND extension IS NOT NULL`,
      `UPDATE orders o SET extensions = 0, ends_at = o.ends_at - x.duration_sec * interval '1 second' FROM order_extension x WHERE x.order_id = o.id`,
      `DELETE FROM order_extension WHERE order_id = :running`,
    ],
    ['order-events', 'order-said'],
    ORDER,
  ],
  [
    'an extension with another fee limit',
    [`UPDATE order_extension SET fee_limit_sun = 1 WHERE order_id = :running`],
    ['order-said'],
    ORDER,
  ],
  [
    'an extension bought an hour earlier',
    [`UPDATE order_extension SET created_at = created_at - interval '1 hour' WHERE order_id = :running`],
    ['order-said'],
    ORDER,
  ],
];

export const RESTORED_LEGS: readonly Plant[] = [
  [
    'closed by an operator who did not act',
    [
      `UPDATE leg SET status = 'reclaimed', closed_at = active_at + interval '1 minute', closed_reason = 'mine' ${LEG}`,
      `UPDATE orders SET reclaimed_at = delivered_at + interval '1 minute' ${RUNNING}`,
    ],
    ['leg-shape', 'order-events'],
    OF_LEG,
    { closed_reason: 'mine' },
  ],
  ['closed while it runs', [`UPDATE leg SET closed_at = now() ${LEG}`], ['leg-shape'], OF_LEG],
  ['closed for a reason without a time', [`UPDATE leg SET closed_reason = 'mine' ${LEG}`], ['leg-shape'], OF_LEG],
  [
    'of another kind',
    [`UPDATE leg SET kind = 'activation' ${LEG}`],
    ['leg-shape', 'order-legs', 'order-stake', 'orphan-rows'],
    /^leg/,
  ],
  [
    'with the cause of a top-up that it is not',
    [`UPDATE leg SET top_up_cause = 'usage' ${LEG}`],
    ['leg-shape'],
    OF_LEG,
  ],
  ['delivered at no time', [`UPDATE leg SET active_at = NULL ${LEG}`], ['order-legs', 'order-times'], /./],
  ['with no energy', [`UPDATE leg SET energy = NULL ${LEG}`], ['leg-shape', 'order-legs', 'order-said'], OF_LEG],
  ['without stake', [`UPDATE leg SET amount_sun = 0 WHERE order_id = :refunded`], ['leg-shape'], OF_LEG],
  ['gone', [`DELETE FROM leg WHERE order_id = :ended`], ['order-legs', 'order-said', 'orphan-rows'], /./],
  ['gone from a refunded order', [`DELETE FROM leg WHERE order_id = :refunded`], ['order-legs'], ORDER],
  [
    'reserved again after the refund',
    [`UPDATE leg SET status = 'reserved' WHERE order_id = :refunded`],
    ['capacity', 'order-forgotten', 'order-legs'],
    /./,
  ],
  [
    'delivered without a transaction',
    [`${NEW_LEG} SELECT ${COPY}, 'active', true FROM leg ${LEG}`],
    ['leg-transactions', 'order-stake'],
    OF_LEG,
  ],
  [
    'reserved for a rental that is over',
    [`${NEW_LEG} SELECT ${COPY}, 'reserved', true FROM leg WHERE order_id = :ended`],
    ['capacity', 'leg-shape', 'order-forgotten'],
    /./,
  ],
  [
    'reserved for a running rental that nobody will look at again',
    [
      `${NEW_LEG} SELECT ${COPY.replace('energy', 'NULL')}, 'reserved', true FROM leg ${LEG}`,
      `UPDATE orders SET next_run_at = NULL ${RUNNING}`,
    ],
    ['order-forgotten', 'order-stake'],
    /./,
  ],
];

/** The end of a rental becomes due again, as if its reclaim was not final. */
const REOPENED = [
  `UPDATE orders SET next_run_at = now() WHERE id = :ended`,
  `UPDATE leg SET status = 'reclaiming' WHERE order_id = :ended`,
];

export const RESTORED_TRANSACTIONS: readonly Plant[] = [
  [
    'on its way again with its block',
    [...REOPENED, `UPDATE chain_tx SET status = 'sending' ${RECLAIM}`],
    ['transaction-shape'],
    TRANSACTION,
  ],
  [
    'unsent again with its signature',
    [...REOPENED, `UPDATE chain_tx SET status = 'built', block_number = NULL, fee_sun = NULL ${RECLAIM}`],
    ['transaction-shape'],
    TRANSACTION,
  ],
  [
    'on its way again with the proof of its death',
    [
      ...REOPENED,
      `UPDATE chain_tx SET status = 'sending', block_number = NULL, fee_sun = NULL, evidence = '{}' ${RECLAIM}`,
    ],
    ['transaction-shape'],
    TRANSACTION,
  ],
  [
    'not final hours after its block',
    [
      ...REOPENED,
      `UPDATE chain_tx SET status = 'included', created_at = created_at - interval '3 hours' ${RECLAIM}`,
      `INSERT INTO deposit_cursor (block_number, block_id, block_at) VALUES (1, sha256('block'), now() + interval '3 hours')`,
    ],
    ['transaction-late'],
    TRANSACTION,
  ],
  ['in another block', [`UPDATE chain_tx SET block_id = sha256('x') ${DELEGATE}`], ['transaction-shape'], TRANSACTION],
  [
    'in the next block',
    [`UPDATE chain_tx SET block_number = block_number + 1 ${DELEGATE}`],
    ['transaction-shape'],
    TRANSACTION,
  ],
  [
    'final in no block',
    [`UPDATE chain_tx SET block_number = NULL, block_id = NULL ${DELEGATE}`],
    ['transaction-shape'],
    TRANSACTION,
  ],
  [
    'reclaimed in the block of another delivery',
    [`UPDATE chain_tx SET block_number = (SELECT block_number FROM chain_tx ${DELEGATE}) ${RECLAIM}`],
    ['transaction-shape'],
    TRANSACTION,
  ],
  [
    'sent without a signature',
    [`UPDATE chain_tx SET signature = NULL ${DELEGATE}`],
    ['transaction-shape'],
    TRANSACTION,
  ],
  [
    'with a signature that is too long',
    [`UPDATE chain_tx SET signature = signature || '\\x00' ${DELEGATE}`],
    ['transaction-shape'],
    TRANSACTION,
  ],
  ['with a cost below 0', [`UPDATE chain_tx SET fee_sun = -1 ${DELEGATE}`], ['transaction-shape'], TRANSACTION],
  [
    'expiring an hour earlier than its bytes',
    [`UPDATE chain_tx SET expires_at = expires_at - interval '1 hour' ${DELEGATE}`],
    ['transaction-content'],
    TRANSACTION,
  ],
  [
    'built upon a later block than its own',
    [`UPDATE chain_tx SET ref_block_number = ref_block_number + 1000 ${DELEGATE}`],
    ['transaction-shape'],
    TRANSACTION,
  ],
  ['of attempt 0', [`UPDATE chain_tx SET attempt = 0 ${DELEGATE}`], ['transaction-shape'], TRANSACTION],
  [
    'dropped though it is final',
    [`UPDATE chain_tx SET status = 'dropped' ${DELEGATE}`],
    ['leg-transactions', 'order-settled'],
    /./,
  ],
  [
    'given up without a proof',
    [
      `INSERT INTO chain_tx (order_id, leg_id, wallet_id, purpose, attempt, txid, raw_data, ref_block_number, expires_at, status, signature, evidence)
       SELECT order_id, leg_id, wallet_id, purpose, 5, sha256('a'), 'a', ref_block_number, expires_at, 'dead', signature, '{}' FROM chain_tx ${DELEGATE}`,
    ],
    ['death-evidence', 'transaction-content'],
    TRANSACTION,
  ],
];
