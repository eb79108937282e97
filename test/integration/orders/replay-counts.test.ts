// Replays of an order: counted by every process, written in batches, shown on the order's page.
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { ReplayCounts } from '../../../src/modules/orders/replay-counts.js';
import { until } from '../../../packages/local/src/wait.js';
import type { Customer } from '../../support/api/client.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { seedTestCanaries } from '../../support/cli.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

const WRITTEN_LIMIT_MS = 30_000;
const START_LIMIT_MS = 120_000;

let fixture: OrderFixture;
let merchants: TestConsole;
let customer: Customer;
let owner: Account;

beforeAll(async () => {
  fixture = await openOrderFixture();
  const databaseUrl = fixture.env['DATABASE_URL']!;
  await seedTestCanaries(databaseUrl);
  merchants = await openConsole(databaseUrl, 'merchant');
  customer = await makeCustomer(fixture.api);
  owner = await merchants.signedIn('owner', customer.merchant);
}, START_LIMIT_MS);

afterAll(async () => {
  await merchants.close();
  await fixture.close();
}, START_LIMIT_MS);

const buy = async (key: string, at: Customer = customer): Promise<string | undefined> => {
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  const answer = await at.post('/v1/orders', body, withKey(key));
  expect(answer.status).toBe(202);
  return answer.headers['idempotency-replayed'];
};

async function shown(key: string): Promise<{ replays: number; last_replayed_at?: string }> {
  const page = await owner.browser.get(`/api/projects/${customer.merchant}/orders/${key}`);
  expect(page.status).toBe(200);
  return page.body.request as { replays: number; last_replayed_at?: string };
}

const shownAs = (key: string, replays: number) =>
  until(async () => ((await shown(key)).replays === replays ? true : undefined), WRITTEN_LIMIT_MS, 'the replays');

it('counts each replay of an order, concurrent ones too, and shows the time of the last one', async () => {
  const [first, ...again] = await Promise.all([1, 2, 3, 4].map(() => buy('at-once')));
  expect([first, ...again].filter((replayed) => replayed === undefined)).toHaveLength(1);
  expect(await shown('at-once')).toMatchObject({ replays: expect.any(Number) });
  await buy('at-once');
  await buy('once');
  await shownAs('at-once', 4);
  const { last_replayed_at: lastAt } = await shown('at-once');
  expect(new Date(lastAt!).getTime()).not.toBeNaN();
  expect(await shown('once')).toMatchObject({ replays: 0 });
  expect(await shown('once')).not.toHaveProperty('last_replayed_at');
});

it('adds the counts of another process, which writes the rest when it stops', async () => {
  await buy('by-two');
  await buy('by-two');
  const second: TestApi = await openApi(fixture.env);
  try {
    const elsewhere = customer.at(second.baseUrl);
    for (let count = 0; count < 3; count += 1) expect(await buy('by-two', elsewhere)).toBe('true');
  } finally {
    await second.close();
  }
  // The first process may still hold its own count.
  expect((await shown('by-two')).replays).toBeGreaterThanOrEqual(3);
  await shownAs('by-two', 4);
});

it('remembers a bounded number of orders, and reports the replays it left out', async () => {
  const metrics = new Metrics();
  const counts = new ReplayCounts(fixture.api.database, metrics, openLog('silent'));
  // Ids without an order: the write drops them.
  for (let id = 1_000_000n; id < 1_020_003n; id += 1n) counts.countReplay(id);
  counts.countReplay(1_000_000n);
  await counts.beforeApplicationShutdown();
  expect(await metrics.registry.metrics()).toContain('order_replays_uncounted_total 3');
});
