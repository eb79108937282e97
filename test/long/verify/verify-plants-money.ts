// False rows that `verify` must find: ledger, deposits, events, accounts and auto-delegations.
import { balanceBy, CHARGE, ORDER, PROJECT, type Plant } from './verify-plants-orders.js';

const DEPOSIT = `id = (SELECT min(id) FROM deposit WHERE status = 'credited')`;
const RETURNED = `entry_key LIKE 'adjustment:deposit-%-returned'`;
const NEW_ENTRY = `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, order_id)`;

export const LEDGER: readonly Plant[] = [
  [
    'play money in a live project',
    [`${NEW_ENTRY} VALUES ('topup:play', ':project', 'test', 'topup', 5, 'x', 'y', NULL)`, balanceBy('+', '5')],
    ['ledger-acts', 'ledger-shape'],
    /^entry \d+$/,
  ],
  [
    'a charge that is play money',
    [`UPDATE credit_entry SET contra = 'test' WHERE ${CHARGE}`],
    ['ledger-shape', 'test-orders'],
    /^entry \d+$/,
    { should_be: 'revenue, below 0' },
  ],
  [
    'a top-up without an act',
    [
      `${NEW_ENTRY} VALUES ('topup:mine', ':project', 'funding', 'topup', 5000, 'x', 'y', NULL)`,
      balanceBy('+', '5000'),
    ],
    ['ledger-acts'],
    /^entry \d+$/,
  ],
  [
    'more than the act said',
    [
      `UPDATE credit_entry SET credits = credits * 10 WHERE entry_key = 'topup:first-:project'`,
      balanceBy('+', `(SELECT credits * 9 / 10 FROM credit_entry WHERE entry_key = 'topup:first-:project')`),
    ],
    ['ledger-acts'],
    /^entry \d+$/,
  ],
  [
    'a top-up below nothing',
    [`${NEW_ENTRY} VALUES ('topup:less', ':project', 'funding', 'topup', -5, 'x', 'y', NULL)`, balanceBy('-', '5')],
    ['ledger-acts', 'ledger-shape'],
    /^entry \d+$/,
    { credits: '-5' },
  ],
  [
    'a top-up out of revenue',
    [`UPDATE credit_entry SET contra = 'revenue' WHERE entry_key = 'topup:first-:project'`],
    ['ledger-shape'],
    /^entry \d+$/,
    { should_be: 'funding, above 0' },
  ],
  [
    'an adjustment without an act',
    [
      `${NEW_ENTRY} VALUES ('adjustment:mine', ':project', 'adjustments', 'adjustment', 5000, 'x', 'y', NULL)`,
      balanceBy('+', '5000'),
    ],
    ['ledger-acts'],
    /^entry \d+$/,
  ],
  [
    'a compensation without an act',
    [
      `${NEW_ENTRY} VALUES ('compensation::running:2', ':project', 'revenue', 'compensation', 60, 'x', 'y', :running)`,
      balanceBy('+', '60'),
    ],
    ['ledger-acts'],
    /^entry \d+$/,
  ],
  [
    'more given back than was charged',
    [`UPDATE credit_entry SET credits = 90000000000 WHERE kind = 'compensation'`, balanceBy('+', '89999999950')],
    ['ledger-acts', 'order-compensation'],
    /./,
  ],
  [
    'a refund of an order that runs',
    [
      `${NEW_ENTRY} VALUES ('refund::running', ':project', 'revenue', 'refund', 5, NULL, NULL, :running)`,
      balanceBy('+', '5'),
    ],
    ['order-charge'],
    ORDER,
  ],
  [
    'an entry removed, and the balance with it',
    [balanceBy('+', `(SELECT -credits FROM credit_entry WHERE ${CHARGE})`), `DELETE FROM credit_entry WHERE ${CHARGE}`],
    ['order-charge'],
    ORDER,
  ],
  [
    'an entry of another project',
    [`UPDATE credit_entry SET project_id = gen_random_uuid() WHERE ${CHARGE}`],
    ['ledger-balance', 'ledger-entry'],
    /./,
  ],
  ['a balance without an entry', [balanceBy('+', '1000')], ['ledger-balance'], /^project/],
  [
    'an approval without its entry',
    [balanceBy('-', '700'), `DELETE FROM credit_entry WHERE entry_key = 'topup:asked-1'`],
    ['credit-requests', 'ledger-acts'],
    /^credit request/,
    { should_be: '700' },
  ],
  [
    'an approval for more than was booked',
    [`UPDATE credit_request SET credits = credits * 2`],
    ['credit-requests'],
    /^credit request/,
  ],
  [
    'a rejected request that was booked is said to be approved by nobody',
    [`DELETE FROM audit_log WHERE action = 'credits.approve'`],
    ['credit-requests'],
    /^credit request/,
  ],
];

