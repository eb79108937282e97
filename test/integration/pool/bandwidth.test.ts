// A wallet with little TRX for bandwidth. Accepted orders are delivered and reclaimed; the rest are refused before a
// charge. A wallet that no worker reads sells nothing.
import 'reflect-metadata';
import { sun } from '../../../src/domain/units.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { until } from '../../../packages/local/src/wait.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  full,
  SteppedWorker,
  mine,
  openFixture,
  PAST_VALIDITY,
  pool,
  receivers,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';

/** Twelve TRX less a reserve of five pay for 24 transactions of 286 bytes: twelve orders. */
const SPARE_SUN = 12_000_000n;
const ORDERS_PAID_FOR = 12;
const ORDERS = 60;

beforeAll(() => openFixture(SPARE_SUN), START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const order = (index: number) => ({
  receive_address: receivers[index % receivers.length]!,
  energy: 6300,
  duration_sec: 300,
});

const balance = async (): Promise<number> => (await customer.get('/v1/balance')).body.credits_balance as number;

const freeTransactions = async (): Promise<bigint> => {
  const [row] = await api.database.query<{ free: bigint }>(
    `SELECT sum(s.free_transactions)::bigint AS free FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id WHERE w.role = 'pool'`,
  );
  return row!.free;
};

const keepsItsRules = async () => {
  const findings = findingsOf(await verifyRecords(api.database, {}));
  return findings.filter(({ check }) => ['bandwidth', 'capacity'].includes(check));
};

it('sells as many of sixty small orders as the wallet can pay for, and does not charge the rest', async () => {
  const worker = await SteppedWorker.open();
  await worker.poolSync().syncWallet(pool.address);
  expect(await freeTransactions()).toBe(24n);
  const before = await balance();
  const answers = await Promise.all(
    Array.from({ length: ORDERS }, (_, index) => customer.post('/v1/orders', order(index))),
  );
  const taken = answers.filter(({ status }) => status === 202);
  const refused = answers.filter(({ status }) => status !== 202);
  expect(taken).toHaveLength(ORDERS_PAID_FOR);
  for (const { status, body, headers } of refused) {
    expect({ status, error: body.error }).toEqual({ status: 503, error: 'CAPACITY_UNAVAILABLE' });
    expect(headers['retry-after']).toBeDefined();
  }
  expect(before - (await balance())).toBe(taken.reduce((sum, { body }) => sum + (body.credits as number), 0));
  expect(await freeTransactions()).toBe(0n);
  expect(await keepsItsRules()).toEqual([]);

  for (let round = 0; round < 4; round += 1) {
    await mine(2);
    await worker.followChain();
    await worker.advance();
    // The wallet is synced in between, and the needs of open orders are never sold again. The account's free bandwidth
    // saves some TRX.
    await worker.poolSync().syncWallet(pool.address);
    expect(await freeTransactions()).toBeLessThan(4n);
    expect(await keepsItsRules()).toEqual([]);
  }
  await mine(100);
  for (let round = 0; round < 6; round += 1) {
    await worker.followChain();
    await worker.reclaimEnded();
    await mine(PAST_VALIDITY);
    await worker.followChain();
    await worker.advance();
  }
  const seen = await api.database.query(
    `SELECT o.status, o.reclaimed_at IS NOT NULL AS reclaimed, l.status AS leg, count(*)::int AS count
       FROM orders o JOIN leg l ON l.order_id = o.id GROUP BY 1, 2, 3`,
  );
  expect(seen).toEqual([{ status: 'delivered', reclaimed: true, leg: 'reclaimed', count: ORDERS_PAID_FOR }]);
  // The account's free bandwidth saved some TRX, which may be sold again.
  await worker.poolSync().syncWallet(pool.address);
  const left = await freeTransactions();
  expect(left).toBeLessThan(24n);
  const account = (await (
    await fetch(`${devnet.fullUrl}/wallet/getaccount`, {
      method: 'POST',
      body: JSON.stringify({ address: pool.address, visible: true }),
      signal: AbortSignal.timeout(5000),
    })
  ).json()) as { balance: number };
  expect(left).toBe((sun(account.balance) - 5_000_000n) / 286_000n);
});

it('a leg whose delegation is recorded during the wallet’s reading keeps its share, whenever that commits', async () => {
  const worker = await SteppedWorker.open();
  expect((await customer.post('/v1/orders', order(0))).status).toBe(202);
  const gate = () => {
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    return { open, opened };
  };
  const [recorded, record, locked, unlock] = [gate(), gate(), gate(), gate()];
  // A worker that is slow between its write and its commit.
  const recording = api.database.transaction(async (tx) => {
    await tx.query(`SET LOCAL session_replication_role = replica`);
    await tx.query(`UPDATE leg SET status = 'active', changed_at = clock_timestamp() WHERE status = 'reserved'`);
    recorded.open();
    await record.opened;
  });
  await recorded.opened;
  const buying = api.database.transaction(async (tx) => {
    await tx.query(`SELECT FROM pool_slot FOR UPDATE`);
    locked.open();
    await unlock.opened;
  });
  await locked.opened;
  const reading = worker.poolSync().syncWallet(pool.address);
  const isWaiting = async (): Promise<true | undefined> => {
    const waiting = await api.database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%pool_slot%'`,
    );
    return waiting.length > 0 ? true : undefined;
  };
  await until(isWaiting, 10_000, 'the reading that waits for the slots', 10);
  record.open();
  await recording;
  unlock.open();
  await Promise.all([buying, reading]);
  // Only the bandwidth check: the chain does not know this delegation, so its stake counts as free.
  expect((await keepsItsRules()).filter(({ check }) => check === 'bandwidth')).toEqual([]);
});

