// The demo: a month of history on its own chain, and consoles with one-time sign-in links.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { demoDeposits, PAST_ACCOUNTS } from '../../../packages/local/src/demo-chain.js';
import { DemoConsoles } from '../../../packages/local/src/demo-consoles.js';
import {
  HISTORY_DAYS,
  makeHistory,
  untilNumbered,
  type DemoHistory,
} from '../../../packages/local/src/demo-history.js';
import { DAY_MS, planOrders, PROFILES } from '../../../packages/local/src/demo-plan.js';
import { DemoReceiver } from '../../../packages/local/src/demo-receiver.js';
import { DemoScenario } from '../../../packages/local/src/demo-scenario.js';
import { freePort } from '../../../packages/local/src/ports.js';
import { Screen } from '../../../packages/local/src/screen.js';
import { until } from '../../../packages/local/src/wait.js';
import { LocalService } from '../../../packages/local/src/local-service.js';
import { EnergyClient } from '../../../packages/sdk/src/index.js';
import { readConfig } from '../../../src/platform/config/config.js';
import type { Audience } from '../../../src/domain/audience.js';
import { CREDITS_PER_USD } from '../../../src/domain/units.js';
import type { Database } from '../../../src/platform/database/database.js';
import { openAsOwner } from '../../support/api/factory.js';
import { noteKeysOf } from '../../setup/canary.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';
import { asRole } from '../../setup/roles.js';

const START_LIMIT_MS = 240_000;
/** Applies every check to the month, and reads its newest blocks again. */
const VERIFY_LIMIT_MS = 120_000;
let store: TestDatabase;
let redis: Awaited<ReturnType<typeof createTestRedis>>;
let service: LocalService;
let database: Database;
let history: DemoHistory;
let consoles: DemoConsoles;
let client: EnergyClient;
let merchantId: string;
let merchantServer: DemoReceiver;

