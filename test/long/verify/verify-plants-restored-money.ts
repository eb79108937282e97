// More false rows that `verify` must find, as a partial restore or a change by hand leaves them: ledger, deposits, events,
// deliveries, accounts, keys and auto-delegations. The placeholders are those of verify-plants-orders.ts.
import { balanceBy, ORDER, PROJECT, type Plant } from './verify-plants-orders.js';

const CHARGE = `WHERE entry_key = 'charge::running'`;
const TOP_UP = `entry_key = 'topup:first-:project'`;
const REFUND = `entry_key = 'refund::refunded'`;
const DEPOSIT = `WHERE id = (SELECT min(id) FROM deposit WHERE status = 'credited')`;
const OF_DEPOSIT = `WHERE entry_key = (SELECT entry_key FROM deposit ${DEPOSIT})`;
const A_DEPOSIT = /^deposit \d+$/;
const A_REQUEST = /^credit request/;
const AN_EVENT = /^event \d+ of/;
const A_DELIVERY = /^delivery \d+$/;
const REVOKED = `WHERE revoked_at IS NOT NULL`;

export const RESTORED_LEDGER: readonly Plant[] = [
  [
    'a charge to a key of nobody',
    [`UPDATE credit_entry SET api_key_id = gen_random_uuid() ${CHARGE}`],
    ['ledger-entry'],
    /^entry/,
  ],
  [
    'a top-up by another operator',
    [`UPDATE credit_entry SET actor = 'someone' WHERE ${TOP_UP}`],
    ['ledger-acts'],
    /^entry/,
  ],
  [
    'a top-up for another reason',
    [`UPDATE credit_entry SET reason = 'other' WHERE ${TOP_UP}`],
    ['ledger-acts'],
    /^entry/,
  ],
  [
    'a top-up that is gone with its credits',
    [balanceBy('-', `(SELECT credits FROM credit_entry WHERE ${TOP_UP})`), `DELETE FROM credit_entry WHERE ${TOP_UP}`],
    ['ledger-acts'],
    /^act \d+$/,
  ],
  [
    'an adjustment that is gone with its credits',
    [balanceBy('+', '1000'), `DELETE FROM credit_entry WHERE entry_key = 'adjustment:a-correction'`],
    ['ledger-acts'],
    /^act \d+$/,
  ],
  [
    'a compensation that is gone with its credits',
    [balanceBy('-', '50'), `DELETE FROM credit_entry WHERE kind = 'compensation'`],
    ['ledger-acts'],
    /^act \d+$/,
  ],
  [
    'a compensation of another order',
    [`UPDATE credit_entry SET order_id = :ended, entry_key = 'compensation::ended:1' WHERE kind = 'compensation'`],
    ['ledger-acts'],
    /^entry/,
  ],
  [
    'a refund that is gone with its credits',
    [balanceBy('-', `(SELECT credits FROM credit_entry WHERE ${REFUND})`), `DELETE FROM credit_entry WHERE ${REFUND}`],
    ['order-charge', 'spent-credits'],
    /./,
  ],
  [
    'a booked request that is said to be rejected',
    [`UPDATE credit_request SET status = 'rejected'`],
    ['credit-requests'],
    A_REQUEST,
  ],
  [
    'a booked request that waits again',
    [`UPDATE credit_request SET status = 'pending', decided_by = NULL, decided_at = NULL, decided_by_email = NULL`],
    ['credit-requests'],
    A_REQUEST,
  ],
  [
    'a request approved by another person',
    [`UPDATE credit_request SET decided_by_email = 'x@operator.example'`],
    ['credit-requests'],
    A_REQUEST,
  ],
  [
    'a request approved by the person who asked',
    [`UPDATE audit_log SET actor = (SELECT asked_by_email FROM credit_request) WHERE action = 'credits.approve'`],
    ['credit-requests'],
    A_REQUEST,
  ],
  [
    'a booking without its act',
    [`DELETE FROM audit_log WHERE action = 'credits.topup' AND detail ->> 'reference' = 'asked-1'`],
    ['ledger-acts'],
    /^entry/,
  ],
];

