// Statements read few rows even where the planner cannot estimate them well.
import { LEGS } from '../../../src/modules/auto-delegations/auto-delegation-claims.js';
import { CREDITED_TODAY } from '../../../src/modules/deposits/deposit-sql.js';
import { ORDERS } from '../../../src/modules/diagnostics/project-records.js';
import { ASK } from '../../../src/modules/explain/explanation-requests.js';
import { WEIGH_AGAIN } from '../../../src/modules/fulfilment/follow/inclusion.js';
import { RECLAIMS, RENTALS } from '../../../src/modules/fulfilment/loop/receiver-usage.js';
import { RECORD_USAGE } from '../../../src/modules/fulfilment/send/transaction-log.js';
import { DIED } from '../../../src/modules/fulfilment/send/wallet-health.js';
import { EVERYONE, MEMBERS } from '../../../src/modules/people/team.js';
import { OPEN_LEGS, SPOKEN_FOR } from '../../../src/modules/pool/pool-sync.js';
import { RECORD } from '../../../src/modules/savings/rental-use-recorder.js';
import { DROP, MAKE_NEW_DUE } from '../../../src/modules/sender/delivery-claims.js';
import { RECORD_ACCEPTED } from '../../../src/modules/sender/delivery-records.js';
import { PLAN_MODES, rowsRead } from '../../support/database/rows-read.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

/** The project of nineteen rows in twenty. */
const BUSY = '00000000-0000-4000-8000-000000000001';
const QUIET = '00000000-0000-4000-8000-000000000002';
const ROWS = 20_000;
const OWNER = `(CASE WHEN n % 20 > 0 THEN '${BUSY}' ELSE '${QUIET}' END)::uuid`;
/** One row each ten minutes, over nine months. */
const AT = `now() - (${ROWS.toString()} - n) * interval '10 minutes'`;
const PER_DAY = 144;

/** People with sessions, and as many sessions of each. Everyone else has none. */
const SIGNED_IN = 20;
const SESSIONS_EACH = 200;
const SESSIONS = SIGNED_IN * SESSIONS_EACH;
const PEOPLE = 1000;
const person = (number: string): string => `('00000000-0000-4000-8000-' || lpad((${number})::text, 12, '0'))::uuid`;

const FILL = [
  `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun,
       credits, trx_usd_e8, settled, created_at, delivered_at, ends_at, reclaimed_at)
     SELECT ${OWNER}, 'k' || n, sha256('x'), 'rental', 'delivered', 'R', 65000, 3600, 1, 1, 1, true,
            ${AT}, ${AT}, ${AT}, ${AT} FROM generate_series(1, ${ROWS.toString()}) n`,
  `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
     SELECT 'deposit:' || n, ${OWNER}, 'funding', 'topup', 1, 'chain', 'deposit', ${AT}
       FROM generate_series(1, ${ROWS.toString()}) n`,
  `INSERT INTO deposit (project_id, address, txid, kind, place, asset, from_address, amount, block_number, block_id,
       block_at, status, credits, rate_e8, seen_at, changed_at, entry_key)
     SELECT ${OWNER}, 'T', sha256(n::text::bytea), 'log', 0, 'USDT', 'T', 1, n, sha256('b'), ${AT}, 'credited', 1, 1,
            ${AT}, ${AT}, 'deposit:' || n FROM generate_series(1, ${ROWS.toString()}) n`,
  `INSERT INTO explanation_request (id, project_id, txid, requested_at, answered_at)
     SELECT gen_random_uuid(), ${OWNER}, sha256('x'), ${AT}, ${AT} FROM generate_series(1, ${(ROWS - 10).toString()}) n`,
  `INSERT INTO person (id, audience, email, password_hash)
     SELECT ${person('n')}, 'merchant', 'p' || n || '@example.com', 'x' FROM generate_series(1, ${PEOPLE.toString()}) n`,
  `INSERT INTO membership (person_id, audience, role, project_id, created_at)
     SELECT id, 'merchant', 'owner', '${BUSY}', now() FROM person`,
  `INSERT INTO console_session (token_hash, person_id, audience, stage, seen_at, created_at, user_agent, source_address)
     SELECT sha256(n::text::bytea), ${person(`n % ${SIGNED_IN.toString()} + 1`)}, 'merchant', 'signed_in',
            now() - n * interval '1 second', now() - n * interval '1 second', 'x', '10.0.0.1'
       FROM generate_series(1, ${SESSIONS.toString()}) n`,
];

/** Three receivers with all reclaims, and one rental to a receiver without any. */
const NEW_RECEIVER = 'new';
const FILL_RENTALS = [
  `INSERT INTO pool_wallet (id, address, role, permission_id, key_address, delivery_failed_at)
     OVERRIDING SYSTEM VALUE VALUES (1, 'W', 'pool', 2, 'K', now())`,
  `INSERT INTO leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status, active_at, changed_at)
     OVERRIDING SYSTEM VALUE
     SELECT n, n, 1, 'rental', 1, CASE WHEN n = 1 THEN '${NEW_RECEIVER}' ELSE 'R' || n % 3 END, 1, 'active', ${AT}, ${AT}
       FROM generate_series(1, ${ROWS.toString()}) n`,
  `INSERT INTO chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature,
       ref_block_number, expires_at, fee_sun, block_number, block_id, block_at)
     OVERRIDING SYSTEM VALUE
     SELECT n, n, n, 'reclaim', 1, 1, 'solid', sha256(n::text::bytea), 'x', 'x', n, ${AT}, 1, n, sha256('b'), ${AT}
       FROM generate_series(1, ${ROWS.toString()}) n`,
  `INSERT INTO reclaim_usage (tx_id, order_id, receive_address, used_energy, limit_energy, pool_energy, sold_energy,
       taken_energy, read_block, read_at, weighed_at)
     SELECT n, n, 'R' || n % 3, 1, 1, 1, 1, 1, n, ${AT}, ${AT} FROM generate_series(2, ${ROWS.toString()}) n`,
];