beforeAll(async () => {
  [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  service = await LocalService.start({
    blockMs: 300,
    solidLag: 19,
    durable: false,
    databaseUrl: store.url,
    redisUrl: redis.url,
    roleUrl: asRole,
    poolStakesTrx: [1_200_000, 600_000],
    past: { fromMs: Date.now() - HISTORY_DAYS * DAY_MS, accounts: PAST_ACCOUNTS },
    env: demoDeposits(),
  });
  noteKeysOf({ MASTER_KEY: service.masterKey });
  database = await openAsOwner(store.url);
  const project = await service.cli('project', 'create', '--name', PROFILES[0]?.name ?? '');
  history = await makeHistory(service, String(project['merchant']));
  const [api] = await Promise.all([service.startApi(await freePort()), service.startWorker()]);
  merchantId = String(project['merchant']);
  const apiKey = String(project['api_key']);
  client = new EnergyClient({ baseUrl: api.baseUrl, merchant: merchantId, apiKey, retries: 100 });
  merchantServer = await DemoReceiver.start('order.delivered');
  await untilNumbered(service);
  consoles = await DemoConsoles.start(service, { CONSOLE_PASSWORD_COST: '14' });
  await consoles.signUp(history.projects.filter((_, place) => place === 0 || PROFILES[place]?.isTest === true));
}, START_LIMIT_MS);

afterAll(async () => {
  consoles.close();
  merchantServer.close();
  await database.source.destroy();
  await service.stop();
  await redis.close();
  await store.drop();
}, START_LIMIT_MS);

it(
  'verify finds nothing in the demo’s history, neither in the records nor on the chain',
  async () => {
    const report = await service.cli('verify');
    expect(report).toMatchObject({ ok: true, violations: 0, unmade: [] });
    const [counts] = await database.query<Record<string, number>>(
      `SELECT (SELECT count(*)::int FROM orders WHERE NOT test AND status = 'delivered') AS delivered,
            (SELECT count(*)::int FROM orders WHERE NOT test AND status = 'refunded') AS refunded,
            (SELECT count(*)::int FROM orders WHERE test) AS of_tests,
            (SELECT count(DISTINCT (created_at AT TIME ZONE 'UTC')::date)::int FROM orders) AS days,
            (SELECT count(DISTINCT receive_address)::int FROM orders) AS receivers,
            (SELECT count(*)::int FROM deposit WHERE status = 'credited') AS deposits,
            (SELECT count(*)::int FROM chain_tx WHERE fee_sun > 0) AS burnt,
            (SELECT count(*)::int FROM orders WHERE NOT settled OR next_run_at IS NOT NULL) AS open,
            (SELECT count(*)::int FROM credit_account WHERE balance_credits <= 0) AS broke`,
    );
    expect(counts).toMatchObject({ open: 0, broke: 0 });
    expect(history.orders).toBeGreaterThan(500);
    for (const [what, least] of Object.entries({
      ...{ delivered: 500, refunded: 3, of_tests: 20, days: 28, receivers: 40, deposits: 4, burnt: 3 },
    })) {
      expect([what, (counts?.[what] ?? 0) >= least]).toEqual([what, true]);
    }
  },
  VERIFY_LIMIT_MS,
);

it(
  'verify finds nothing in the demo’s history with a running rental',
  async () => {
    const receiver = service.accounts[2]?.address ?? '';
    const order = { receive_address: receiver, energy: 65_000, duration_sec: 86_400 };
    await client.orders.createAndWait(order, { idempotencyKey: 'one-more', until: 'settled' });
    expect(await service.cli('verify')).toMatchObject({ ok: true, violations: 0, unmade: [] });
  },
  VERIFY_LIMIT_MS,
);

it('the command of an order’s proof answers the addresses that the page shows', async () => {
  const { cookie } = await opened(consoles.link('merchant'));
  const { body } = await read('merchant', `/api/projects/${merchantId}/orders/one-more`, cookie);
  const [proof] = body['proof'] as { check: string; owner_address: string; receive_address: string }[];
  const { stdout } = await promisify(execFile)('sh', ['-c', proof!.check]);
  expect(stdout).toContain(`"owner_address":"${proof!.owner_address}"`);
  expect(stdout).toContain(`"receiver_address":"${proof!.receive_address}"`);
});

it('no balance in the demo’s history was ever below zero', async () => {
  const below = await database.query(
    `SELECT FROM (SELECT sum(credits) OVER (PARTITION BY project_id ORDER BY created_at, id) AS balance FROM credit_entry) e
      WHERE balance < 0`,
  );
  expect(below).toEqual([]);
});

it('whatever the merchants of the demo’s history paid in today, the next payment is credited as well', async () => {
  const [busiest] = await database.query<{ credits: string }>(
    `SELECT max(credits)::text AS credits FROM (
       SELECT sum(credits) AS credits FROM deposit WHERE status = 'credited' GROUP BY (changed_at AT TIME ZONE 'UTC')::date) days`,
  );
  const { deposits } = readConfig({ ...service.env, ...demoDeposits() }, 'cli');
  const credits = BigInt(busiest?.credits ?? '0');
  expect(credits).toBeGreaterThan(0n);
  expect(2n * credits).toBeLessThan(BigInt(deposits.autoMaxUsd) * CREDITS_PER_USD);
});

it('the demo’s orders are the same for the same seed', () => {
  const endMs = Date.UTC(2026, 0, 31, 12);
  const of = (seed: number) => planOrders(seed, endMs - HISTORY_DAYS * DAY_MS, endMs);
  expect(of(1)).toEqual(of(1));
  expect(of(2)).not.toEqual(of(1));
});

/** Opens a link as a browser would. Returns status, target and kept cookies. */
async function opened(link: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(link, { redirect: 'manual', headers });
  const cookies = response.headers.getSetCookie();
  return {
    status: response.status,
    location: response.headers.get('location'),
    cookies,
    cookie: cookies.map((line) => line.split(';', 1)[0]).join('; '),
  };
}

async function read(audience: Audience, path: string, cookie: string) {
  const response = await fetch(consoles.origins[audience] + path, { headers: { Cookie: cookie } });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

it.each(['merchant', 'operator'] as const)('a link of the demo signs in to the %ss’ console once', async (audience) => {
  const next: string[] = [];
  consoles.onLink = (of, link, wasUsed) => next.push([of, link, wasUsed].join(' '));
  const link = consoles.link(audience);
  // A prefetch does not use up the link.
  expect((await opened(link, { 'Sec-Purpose': 'prefetch' })).status).toBe(405);
  const first = await opened(link);
  expect([first.status, first.location]).toEqual([303, `${consoles.origins[audience]}/`]);
  for (const line of first.cookies) expect(line).toMatch(/; HttpOnly; SameSite=Strict/);
  const session = await read(audience, '/api/session', first.cookie);
  expect(session).toMatchObject({ status: 200, body: { stage: 'signed_in' } });

  const second = await opened(link);
  expect([second.status, second.cookies]).toEqual([410, []]);
  expect((await opened(link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))).status).toBe(410);
  const other = audience === 'merchant' ? 'operator' : 'merchant';
  expect((await read(other, '/api/session', first.cookie)).status).toBe(401);

  const [given = ''] = next;
  expect([next.length, given]).toEqual([1, expect.stringMatching(new RegExp(`^${audience} http.* true$`))]);
  expect((await opened(given.split(' ')[1] ?? '')).status).toBe(303);
});

it('the demo’s link that pays does it once, and leads whoever opens it to where the payment arrives', async () => {
  const [sender, recipient, treasury] = service.accounts;
  const actors = { sender: sender!, recipient: recipient!, treasury: treasury! };
  const scenario = new DemoScenario(service, actors, client, merchantServer, new Screen());
  const paid: string[] = [];
  const pay = async (): Promise<void> => {
    paid.push(String((await scenario.payIn(7_000_000n))['id']));
  };
  const early = consoles.link('payment');
  expect((await opened(early)).status).toBe(410);
  consoles.payment = { project: merchantId, pay };
  const first = await opened(early);
  const page = `${consoles.origins.merchant}/p/${merchantId}/billing/top-up`;
  expect([first.status, first.location]).toEqual([303, page]);
  // The browser need not have opened the other link before.
  const { body } = await read('merchant', '/api/session', first.cookie);
  expect(body).toMatchObject({ stage: 'signed_in' });
  expect((await opened(early)).status).toBe(410);
  expect(paid).toHaveLength(1);
  const credited = async () => {
    const { items } = await client.account.deposits().page();
    return items.find(({ txid, status }) => txid === paid[0] && status === 'credited');
  };
  expect(await until(credited, 60_000, 'the credits')).toMatchObject({ amount: '7.000000', asset: 'USDT' });
});

it('the home page that a link of the demo leads to shows the month', async () => {
  const { cookie } = await opened(consoles.link('merchant'));
  const { body } = await read('merchant', `/api/projects/${history.projects[0] ?? ''}/home`, cookie);
  const { orders } = body['last_30_days'] as { orders: number };
  expect(orders).toBeGreaterThan(300);
  expect(body).toMatchObject({ needs_you: [], running: [{ order_key: 'one-more' }] });
});
