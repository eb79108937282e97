// A wallet that stakes for bandwidth beside energy. Its stake beyond the kept units is for sale once bandwidth has a
// price, and from then on pays for no transaction of its own.
import 'reflect-metadata';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { actAs } from '../../support/chain/order-chain.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  mine,
  openFixture,
  pool,
  receivers,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

const TRX = 1_000_000;
const SPARE_TRX = 200_000;
const STAKED_TRX = 100_000;
/** The pool is the only staker for bandwidth, so a TRX of its stake yields 432 000 units. */
const UNITS_PER_TRX = 432_000;
const KEPT_TRX = 1000;
const KEPT = { POOL_BANDWIDTH_KEPT: (KEPT_TRX * UNITS_PER_TRX).toString() };

beforeAll(async () => {
  await openFixture(BigInt(SPARE_TRX * TRX));
  await act('freezebalancev2', { frozen_balance: STAKED_TRX * TRX, resource: 'BANDWIDTH' });
}, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function act(path: string, body: object): Promise<void> {
  await actAs(devnet.fullUrl, pool, path, { owner_address: pool.address, ...body });
  await mine(1);
}

async function ask(path: string, body: object): Promise<Record<string, number>> {
  const answer = await fetch(`${devnet.fullUrl}/wallet/${path}`, {
    method: 'POST',
    body: JSON.stringify({ visible: true, ...body }),
    signal: AbortSignal.timeout(5000),
  });
  return (await answer.json()) as Record<string, number>;
}

/** Sets the price of bandwidth in one row; null for none. */
const setPrice = async (price: number | null): Promise<void> => {
  await api.database.query(`UPDATE price_row SET sun_per_bandwidth = $1 WHERE duration_max_sec = 3600`, [price]);
};

interface Free {
  readonly bandwidth: bigint;
  readonly transactions: bigint;
  readonly energy: bigint;
}

async function free(): Promise<Free> {
  const [row] = await api.database.query<Free>(
    `SELECT sum(s.free_bandwidth_sun)::bigint AS bandwidth, sum(s.free_transactions)::bigint AS transactions,
        sum(s.free_sun)::bigint AS energy
       FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id WHERE w.role = 'pool'`,
  );
  return row!;
}

async function read(worker: SteppedWorker): Promise<Free> {
  await worker.poolSync().syncWallet(pool.address);
  return free();
}

const stakeFindings = async (): Promise<unknown[]> =>
  findingsOf(await verifyRecords(api.database, {})).filter(({ check }) => check === 'bandwidth-stake');

it('sells bandwidth stake beyond the kept units once it has a price, and none without one', async () => {
  const worker = await SteppedWorker.open(KEPT);
  const before = await read(worker);
  expect(before.bandwidth).toBe(0n);

  await setPrice(700);
  const priced = await read(worker);
  const most = (await ask('getcandelegatedmaxsize', { owner_address: pool.address, type: 0 }))['max_size']!;
  expect(priced.bandwidth).toBe(BigInt(most - KEPT_TRX * TRX));
  expect(priced.energy).toBe(before.energy);
  // Stake for sale pays for no transaction: the kept units and the TRX do.
  const { NetLimit: limit, NetUsed: used = 0 } = await ask('getaccountresource', { address: pool.address });
  const { balance } = await ask('getaccount', { address: pool.address });
  const own = limit! - Math.ceil(Number(priced.bandwidth) * (UNITS_PER_TRX / TRX));
  const paidFor = Math.floor((own - used) / 286) + Math.floor((balance! - 5 * TRX) / (286 * 1000));
  expect(priced.transactions).toBe(BigInt(paidFor));
  expect(await stakeFindings()).toEqual([]);

  await setPrice(null);
  expect(await read(worker)).toEqual(before);
});

it('keeps the bandwidth that open rentals still need, however little it is told to keep', async () => {
  const worker = await SteppedWorker.open({ POOL_BANDWIDTH_KEPT: '0' });
  await setPrice(700);
  const before = await read(worker);
  const order = { receive_address: receivers[0]!, energy: 65_000, duration_sec: 300 };
  expect((await customer.post('/v1/orders', order)).status).toBe(202);
  // A delegation and its reclaim of 286 units each.
  const needed = BigInt(Math.ceil((2 * 286 * TRX) / UNITS_PER_TRX));
  expect((await read(worker)).bandwidth).toBe(before.bandwidth - needed);
  await setPrice(null);
});

it('sells less after its owner has lent bandwidth, and verify compares the sum with the stake', async () => {
  const worker = await SteppedWorker.open(KEPT);
  await setPrice(700);
  const before = await read(worker);
  const lent = { receiver_address: receivers[0], balance: 30_000 * TRX, resource: 'BANDWIDTH' };
  await act('delegateresource', lent);
  const after = await read(worker);
  // The delegation itself takes a few units.
  expect(before.bandwidth - after.bandwidth).toBeGreaterThanOrEqual(BigInt(30_000 * TRX));
  expect(before.bandwidth - after.bandwidth).toBeLessThan(BigInt(30_001 * TRX));
  const wallets = await api.database.query(
    `SELECT staked_bandwidth_sun AS staked, delegated_bandwidth_sun AS lent FROM pool_wallet WHERE role = 'pool'`,
  );
  expect(wallets).toEqual([{ staked: BigInt(STAKED_TRX * TRX), lent: BigInt(30_000 * TRX) }]);
  expect(await stakeFindings()).toEqual([]);
  await api.database.query(
    `UPDATE pool_slot SET free_bandwidth_sun = free_bandwidth_sun + 2000000000
      WHERE slot_no = 1 AND wallet_id = (SELECT id FROM pool_wallet WHERE role = 'pool')`,
  );
  expect(await stakeFindings()).toHaveLength(1);
  expect((await read(worker)).bandwidth).toBe(after.bandwidth);
  await act('undelegateresource', lent);
  await setPrice(null);
});