/** A few legs of a second wallet: new ones, and an old one that is being reclaimed. */
const FILL_WALLET = [
  `INSERT INTO pool_wallet (id, address, role, permission_id, key_address)
     OVERRIDING SYSTEM VALUE VALUES (2, 'W2', 'pool', 2, 'K2')`,
  `INSERT INTO leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status, active_at, changed_at)
     OVERRIDING SYSTEM VALUE
     SELECT ${ROWS.toString()} + n, n, 2, 'rental', 2, 'R1', 1, CASE WHEN n = 1 THEN 'reclaiming' ELSE 'active' END, now(), now()
       FROM generate_series(1, 11) n`,
];
const WALLET = [2, new Date(Date.now() - 60_000).toISOString(), 1] as const;

/** A backlog of deliveries, of which the statistics remain: nearly all are delivered by now. */
const BUSY_WEBHOOK = '00000000-0000-4000-8000-000000000003';
const QUIET_WEBHOOK = '00000000-0000-4000-8000-000000000004';
const FILL_DELIVERIES = [
  `INSERT INTO webhook_state (endpoint_id, fence) VALUES ('${BUSY_WEBHOOK}', 1), ('${QUIET_WEBHOOK}', 1)`,
  `INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT CASE WHEN n = ${ROWS.toString()} THEN '${QUIET_WEBHOOK}' ELSE '${BUSY_WEBHOOK}' END::uuid, 'event', n, 'k' || n, 'order.created', n
       FROM generate_series(1, ${ROWS.toString()}) n`,
];
const DELIVER = `UPDATE webhook_delivery SET is_fresh = false WHERE id <= ${(ROWS - 20).toString()}`;

let store: TestDatabase;

beforeAll(async () => {
  store = await createTestDatabase();
  await asAdmin(store.url, async (client) => {
    // Only the rows matter here.
    await client.query(`SET session_replication_role = replica`);
    for (const text of [...FILL, ...FILL_RENTALS, ...FILL_WALLET, ...FILL_DELIVERIES]) await client.query(text);
    await client.query('ANALYZE');
    await client.query(DELIVER);
  });
}, 120_000);

afterAll(() => store.drop());

/** Rows of a page, and of small tables beside it. */
const FEW = 100;

describe.each(PLAN_MODES)('with %s', (mode) => {
  it.each([
    ['the newest orders of a project with most of all', ORDERS, [BUSY, 7], 7 * PER_DAY],
    ['the deposits credited today, and no other entries', CREDITED_TODAY.text, [], 2 * PER_DAY],
    ['the newest requests for explanations', ASK.text, [BUSY, BUSY, `\\x${'00'.repeat(32)}`, 20], 0],
    ['the reclaims of a new receiver', RECLAIMS.text, [`{${NEW_RECEIVER}}`], 0],
    ['the newest reclaims of a busy receiver', RECLAIMS.text, ['{R1}'], 1000 + 3 * PER_DAY],
    ['the newest reclaims of a receiver', WEIGH_AGAIN.text, ['{1}'], 10],
    ['the usage of a new receiver', RECORD_USAGE.text, ['{1}', '{1}', '{1}', '{1}', '{1}', '{1}', '{1}'], 10],
    ['the newest leg of a wallet', DIED.text, [1, 'fault'], 1],
    ['the transactions of the legs of a wallet', SPOKEN_FOR.text, WALLET, 0],
    ['the new deliveries', MAKE_NEW_DUE.text, [], 0],
    ['the deliveries of a deleted webhook', DROP.text, [QUIET_WEBHOOK], 0],
    ['the accepted deliveries', RECORD_ACCEPTED.text, [`{${BUSY_WEBHOOK}}`, '{1}', '{7}', '{200}', '{ok}', '{1}'], 0],
    ['the sessions of members', MEMBERS, ['merchant', BUSY], SESSIONS + 2 * PEOPLE],
    ['the sessions of everyone', EVERYONE, [], SESSIONS + 2 * PEOPLE],
  ] as const)('reads %s', async (_what, text, values, most) => {
    expect(await readIn(mode, text, values)).toBeLessThanOrEqual(most + FEW);
  });
});

// A generic plan expects that a wallet has its share of all legs.
it('reads the open legs of a wallet without the orders of others', async () => {
  expect(await readIn('force_custom_plan', OPEN_LEGS.text, [...WALLET, 'now'])).toBeLessThanOrEqual(FEW);
});

// A generic plan expects many receivers, so that a step over all legs may be right.
it.each([
  ['the running rentals', RENTALS.text, [`{${NEW_RECEIVER}}`]],
  ['an auto-delegation’s legs', LEGS.text, ['{1}', `{${BUSY}}`, `{${NEW_RECEIVER}}`]],
  ['the use of rentals', RECORD.text, [`{${NEW_RECEIVER}}`, '{5}', '{1}', 'now', 5]],
] as const)('reads %s of a receiver without the orders of others', async (_what, text, values) => {
  expect(await readIn('force_custom_plan', text, values)).toBeLessThanOrEqual(FEW);
});

const readIn = async (
  ...[mode, text, values]: [(typeof PLAN_MODES)[number], string, readonly unknown[]]
): Promise<number> =>
  asAdmin(store.url, async (client) => {
    await client.query(`SET session_replication_role = replica`);
    return rowsRead(client, mode, text, values);
  });
