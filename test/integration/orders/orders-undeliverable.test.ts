// No order is accepted that cannot be delivered now. A wallet sells for a bounded time after a worker read it, and each
// obstacle between worker and chain fails that reading.
import 'reflect-metadata';
import { until } from '../../../packages/local/src/wait.js';
import { solidHeadOf } from '../../../src/platform/chain/tron.client.js';
import { StartupGate } from '../../../src/modules/fulfilment/loop/startup-gate.js';
import { newOwner } from '../../support/chain/order-chain.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  full,
  mine,
  openFixture,
  orderOf,
  pool,
  receivers,
  solid,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

const STALL_LIMIT_MS = 30_000;

beforeAll(() => openFixture(), START_LIMIT_MS);
beforeEach(async () => {
  const worker = await SteppedWorker.open();
  // As in a pool that no worker has read yet.
  await query(`UPDATE pool_wallet SET read_at = NULL, sells_until = NULL`);
  for (const address of await wallets()) await worker.poolSync().syncWallet(address);
});
afterEach(async () => {
  await query(`DELETE FROM sales_stop`);
  await query(`UPDATE pool_wallet SET status = 'active', pause_reason = NULL`);
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const query = async <R extends object>(text: string): Promise<R[]> => api.database.query<R>(text);
const wallets = async (): Promise<string[]> =>
  (await query<{ address: string }>(`SELECT address FROM pool_wallet`)).map(({ address }) => address);
const order = () => customer.post('/v1/orders', { receive_address: receivers[0]!, energy: 50_000, duration_sec: 60 });
const activation = () => customer.post('/v1/activate', { address: newOwner().address });
const records = () => query(`SELECT balance_credits, (SELECT count(*) FROM orders) AS orders FROM credit_account`);

/** Lets the time pass for which the wallets sell without another reading. That time must be bounded. */
async function outlastSelling(): Promise<void> {
  const [bound] = await query<{ sec: number }>(
    `SELECT extract(epoch FROM max(sells_until - read_at))::float8 AS sec FROM pool_wallet`,
  );
  const rounds = 3 * api.config.pool.syncSec;
  expect(bound!.sec).toBeLessThanOrEqual(Math.max(60, rounds));
  await query(
    `UPDATE pool_wallet SET sells_until = sells_until - (sells_until - read_at), read_at = read_at - (sells_until - read_at)`,
  );
}

async function expectRefused(error = 'CAPACITY_UNAVAILABLE'): Promise<void> {
  const before = await records();
  for (const answer of [await order(), await activation()])
    expect([answer.status, answer.body.error]).toEqual([503, error]);
  expect(await records()).toEqual(before);
}

const silent = (): 'break' => 'break';

async function haltedWorker(): Promise<SteppedWorker> {
  const worker = await SteppedWorker.open({ TRON_HEAD_STALL_SEC: '1' });
  const [node] = worker.chain().pool.nodes;
  await node!.readHead();
  await until(() => Promise.resolve(node!.isMoving ? undefined : true), STALL_LIMIT_MS, 'the halt of the chain');
  return worker;
}

it.each([
  [
    'the full port is silent',
    'CHAIN_UNAVAILABLE',
    async () => {
      full.before = silent;
      return SteppedWorker.open();
    },
  ],
  ['the node is behind', 'CAPACITY_UNAVAILABLE', () => SteppedWorker.open({ TRON_HEAD_AGE_MAX_SEC: '60' })],
  ['the chain has halted', 'CAPACITY_UNAVAILABLE', haltedWorker],
  [
    'a fee is outside its bounds',
    'CAPACITY_UNAVAILABLE',
    async () => {
      full.change = (path, text) =>
        path.endsWith('getchainparameters') ? text.replace(/("getEnergyFee","value":)\d+/, '$1900000000') : text;
      return SteppedWorker.open();
    },
  ],
] as const)('refuses orders when %s, and accepts them after a reading', async (_, error, meet) => {
  const worker = await meet();
  await expect(worker.poolSync().syncWallet(pool.address)).rejects.toThrow();
  await outlastSelling();
  await expectRefused(error);
  full.rest();
  const later = await SteppedWorker.open();
  expect(await later.poolSync().syncWallet(pool.address)).toBe(true);
  expect((await order()).status).toBe(202);
});

it('refuses orders when no worker reads the wallets', async () => {
  await outlastSelling();
  await expectRefused();
});

it.each([
  ['an operator paused the wallets', `UPDATE pool_wallet SET status = 'paused', pause_reason = 'maintenance'`],
  ['the records disagree with the chain', `INSERT INTO sales_stop (reason, findings) VALUES ('ledger-balance', '[]')`],
])('refuses orders immediately when %s', async (_, obstacle) => {
  await query(obstacle);
  await expectRefused();
});

it('accepts orders without the solid port, since the full port delivers them', async () => {
  solid.before = silent;
  const worker = await SteppedWorker.open();
  expect(await worker.poolSync().syncWallet(pool.address)).toBe(true);
  const { status, body } = await order();
  expect(status).toBe(202);
  await mine();
  await worker.followChain();
  await worker.advance();
  await mine();
  await worker.followChain();
  expect(await orderOf(String(body.key))).toMatchObject({ status: 'delivered', settled: false });
});

it('starts fulfilment near the head of the search, however often a worker was killed before', async () => {
  const worker = await SteppedWorker.open();
  await mine(60 + SOLID_LAG);
  const { number } = await solidHeadOf(worker.chain().pool.nodes[0]!);
  await query(
    `UPDATE reconcile_state SET scanned_to = ${(number - 60).toString()}, searched_at = clock_timestamp() - interval '1 hour'`,
  );
  await expect(worker.part(StartupGate).wait(new AbortController().signal)).resolves.toBeUndefined();
});