export const RESTORED_DEPOSITS: readonly Plant[] = [
  [
    'paid ten days earlier',
    [`UPDATE deposit SET block_at = block_at - interval '10 days' ${DEPOSIT}`],
    ['deposit-said'],
    A_DEPOSIT,
  ],
  [
    'paid in a later block',
    [`UPDATE deposit SET block_number = block_number + 5 ${DEPOSIT}`],
    ['deposit-said'],
    A_DEPOSIT,
  ],
  [
    'credited at ten times the rate, with entry and balance',
    [
      balanceBy('+', '540000000'),
      `UPDATE credit_entry SET credits = credits * 10 ${OF_DEPOSIT}`,
      `UPDATE deposit SET rate_e8 = rate_e8 * 10, credits = credits * 10 ${DEPOSIT}`,
    ],
    ['deposit-rates', 'deposit-said'],
    A_DEPOSIT,
  ],
  [
    'dropped with entry and balance',
    [
      balanceBy('-', '60000000'),
      `DELETE FROM credit_entry ${OF_DEPOSIT}`,
      `UPDATE deposit SET status = 'dropped', entry_key = NULL, credits = NULL ${DEPOSIT}`,
    ],
    ['deposit-said'],
    A_DEPOSIT,
  ],
  ['TRX of a contract', [`UPDATE deposit SET contract = 'TContract' ${DEPOSIT}`], ['deposit-token'], A_DEPOSIT],
  ['an address that is gone', [`DELETE FROM deposit_address`], ['deposit-address'], A_DEPOSIT],
  [
    'an address of another account',
    [`UPDATE deposit_address SET account = 8`],
    ['deposit-accounts'],
    /^address TDepositAddress7$/,
  ],
  ['an address at another place', [`UPDATE deposit_address SET place = 5`], ['deposit-accounts'], /^address/],
  [
    'an account of another key',
    [`UPDATE deposit_account SET first_address = 'TOther'`],
    ['deposit-accounts'],
    /^address/,
  ],
  ['an account that is gone', [`DELETE FROM deposit_account`], ['deposit-accounts'], /^address/],
  [
    'a return to another address',
    [`UPDATE deposit_return SET to_address = 'TThief'`],
    ['deposit-return-credits'],
    A_DEPOSIT,
  ],
  [
    'a return by another transaction',
    [`UPDATE deposit_return SET txid = sha256('other')`],
    ['deposit-return-credits'],
    A_DEPOSIT,
  ],
  [
    'a return of another deposit',
    [`UPDATE deposit_return SET deposit_id = (SELECT max(id) FROM deposit)`],
    ['deposit-return-credits'],
    A_DEPOSIT,
  ],
  [
    'credited by the entry of another deposit',
    [
      `UPDATE deposit SET entry_key = (SELECT entry_key FROM deposit WHERE status = 'credited' ORDER BY id DESC LIMIT 1) ${DEPOSIT}`,
    ],
    ['deposit-credits'],
    A_DEPOSIT,
  ],
  ['in a sum that is gone', [`UPDATE deposit SET sum_id = 99 ${DEPOSIT}`], ['deposit-sums'], /^deposit sum 99$/],
];

const SAYS = (type: string, path: string, value: string): string =>
  `UPDATE event SET payload = jsonb_set(payload::jsonb, '${path}', '${value}')::text
    WHERE type = '${type}' AND payload IS NOT NULL AND (order_id = :running OR order_id IS NULL)`;
const SETTLED = `type = 'order.settled' AND order_id = :running`;

