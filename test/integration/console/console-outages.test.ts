// Outages of the whole service on the operators' console: cause, time and remedy, and the figures of the home page.
import { digestOf } from '../../../src/modules/console/mail-loop.js';
import type { InboxItem, OperatorHome } from '../../../src/modules/console/operator-shapes.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { Market } from '../../../src/modules/quotes/market.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { seedTestCanaries } from '../../support/cli.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

let fixture: OrderFixture;
let operators: TestConsole;
let admin: Account;
let customer: Customer;

beforeAll(async () => {
  fixture = await openOrderFixture();
  const url = fixture.env['DATABASE_URL']!;
  await seedTestCanaries(url);
  operators = await openConsole(url, 'operator', { RATE_SOURCES: 'binance,okx' });
  admin = await operators.signedIn('admin');
  customer = await makeCustomer(fixture.api);
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  expect((await customer.post('/v1/orders', body, withKey('due'))).status).toBe(202);
  // From here on only the tests write the state of the chain.
  await fixture.api.app.get(Market, { strict: false }).beforeApplicationShutdown();
  await run(
    `INSERT INTO market_state (name, value, measured_at, lease_until) VALUES ('trx-usd', '{}', now(), 'infinity')`,
  );
});

// A service without outages: no worker reads the pool here, so its reading time is renewed.
beforeEach(async () => {
  await run(`UPDATE market_state SET measured_at = clock_timestamp() WHERE name IN ('chain', 'trx-usd')`);
  await run(`DELETE FROM market_state WHERE name = 'chain-failure'`);
  await set(`UPDATE orders SET next_run_at = clock_timestamp() + interval '1 hour'`);
  await run(`UPDATE pool_wallet SET read_at = clock_timestamp(), status = 'active', pause_reason = NULL`);
});

afterAll(async () => {
  await operators.close();
  await fixture.close();
});

const run = (text: string, params: readonly unknown[] = []): Promise<unknown> =>
  fixture.api.database.query(text, params);

/** Runs a statement that sets rows into a later state, with triggers off. */
const set = (text: string, params: readonly unknown[] = []): Promise<void> =>
  fixture.api.database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(text, params);
  });

const outages = async (): Promise<InboxItem[]> =>
  ((await admin.browser.get('/api/operator/inbox')).body.items as InboxItem[]).filter(({ outage }) => outage === true);
const home = async (): Promise<OperatorHome> => (await admin.browser.get('/api/operator/home')).body as OperatorHome;

/** The outages' text without the minute. */
const said = async (): Promise<string[]> =>
  (await outages()).map(({ says }) => says.replace(/since \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC/, 'since then'));

const CHAIN_OLD = `UPDATE market_state SET measured_at = clock_timestamp() - interval '1 hour' WHERE name = 'chain'`;

it('shows no outage while the service works', async () => {
  expect(await said()).toEqual([]);
  expect((await home()).capacity.is_selling).toBe(true);
});

it.each([
  ['no-node', 'no node has answered (why) since then. Check that the nodes of TRON_FULL_NODE_URLS run'],
  ['doubtful', 'the nodes have given fees outside their bounds (why) since then. Compare'],
  ['disagreement', 'the nodes have contradicted each other (why) since then. Take the wrong node out'],
  ['other', 'the chain’s fees have not been read (why) since then. Check that an API or a worker runs'],
  [undefined, 'the chain’s fees have not been read since then. Check that an API or a worker runs'],
])('says since when nothing is sold for unread fees, why, and what to do: %s', async (cause, text) => {
  if (cause !== undefined) {
    const failure = JSON.stringify({ cause, reason: 'why' });
    await run(`INSERT INTO market_state (name, value, measured_at) VALUES ('chain-failure', $1, now())`, [failure]);
  }
  // Before the last reading is too old, sales go on.
  expect(await said()).toEqual([]);
  await run(CHAIN_OLD);
  expect(await said()).toEqual([expect.stringContaining(`Nothing is being sold: ${text}`)]);
  const { capacity, inbox } = await home();
  expect([capacity.is_selling, capacity.sold_out_in_hours]).toEqual([false, undefined]);
  expect(inbox[0]).toMatchObject({ severity: 'fault', outage: true });
});