it('a wallet without a successful reading for a minute is no candidate, however often it was tried', async () => {
  const worker = await SteppedWorker.open();
  const spent = await balance();
  // Enough to sell, regardless of the TRX that the previous test burnt.
  const prepare = async (sellsFor: string) =>
    api.database.query(
      `UPDATE pool_wallet SET read_at = clock_timestamp() - interval '1 day',
         sells_until = clock_timestamp() + $1::interval`,
      [sellsFor],
    );
  await worker.poolSync().syncWallet(pool.address);
  await api.database.query(`UPDATE pool_slot SET free_transactions = 2`);
  await prepare('1 hour');
  expect((await customer.post('/v1/orders', order(0))).status).toBe(202);

  await prepare('-1 second');
  full.before = (path) => (path === 'wallet/getaccount' ? { says: '{}', status: 500 } : undefined);
  await expect(worker.poolSync().syncWallet(pool.address)).rejects.toThrow();
  const refused = await customer.post('/v1/orders', order(1));
  expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 503, error: 'CAPACITY_UNAVAILABLE' });
  expect(spent - (await balance())).toBe(1_861_200);
  // The API caches for a while that the pool is sold out. The order must not be refused because of that.
  const quoted = async () => ((await customer.post('/v1/quotes', order(2))).status === 503 ? true : undefined);
  await until(quoted, 10_000, 'a quote that is refused', 100);

  full.rest();
  await worker.poolSync().syncWallet(pool.address);
  // A day without a reading was an outage, so it does not lengthen the selling period.
  const [row] = await api.database.query<{ sec: number }>(
    `SELECT extract(epoch FROM sells_until - read_at)::float8 AS sec FROM pool_wallet WHERE role = 'pool'`,
  );
  expect(row!.sec).toBeLessThanOrEqual(900);
  await api.database.query(`UPDATE pool_slot SET free_transactions = 2`);
  const sold = await customer.post('/v1/orders', order(2));
  expect({ status: sold.status, error: sold.body.error }).toEqual({ status: 202, error: undefined });
});

it('a wallet sells for longer if the workers’ round takes longer', async () => {
  const worker = await SteppedWorker.open();
  const sellsFor = async (readAgo: string, soldFor: string): Promise<number> => {
    await api.database.query(
      `UPDATE pool_wallet SET read_at = clock_timestamp() - $1::interval,
         sells_until = clock_timestamp() - $1::interval + $2::interval WHERE role = 'pool'`,
      [readAgo, soldFor],
    );
    await worker.poolSync().syncWallet(pool.address);
    const [row] = await api.database.query<{ sec: number }>(
      `SELECT extract(epoch FROM sells_until - read_at)::float8 AS sec FROM pool_wallet WHERE role = 'pool'`,
    );
    return row!.sec;
  };
  expect(await sellsFor('2 seconds', '60 seconds')).toBe(60);
  const slow = await sellsFor('40 seconds', '60 seconds');
  expect(slow).toBeGreaterThan(119);
  expect(slow).toBeLessThanOrEqual(180);
  expect(await sellsFor('1 day', '60 seconds')).toBeCloseTo(180, 1);
  expect(await sellsFor('1 day', '1 day')).toBeCloseTo(900, 1);
});
