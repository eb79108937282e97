// Top-ups that replace used energy: races of workers, the operators' view, and closing of usage readings.
import 'reflect-metadata';
import { CostRecorder } from '../../../src/modules/costs/cost-recorder.js';
import { closeReadings, readReceiverUsage } from '../../../src/modules/fulfilment/loop/receiver-usage.js';
import { until } from '../../../packages/local/src/wait.js';
import { archive, judge, numberAll } from '../../support/worker/archive-fixture.js';
import { HmacCustomer } from '../../support/api/client.js';
import { cliWith } from '../../support/cli.js';
import { withKey } from '../../support/api/order-fixture.js';
import {
  nextCaller,
  api,
  clearFixture,
  closeFixture,
  customer,
  env,
  SteppedWorker,
  mine,
  openFixtureWithCalls,
  orderOf,
  rent,
  SOLID_LAG,
  fixtureDatabaseUrl,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import {
  endAll,
  endShort,
  expectSoundRecords,
  goOnUntil,
  isEmpty,
  LONG_SEC,
  makeUp,
  settled,
  SHORT_SEC,
  spend,
  topUpsOf,
  usable,
  usageOf,
} from '../../support/worker/usable-energy-fixture.js';

beforeAll(() => openFixtureWithCalls(), START_LIMIT_MS);
afterEach(async () => {
  await mine((2 * LONG_SEC) / 3);
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const FREE = 'free top-up: a rental that ended beside it left used energy on the receiver';

it('explain shows a top-up and its cause, also of an archived order', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const running = await settled(worker, caller.address, 30_000, LONG_SEC);
  const ended = await settled(worker, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(worker, caller.address);
  await makeUp(worker, caller.address);
  const explained = async (): Promise<string> =>
    (await cliWith(env)('orders', 'explain', running)).out.replaceAll(/\s+/g, ' ');
  expect(await explained()).toContain(FREE);
  await endAll(worker, caller.address);
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  await numberAll();
  await worker.part(CostRecorder).workBetweenBlocks(0n, 1_000_000);
  for (const key of [running, ended]) await judge(key);
  await archive();
  const [kept] = await api.database.query<{ cause: string }>(
    `SELECT l.top_up_cause AS cause FROM archived_leg l JOIN archived_orders o ON o.id = l.order_id WHERE o.key = $1 AND l.top_up`,
    [running],
  );
  expect(kept).toEqual({ cause: 'usage' });
  expect(await explained()).toContain(FREE);
});

it('a reading is closed once no rental that ran beside the reclaim goes on', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  await settled(worker, caller.address, 30_000, LONG_SEC);
  await settled(worker, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(worker, caller.address);
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('SET session_replication_role = replica');
    await client.query(`UPDATE reclaim_usage SET read_at = read_at - interval '1 hour'`);
  });
  await closeReadings(api.database, 1_000);
  expect(await usageOf(caller.address)).toMatchObject([{ weighed: false }]);
  await endAll(worker, caller.address);
  await closeReadings(api.database, 1_000);
  expect(await usageOf(caller.address)).toMatchObject([{ weighed: true, left: null }]);
});

it('a receiver’s usage names the block of each delegation, running or ended', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const keys = [
    await settled(worker, caller.address, 30_000, LONG_SEC),
    await settled(worker, caller.address, 60_000, SHORT_SEC),
  ];
  await endShort(worker, caller.address);
  const reclaiming = `SELECT 1 FROM leg WHERE receive_address = $1 AND status = 'reclaiming'`;
  await goOnUntil(worker, 'the reclaim in a solid block', () => isEmpty(reclaiming, caller.address));
  const recorded = await api.database.query<{ block: number; energy: bigint }>(
    `SELECT t.block_number::int AS block, l.energy FROM orders o JOIN leg l ON l.order_id = o.id JOIN chain_tx t ON t.leg_id = l.id
      WHERE o.key = ANY ($1) AND t.purpose = 'delegate' ORDER BY t.block_number`,
    [keys],
  );
  expect(recorded).toHaveLength(2);
  const usage = (await readReceiverUsage(api.database, [caller.address])).get(caller.address);
  expect(usage?.deliveries.toSorted((a, b) => a.block - b.block)).toEqual(recorded);
});

const WAITING = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

it('two workers that top up different rentals of one receiver reserve one top-up', async () => {
  const [first, second] = [await SteppedWorker.open(), await SteppedWorker.open()];
  const caller = nextCaller();
  const earlier = await settled(first, caller.address, 30_000, LONG_SEC);
  await settled(first, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(first, caller.address);
  const ofFirst = await first.claimLost();
  // A rental with a later end becomes the one to top up.
  const later = await settled(second, caller.address, 30_000, LONG_SEC + 600);
  const ofSecond = await second.claimLost();
  expect([ofFirst.length, ofSecond.length]).toEqual([1, 1]);
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('BEGIN');
    await client.query(`SELECT FROM open_orders WHERE key = ANY ($1) FOR UPDATE`, [[earlier, later]]);
    const both = [first.advancer().advance(ofFirst), second.advancer().advance(ofSecond)];
    const bothWait = async () => ((await api.database.query(WAITING)).length >= 2 ? true : undefined);
    await until(bothWait, 20_000, 'both workers waiting');
    await client.query('COMMIT');
    await Promise.all(both);
  });
  await makeUp(second, caller.address);
  expect([...(await topUpsOf(earlier)), ...(await topUpsOf(later))]).toHaveLength(1);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(60_000);
  await expectSoundRecords();
});

it('a reclaim beside an extension, a second order and two workers leaves each rental what it sold', async () => {
  const workers = [await SteppedWorker.open(), await SteppedWorker.open()];
  const caller = nextCaller();
  const running = await settled(workers[0]!, caller.address, 30_000, LONG_SEC);
  await settled(workers[0]!, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await mine(SHORT_SEC / 3 + 1);
  for (const worker of workers) await worker.followChain();
  const merchant = new HmacCustomer(api.baseUrl, customer.merchant, customer.apiKey);
  const extension = merchant.post(`/v1/orders/${running}/extensions`, { duration_sec: 600 }, withKey('longer'));
  const [extended, second] = await Promise.all([
    extension,
    rent(caller.address, 40_000, LONG_SEC),
    ...workers.map((worker) => worker.reclaimEnded()),
  ]);
  expect(extended.status).toBe(200);
  const isSettled = async () => (await orderOf(second)).settled;
  await goOnUntil(workers[0]!, 'the second order settled', isSettled);
  await endShort(workers[0]!, caller.address);
  await Promise.all(workers.map(async (worker) => makeUp(worker, caller.address)));
  const topUps = [...(await topUpsOf(running)), ...(await topUpsOf(second))];
  expect(topUps.filter(({ status }) => status === 'active')).toHaveLength(1);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(70_000);
  expect(await usable(caller.address)).toBeLessThan(74_000);
  await expectSoundRecords();
});
