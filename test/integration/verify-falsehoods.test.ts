// `verify` names each falsehood that the records themselves contradict, with its row, and nothing in the honest history.
import { findingsOf } from '../../src/verify/finding.js';
import { verifyRecords } from '../../src/verify/verify.js';
import { namesOf } from '../reconcile-world.js';
import { openHistory, planted, type History } from '../verify-history.js';

const START_LIMIT_MS = 240_000;
let history: History;

beforeAll(async () => {
  history = await openHistory();
}, START_LIMIT_MS);
afterAll(() => history.world.close(), START_LIMIT_MS);

/** Falsehood, statements, and the checks that must name it: of the first one the row, and what it should be. */
type Plant = readonly [
  what: string,
  statements: readonly string[],
  checks: readonly string[],
  subject: RegExp,
  says?: object,
];

const RUNNING = `id = :running`;
const CHARGE = `entry_key = 'charge::running'`;
const PROJECT = `project_id = ':project'`;
const balanceBy = (sign: '+' | '-', amount: string): string =>
  `UPDATE credit_account SET balance_credits = balance_credits ${sign} ${amount} WHERE ${PROJECT}`;
const ORDER = /^order \d+$/;
const DEPOSIT = `id = (SELECT min(id) FROM deposit WHERE status = 'credited')`;
const RETURNED = `entry_key LIKE 'adjustment:deposit-%-returned'`;
const NEW_ENTRY = `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, order_id)`;

const ORDERS: readonly Plant[] = [
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
    ['order-request', 'order-said'],
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
    ['order-charge', 'order-events', 'order-history', 'order-legs'],
    ORDER,
  ],
  [
    'an order that nobody will look at again',
    [`UPDATE orders SET settled = false WHERE ${RUNNING}`],
    ['order-extensions', 'order-forgotten'],
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
    ['order-request'],
    /^extension 1 of order \d+$/,
  ],
  ['an extension forgotten', [`UPDATE orders SET extensions = 0 WHERE ${RUNNING}`], ['order-extensions'], ORDER],
];

const LEG = `order_id = :running AND NOT top_up`;
const DELEGATE = `order_id = :running AND purpose = 'delegate' AND status = 'solid'`;
const LEGS: readonly Plant[] = [
  [
    'less stake than its transaction',
    [`UPDATE leg SET amount_sun = amount_sun - 1000000 WHERE ${LEG}`],
    ['transaction-content'],
    /^transaction/,
  ],
  ['less energy', [`UPDATE leg SET energy = energy - 1 WHERE ${LEG}`], ['order-legs'], ORDER],
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
  ['reclaimed while it runs', [`UPDATE leg SET status = 'reclaimed' WHERE ${LEG}`], ['leg-transactions'], /^leg/],
  [
    'released though it was delivered',
    [`UPDATE leg SET status = 'released' WHERE ${LEG}`],
    ['leg-transactions', 'order-legs'],
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
    ['order-legs', 'orphan-rows'],
    /./,
  ],
  [
    'delivered again',
    [`UPDATE leg SET status = 'placed' WHERE ${LEG}`],
    ['capacity', 'leg-transactions', 'order-legs'],
    /./,
  ],
];

const TRANSACTIONS: readonly Plant[] = [
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
  ['another id', [`UPDATE chain_tx SET txid = sha256(txid) WHERE ${DELEGATE}`], ['transaction-id'], /^transaction/],
  [
    'of another order',
    [`UPDATE chain_tx SET order_id = :refunded WHERE ${DELEGATE}`],
    ['order-refunded', 'orphan-rows'],
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
  ['a delivery that is gone', [`DELETE FROM chain_tx WHERE ${DELEGATE}`], ['leg-transactions', 'order-settled'], /./],
];

const LEDGER: readonly Plant[] = [
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
    ['credit-requests'],
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

const DEPOSITS: readonly Plant[] = [
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
  ['more credits', [`UPDATE deposit SET credits = credits + 1 WHERE ${DEPOSIT}`], ['ledger-entry'], /^entry \d+$/],
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
const EVENTS: readonly Plant[] = [
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

const ACCOUNTS: readonly Plant[] = [
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
    ['ledger-shape', 'test-orders', 'test-projects'],
    /./,
  ],
  ['an account that is gone', [`DELETE FROM credit_account WHERE ${PROJECT}`], ['ledger-balance'], /^project/],
];

const REFILLS: readonly Plant[] = [
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

const WALLETS: readonly Plant[] = [
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
];

const filled = (statement: string): string =>
  statement
    .replaceAll(':running', history.running.toString())
    .replaceAll(':ended', history.ended.toString())
    .replaceAll(':refunded', history.refunded.toString())
    .replaceAll(':project', history.project);

it('nothing is found in an honest history', async () => {
  const { checks } = await verifyRecords(history.world.api.database);
  expect(checks.flatMap(({ findings }) => findings)).toEqual([]);
});

describe.each([
  ['an order', ORDERS],
  ['a leg', LEGS],
  ['a transaction', TRANSACTIONS],
  ['the ledger', LEDGER],
  ['a deposit', DEPOSITS],
  ['the log', EVENTS],
  ['an account', ACCOUNTS],
  ['an auto-delegation', REFILLS],
  ['a wallet', WALLETS],
] as const)('a falsehood of %s', (_of, plants) => {
  it.each([...plants])('%s', async (_what, statements, checks, subject, says = {}) => {
    const report = await planted(history.world.api.database, statements.map(filled));
    expect(report.unmade.filter(({ why }) => why !== 'the chain was not asked')).toEqual([]);
    expect(namesOf(report)).toEqual([...checks]);
    const first = findingsOf(report).find(({ check }) => check === checks[0]);
    expect(first).toMatchObject({ subject: expect.stringMatching(subject) as string, facts: says });
  });
});

it('nothing is found once they are undone', async () => {
  const { checks } = await verifyRecords(history.world.api.database);
  expect(checks.flatMap(({ findings }) => findings)).toEqual([]);
});