export const RESTORED_EVENTS: readonly Plant[] = [
  [
    'an order settled twice',
    [
      `WITH n AS (SELECT position + 1 AS position FROM event_position WHERE ${PROJECT})
       INSERT INTO event (project_id, order_id, type, position, payload, at)
       SELECT e.project_id, e.order_id, e.type, n.position, jsonb_set(jsonb_set(e.payload::jsonb, '{position}', to_jsonb(n.position)),
           '{id}', to_jsonb('evt_' || left(encode(sha256(convert_to(e.project_id || ':' || n.position, 'UTF8')), 'hex'), 32)))::text, e.at
         FROM event e, n WHERE e.${SETTLED.replace('order_id', 'e.order_id')}`,
      `UPDATE event_position SET position = position + 1 WHERE ${PROJECT}`,
    ],
    ['order-events'],
    ORDER,
  ],
  [
    'an event of another order',
    [`UPDATE event SET order_id = :ended WHERE ${SETTLED}`],
    ['order-events', 'order-said'],
    /./,
  ],
  [
    'an event of another project',
    [`UPDATE event SET project_id = gen_random_uuid() WHERE ${SETTLED}`],
    ['event-positions', 'event-says'],
    /./,
  ],
  [
    'an end by the chain’s clock an hour later',
    [`UPDATE event SET chain_at = chain_at + interval '1 hour' WHERE type = 'order.ended' AND payload IS NOT NULL`],
    ['event-says'],
    AN_EVENT,
  ],
  ['a live event marked as a test', [SAYS('order.settled', '{test}', 'true')], ['event-says'], AN_EVENT],
  [
    'a freeze that reports no freeze',
    [SAYS('project.frozen', '{data,project,frozen}', 'false')],
    ['event-says'],
    AN_EVENT,
  ],
  [
    'a delegation by another transaction',
    [SAYS('order.settled', '{data,order,delegations,0,txid}', '"00"')],
    ['order-said'],
    ORDER,
  ],
  [
    'a delegation of less energy',
    [SAYS('order.settled', '{data,order,delegations,0,energy}', '1')],
    ['order-said'],
    ORDER,
  ],
  [
    'an extension to another end',
    [SAYS('order.extended', '{data,order,ends_at}', '"2026-01-01T00:00:00.000Z"')],
    ['order-said'],
    ORDER,
  ],
  ['a settled order reported as open', [SAYS('order.settled', '{data,order,settled}', 'false')], ['order-said'], ORDER],
  [
    'a deposit with other credits',
    [SAYS('deposit.credited', '{data,deposit,credits}', '1')],
    ['deposit-said'],
    A_DEPOSIT,
  ],
  [
    'a deposit at another rate',
    [SAYS('deposit.credited', '{data,deposit,usd_rate}', '"9.00000000"')],
    ['deposit-said'],
    A_DEPOSIT,
  ],
  [
    'a failed delivery with a success status',
    [`UPDATE webhook_delivery SET status = 'failed'`],
    ['delivery-events'],
    A_DELIVERY,
  ],
  [
    'a dropped delivery with a success status',
    [`UPDATE webhook_delivery SET status = 'dropped'`],
    ['delivery-events'],
    A_DELIVERY,
  ],
  ['deliveries of a webhook that is gone', [`DELETE FROM webhook_endpoint`], ['delivery-events'], A_DELIVERY],
];