it('does not ask for a worker while no node answers, though the pool is unread', async () => {
  await run(`UPDATE pool_wallet SET read_at = clock_timestamp() - interval '5 minutes'`);
  expect(await said()).toEqual([
    'Nothing is being delivered: no worker has read the pool since then. Start a worker (`npm run start:worker`), or read its log.',
  ]);
  const failure = JSON.stringify({ cause: 'no-node', reason: 'why' });
  await run(`INSERT INTO market_state (name, value, measured_at) VALUES ('chain-failure', $1, now())`, [failure]);
  await run(CHAIN_OLD);
  expect(await said()).toEqual([expect.stringContaining('no node has answered')]);
  const { findings } = (await admin.browser.get('/api/operator/system')).body as {
    findings: { check: string; todo: string }[];
  };
  expect(findings.find(({ check }) => check === 'worker')?.todo).toBe('Check the nodes of TRON_FULL_NODE_URLS first.');
});

it('says that every wallet is paused, and not that one is', async () => {
  const [wallet] = await fixture.api.database.query<{ id: string }>(`SELECT id FROM pool_wallet WHERE role = 'pool'`);
  const advice = 'Resume one with `pool resume` once its fault is corrected.';
  const pause = `UPDATE pool_wallet SET status = 'paused', delegated_sun = 7000000 WHERE role = 'pool'`;
  await run(pause);
  expect(await said()).toEqual([`Nothing is being sold: the only wallet is paused. ${advice}`]);
  // Its rentals run on.
  expect((await home()).capacity).toMatchObject({ is_selling: false, sold_sun: 7_000_000, free_sun: 0 });
  await set(
    `INSERT INTO pool_wallet OVERRIDING SYSTEM VALUE
       SELECT (jsonb_populate_record(w, '{"id": 999, "address": "TOther", "status": "active"}')).* FROM pool_wallet w WHERE id = $1`,
    [wallet!.id],
  );
  expect(await said()).toEqual([]);
  await run(pause);
  expect(await said()).toEqual([`Nothing is being sold: all 2 wallets are paused. ${advice}`]);
  await set(`DELETE FROM pool_wallet WHERE id = 999`);
});

it('says nothing of a wallet that its operator paused and emptied, except that it disagrees with the chain', async () => {
  await set(
    `INSERT INTO pool_wallet (address, role, permission_id, key_address, status, pause_reason, wallet_fault, read_at, staked_sun)
     VALUES ('TTakenOut', 'pool', 2, 'TKey', 'paused', 'taken out', 'the wallet has no permission 2', now(), 1000000)`,
  );
  const linesOf = async (): Promise<InboxItem[]> =>
    (await home()).inbox.filter(({ subject }) => subject?.id === 'TTakenOut');
  const change = (changes: string) => set(`UPDATE pool_wallet SET ${changes} WHERE address = 'TTakenOut'`);
  expect(await linesOf()).toHaveLength(1);
  await change('staked_sun = 0');
  expect(await linesOf()).toEqual([]);
  await change('wallet_fault = NULL');
  expect(await linesOf()).toEqual([]);
  for (const changes of [
    `books_fault = 'the chain has a delegation'`,
    `books_fault = NULL, staked_bandwidth_sun = 1000000`,
    `staked_bandwidth_sun = 0, role = 'activation', balance_sun = 1000000`,
    `role = 'pool', status = 'active', pause_reason = NULL, wallet_fault = 'it has no key'`,
  ]) {
    await change(changes);
    expect(await linesOf()).toHaveLength(1);
  }
  await set(`DELETE FROM pool_wallet WHERE address = 'TTakenOut'`);
});

it('says that charges use an old rate', async () => {
  await run(`UPDATE market_state SET measured_at = clock_timestamp() - interval '1 day' WHERE name = 'trx-usd'`);
  expect(await said()).toEqual([
    expect.stringMatching(/^Charges use an old rate: no TRX\/USD rate has been read since then\. Check/),
  ]);
});