export const DEPOSITS: readonly Plant[] = [
  [
    'ignored after it was credited, with entry and balance removed',
    [
      balanceBy('-', '60000000'),
      `DELETE FROM credit_entry WHERE entry_key = (SELECT entry_key FROM deposit WHERE ${DEPOSIT})`,
      `UPDATE deposit SET status = 'ignored', reason = 'no', entry_key = NULL, credits = NULL WHERE ${DEPOSIT}`,
    ],
    ['deposit-ignored', 'deposit-said'],
    /^deposit \d+$/,
  ],
  [
    'a return without its adjustment',
    [balanceBy('+', '60000000'), `DELETE FROM credit_entry WHERE ${RETURNED}`],
    ['deposit-return-credits'],
    /^deposit \d+$/,
    { should_be: '-60000000' },
  ],
  [
    'a return for less',
    [balanceBy('+', '1'), `UPDATE credit_entry SET credits = credits + 1 WHERE ${RETURNED}`],
    ['deposit-return-credits'],
    /^deposit \d+$/,
  ],
  ['an adjustment for a return that is not there', [`DELETE FROM deposit_return`], ['ledger-acts'], /^entry \d+$/],
  [
    'a return that took nothing off',
    [`UPDATE deposit_return SET entry_key = NULL`],
    ['deposit-return-credits', 'ledger-acts'],
    /./,
  ],
  [
    'ten times the amount',
    [`UPDATE deposit SET amount = amount * 10 WHERE ${DEPOSIT}`],
    ['deposit-credits', 'deposit-said'],
    /^deposit \d+$/,
  ],
  [
    'more credits',
    [`UPDATE deposit SET credits = credits + 1 WHERE ${DEPOSIT}`],
    ['deposit-said', 'ledger-entry'],
    /^deposit \d+$/,
  ],
  [
    'of another payer',
    [`UPDATE deposit SET from_address = 'TThief' WHERE ${DEPOSIT}`],
    ['deposit-said'],
    /^deposit \d+$/,
  ],
  [
    'another asset',
    [`UPDATE deposit SET asset = 'USDT', kind = 'log' WHERE ${DEPOSIT}`],
    ['deposit-said', 'ledger-entry'],
    /./,
  ],
  [
    'a transaction that paid nothing',
    [`UPDATE deposit SET txid = sha256(txid) WHERE ${DEPOSIT}`],
    ['deposit-said', 'ledger-entry'],
    /./,
  ],
  ['a deposit that is gone', [`DELETE FROM deposit WHERE ${DEPOSIT}`], ['deposit-said', 'ledger-entry'], /./],
  [
    'ignored by nobody',
    [`DELETE FROM audit_log WHERE action = 'deposits.ignore'`],
    ['deposit-ignored'],
    /^deposit \d+$/,
  ],
  [
    'waiting again',
    [`UPDATE deposit SET status = 'pending', reason = 'no_rate', rate_e8 = NULL WHERE status = 'ignored'`],
    ['deposit-said'],
    /^deposit \d+$/,
  ],
];

const EVENT = (type: string): string =>
  `type = '${type}' AND payload IS NOT NULL AND (order_id = :running OR order_id IS NULL)`;
const SAYS = (path: string, value: string, type = 'order.settled'): string =>
  `UPDATE event SET payload = jsonb_set(payload::jsonb, '${path}', '${value}')::text WHERE ${EVENT(type)}`;