export const RESTORED_ACCOUNTS: readonly Plant[] = [
  [
    'the spending of today counted for yesterday',
    [`UPDATE credit_account SET spent_on = spent_on - 1, spent_credits = 0 WHERE ${PROJECT}`],
    ['spent-credits'],
    /^project/,
  ],
  [
    'the spending of today counted for tomorrow',
    [`UPDATE credit_account SET spent_on = spent_on + 1, spent_credits = 0 WHERE ${PROJECT}`],
    ['spent-credits'],
    /^project/,
  ],
  [
    'the spending of a key counted for yesterday',
    [`UPDATE api_key SET spent_on = spent_on - 1, spent_credits = 0 WHERE id = ':project'`],
    ['spent-credits'],
    /^key/,
  ],
  [
    'the spending of a key counted for tomorrow',
    [`UPDATE api_key SET spent_on = spent_on + 1, spent_credits = 0 WHERE id = ':project'`],
    ['spent-credits'],
    /^key/,
  ],
  [
    'another threshold of the balance',
    [`UPDATE credit_account SET low_balance_credits = 1 WHERE ${PROJECT}`],
    ['account-terms'],
    /^project/,
  ],
  ['a key that is gone', [`DELETE FROM api_key ${REVOKED}`], ['key-acts'], /^key/],
  ['a key of another project', [`UPDATE api_key SET project_id = gen_random_uuid() ${REVOKED}`], ['key-acts'], /^key/],
  ['a key with more scopes', [`UPDATE api_key SET scopes = '{read,order}' ${REVOKED}`], ['key-acts'], /^key/],
  ['a key that may call from anywhere', [`UPDATE api_key SET allowed_sources = '{}' ${REVOKED}`], ['key-acts'], /^key/],
  ...(
    [
      ['other sources', `allowed_sources = '{192.0.2.1}'`],
      ['other signatures', `signature_schemes = 'md5'`],
      ['quotes required', 'require_quote = true'],
      ['keys required', 'require_idempotency_key = true'],
    ] as const
  ).map(([what, change]): Plant => [
    `a project with ${what}`,
    [`UPDATE project SET ${change} WHERE id = ':project'`],
    ['project-acts'],
    /^project/,
  ]),
  ['a key without its daily cap', [`UPDATE api_key SET daily_cap_credits = NULL ${REVOKED}`], ['key-acts'], /^key/],
];

const SECOND = `key LIKE 'auto\\_%\\_2'`;
export const RESTORED_REFILLS: readonly Plant[] = [
  [
    'of a key of nobody',
    [`UPDATE auto_delegation SET api_key_id = gen_random_uuid()`],
    ['auto-delegation-numbers'],
    /^auto-delegation/,
  ],
  [
    'with its open purchase forgotten',
    [`UPDATE auto_delegation SET open_order_id = NULL`],
    ['auto-delegation-numbers'],
    /^auto-delegation/,
  ],
  [
    'with all purchases forgotten',
    [`UPDATE auto_delegation SET purchases = 0, open_order_id = NULL`],
    ['auto-delegation-purchases'],
    ORDER,
  ],
  [
    'with the spending of today counted for yesterday',
    [`UPDATE auto_delegation SET spent_on = spent_on - 1, spent_credits = 0`],
    ['spent-credits'],
    /^auto-delegation/,
  ],
  [
    'with the spending of today counted for tomorrow',
    [`UPDATE auto_delegation SET spent_on = spent_on + 1, spent_credits = 0`],
    ['spent-credits'],
    /^auto-delegation/,
  ],
  [
    'with a purchase for another address',
    [`UPDATE orders SET receive_address = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF' WHERE ${SECOND}`],
    ['auto-delegation-purchases', 'order-request', 'order-said', 'orphan-rows'],
    ORDER,
  ],
  [
    'with a purchase under the next number',
    [
      `UPDATE orders SET key = replace(key, '_2', '_3'), request_id = replace(request_id, '_2', '_3') WHERE ${SECOND}`,
      `UPDATE order_key SET key = replace(key, '_2', '_3') WHERE ${SECOND}`,
    ],
    ['auto-delegation-numbers', 'auto-delegation-purchases', 'order-said'],
    /./,
  ],
  [
    'with an open purchase that was refunded',
    [`UPDATE orders SET status = 'refunded', settled = true WHERE ${SECOND}`],
    ['auto-delegation-purchases', 'capacity', 'order-charge', 'order-events', 'order-history', 'order-legs'],
    ORDER,
  ],
  [
    'with a purchase that is gone',
    [`DELETE FROM order_key WHERE ${SECOND}`, `DELETE FROM orders WHERE ${SECOND}`],
    ['auto-delegation-numbers', 'event-orders', 'ledger-entry', 'orphan-rows'],
    /./,
  ],
  [
    'with a first purchase that is gone',
    [`DELETE FROM order_key WHERE key LIKE 'auto\\_%\\_1'`],
    ['auto-delegation-purchases', 'order-twice'],
    /./,
  ],
];