it('says that no sender and no worker takes due work, to people mailed of faults too', async () => {
  await set(`UPDATE orders SET next_run_at = clock_timestamp() - interval '2 minutes' WHERE project_id = $1`, [
    customer.merchant,
  ]);
  await set(
    `WITH made AS (INSERT INTO webhook_endpoint (id, project_id, url, description, secret_sealed)
       VALUES (gen_random_uuid(), $1, 'https://a.example.com', '', 'x') RETURNING id)
     INSERT INTO webhook_state (endpoint_id, due_at) SELECT id, clock_timestamp() - interval '2 minutes' FROM made`,
    [customer.merchant],
  );
  expect(await said()).toEqual([
    'Nothing is being delivered: no worker has taken a due order since then. Start a worker (`npm run start:worker`), or read its log.',
    'No webhook is being sent: no sender has taken a due delivery since then. Start a sender (`npm run start:sender`), or read its log.',
  ]);
  expect(digestOf(await outages(), { kinds: ['fault'], noted: [] }).count).toBe(2);
  // A worker and a sender that hold the work are at it.
  await set(`UPDATE orders SET lease_until = clock_timestamp() + interval '1 hour' WHERE project_id = $1`, [
    customer.merchant,
  ]);
  await set(`UPDATE webhook_state SET lease_until = clock_timestamp() + interval '1 hour'`);
  expect(await said()).toEqual([]);
});

it('shows success, time to delivery by the database’s clock, and refusals of the last hour', async () => {
  await set(`DELETE FROM orders`);
  const { merchant } = await makeCustomer(fixture.api);
  // Twenty delivered after 1 to 20 s, one refunded, one old, one of a test project. The block's time is far off.
  const insert = `INSERT INTO orders (project_id, key, request_hash, kind, status, settled, receive_address, energy, duration_sec,
      price_sun, credits, trx_usd_e8, created_at, delivered_at, judged, test)`;
  const row = `'rental', $3, true, 'T', 1, 1, 1, 1, 1, now() - $4::interval, now() + interval '1 day', true, $5`;
  const add = (key: string, count: number, status: string, age = '1 hour', isTest = false): Promise<void> =>
    set(`${insert} SELECT $1, $2 || n, sha256(''), ${row} FROM generate_series(1, ${count.toString()}) n`, [
      merchant,
      key,
      status,
      age,
      isTest,
    ]);
  await add('good-', 20, 'delivered');
  await add('bad-', 1, 'refunded');
  await add('old-', 1, 'refunded', '2 days');
  await add('test-', 1, 'refunded', '1 hour', true);
  await set(
    `INSERT INTO event (order_id, project_id, type, at) SELECT id, project_id, 'order.delivered',
       created_at + split_part(key, '-', 2)::int * interval '1 second' FROM orders WHERE key LIKE 'good-%'`,
  );
  await set(
    `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address, omitted)
     SELECT $1, now() - n * interval '50 minutes', 'r', 'POST', '/v1/orders', 401, 'INVALID_SIGNATURE', 'x', '::1', 4
       FROM generate_series(1, 2) n`,
    [merchant],
  );
  expect((await home()).last_day).toEqual({
    delivered: 20,
    refunded: 1,
    p50_sec: 10,
    p95_sec: 19,
    refused_in_hour: 5,
  });
});

it('counts live orders behind many test orders, and says since when it counts behind too many', async () => {
  await set(`DELETE FROM orders`);
  const { merchant } = await makeCustomer(fixture.api);
  const add = (key: string, count: number, age: string, isTest: boolean): Promise<void> =>
    set(
      `INSERT INTO orders (project_id, key, request_hash, kind, status, settled, receive_address, energy, duration_sec,
         price_sun, credits, trx_usd_e8, created_at, judged, test)
       SELECT $1, $2 || n, sha256(''), 'rental', 'refunded', true, 'T', 1, 1, 1, 1, 1, now() - $3::interval, true, $4
         FROM generate_series(1, ${count.toString()}) n`,
      [merchant, key, age, isTest],
    );
  await add('live-', 3, '2 hours', false);
  await add('played-', 3000, '1 hour', true);
  const few = (await home()).last_day;
  expect([few.refunded, few.since]).toEqual([3, undefined]);
  await add('more-', 17_000, '30 minutes', true);
  const { refunded, since } = (await home()).last_day;
  expect([refunded, since]).toEqual([0, expect.stringMatching(/Z$/)]);
});