export const EVENTS: readonly Plant[] = [
  ['an event with another price', [SAYS('{data,order,credits}', '1')], ['order-said'], ORDER],
  ['an event with another price in dollars', [SAYS('{data,order,price_usd}', '"0.000001"')], ['order-said'], ORDER],
  ['an event with another receiver', [SAYS('{data,order,receive_address}', '"T"')], ['order-said'], ORDER],
  ['an event with another status', [SAYS('{data,order,status}', '"refunded"')], ['order-said'], ORDER],
  [
    'an event with another time of delivery',
    [SAYS('{data,order,delivered_at}', '"2026-01-01T00:00:00.000Z"')],
    ['order-said'],
    ORDER,
  ],
  ['an event of another type', [SAYS('{type}', '"order.refunded"')], ['event-says'], /^event \d+ of/],
  ['an event of another time', [SAYS('{timestamp}', '"2026-01-01T00:00:00.000Z"')], ['event-says'], /^event \d+ of/],
  ['an event of another position', [SAYS('{position}', '999')], ['event-says'], /^event \d+ of/],
  ['an event under another id', [SAYS('{id}', '"evt_1"')], ['event-says'], /^event \d+ of/],
  [
    'an event without what it is about',
    [`UPDATE event SET payload = (payload::jsonb - 'data')::text WHERE ${EVENT('order.settled')}`],
    ['event-says'],
    /^event \d+ of/,
  ],
  [
    'a deposit’s event with another amount',
    [SAYS('{data,deposit,amount}', '"1.000000"', 'deposit.credited')],
    ['deposit-said'],
    /^deposit \d+$/,
  ],
  [
    'an event that lost what it said',
    [`UPDATE event SET payload = NULL WHERE ${EVENT('order.settled')}`],
    ['event-pruned'],
    /^project/,
  ],
  [
    'a log that ends ahead of what is readable',
    [`UPDATE event_position SET pruned_to = pruned_to + 4 WHERE ${PROJECT}`],
    ['event-pruned'],
    /^project/,
  ],
  [
    'a log that ends at nothing',
    [`UPDATE event_position SET pruned_to = position + 1 WHERE ${PROJECT}`],
    ['event-pruned'],
    /^project/,
  ],
  [
    'an event that is gone',
    [`DELETE FROM event WHERE ${EVENT('order.settled')}`],
    ['event-positions', 'order-events'],
    /./,
  ],
  [
    'a delivery of another event',
    [`UPDATE webhook_delivery SET event_key = 'evt_other'`],
    ['delivery-events'],
    /^delivery \d+$/,
  ],
  [
    'a delivery of another type',
    [`UPDATE webhook_delivery SET type = 'order.delivered'`],
    ['delivery-events'],
    /^delivery \d+$/,
  ],
  [
    'a delivery of another position',
    [`UPDATE webhook_delivery SET position = position + 1`],
    ['delivery-events'],
    /^delivery \d+$/,
  ],
  [
    'delivered though it was refused',
    [`UPDATE webhook_delivery SET answer_status = 500`],
    ['delivery-events'],
    /^delivery \d+$/,
  ],
  ['delivered without an attempt', [`UPDATE webhook_delivery SET attempts = 0`], ['delivery-events'], /^delivery \d+$/],
  [
    'events of another project delivered',
    [`UPDATE webhook_endpoint SET project_id = gen_random_uuid()`],
    ['delivery-events'],
    /^delivery \d+$/,
  ],
];

export const ACCOUNTS: readonly Plant[] = [
  [
    'nothing spent today',
    [`UPDATE credit_account SET spent_credits = 0 WHERE ${PROJECT}`],
    ['spent-credits'],
    /^project/,
  ],
  [
    'a little less spent today',
    [`UPDATE credit_account SET spent_credits = spent_credits - 1 WHERE ${PROJECT}`],
    ['spent-credits'],
    /^project/,
  ],
  [
    'nothing spent by the key',
    [`UPDATE api_key SET spent_credits = 0 WHERE id = ':project'`],
    ['spent-credits'],
    /^key/,
  ],
  [
    'debt without limit',
    [`UPDATE credit_account SET floor_credits = NULL WHERE ${PROJECT}`],
    ['account-terms'],
    /^project/,
  ],
  [
    'more debt than was allowed',
    [`UPDATE credit_account SET floor_credits = floor_credits * 10 WHERE ${PROJECT}`],
    ['account-terms'],
    /^project/,
  ],
  [
    'prepaid by nobody’s act',
    [`UPDATE credit_account SET is_postpaid = false, floor_credits = 0 WHERE ${PROJECT}`],
    ['account-terms'],
    /^project/,
  ],
  [
    'no daily cap',
    [`UPDATE credit_account SET daily_cap_credits = NULL WHERE ${PROJECT}`],
    ['account-terms'],
    /^project/,
  ],
  ['frozen by nobody', [`UPDATE credit_account SET frozen = true WHERE ${PROJECT}`], ['account-terms'], /^project/],
  [
    'a revoked key that lives',
    [`UPDATE api_key SET revoked_at = NULL WHERE revoked_at IS NOT NULL`],
    ['revoked-keys'],
    /^key/,
  ],
  [
    'a live project that is a test',
    [`UPDATE project SET test = true WHERE id = ':project'`],
    ['event-says', 'ledger-shape', 'test-orders', 'test-projects'],
    /./,
  ],
  ['an account that is gone', [`DELETE FROM credit_account WHERE ${PROJECT}`], ['ledger-balance'], /^project/],
];

export const REFILLS: readonly Plant[] = [
  [
    'a purchase forgotten',
    [`UPDATE auto_delegation SET purchases = purchases - 1`],
    ['auto-delegation-numbers', 'auto-delegation-purchases'],
    /./,
  ],
  [
    'a purchase that was none',
    [`UPDATE auto_delegation SET purchases = purchases + 1`],
    ['auto-delegation-numbers', 'auto-delegation-purchases'],
    /./,
  ],
  ['nothing spent today', [`UPDATE auto_delegation SET spent_credits = 0`], ['spent-credits'], /^auto-delegation/],
  [
    'another open order',
    [`UPDATE auto_delegation SET open_order_id = :running`],
    ['auto-delegation-numbers'],
    /^auto-delegation/,
  ],
  [
    'of another project',
    [`UPDATE auto_delegation SET project_id = gen_random_uuid()`],
    ['auto-delegation-numbers'],
    /./,
  ],
  [
    'for another address',
    [`UPDATE auto_delegation SET address = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF'`],
    ['auto-delegation-purchases'],
    ORDER,
  ],
];
