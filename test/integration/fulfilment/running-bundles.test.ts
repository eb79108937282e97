// A running rental keeps the bandwidth that was sold with its energy: each resource is topped up by its own ratio.
import 'reflect-metadata';
import { Market } from '../../../src/modules/quotes/market.js';
import { until } from '../../../packages/local/src/wait.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { priceBandwidth } from '../../support/api/bandwidth-sale.js';
import { actAs } from '../../support/chain/order-chain.js';
import { cliWith, seedTestCanaries } from '../../support/cli.js';
import {
  bundleOf,
  buyBundle,
  delegatedOnChain,
  faults,
  legsOf,
  openBundleFixture,
  step,
} from '../../support/worker/bundle-fixture.js';
import {
  api,
  clearFixture,
  closeFixture,
  devnet,
  env,
  fixtureDatabaseUrl,
  mine,
  pool,
  receivers,
  second,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

const SUN_PER_TRX = 1_000_000;
const BANDWIDTH = 40_000;
const DURATION_SEC = 600;
const receiver = receivers[0]!;

beforeAll(async () => {
  await openBundleFixture();
  await seedTestCanaries(fixtureDatabaseUrl());
  await stakeElsewhere(4_900_000);
}, START_LIMIT_MS);
beforeEach(async () => {
  const { totalNetWeight } = await resources();
  const isKnown = () => api.app.get(Market, { strict: false }).current().bandwidthRatio?.totalNetWeight;
  await until(() => isKnown() === totalNetWeight || undefined, START_LIMIT_MS, 'the ratio of bandwidth');
}, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const resources = () => api.app.get(TronClient).accountResources(receiver);

/** Adds another party's stake for bandwidth. */
async function stakeElsewhere(trx: number): Promise<void> {
  const body = { owner_address: second.address, frozen_balance: trx * SUN_PER_TRX, resource: 'BANDWIDTH' };
  await actAs(devnet.fullUrl, second, 'freezebalancev2', body);
  await mine();
}

async function networkGrows(worker: SteppedWorker): Promise<void> {
  await stakeElsewhere(Number((await resources()).totalNetWeight / 2n));
  await worker.followChain();
}

/** Returns the bandwidth of the pool's delegations to the receiver, by the chain's current figures. */
async function standing(): Promise<bigint> {
  const { totalNetLimit, totalNetWeight } = await resources();
  const sun = BigInt(await delegatedOnChain(receiver, 'bandwidth'));
  return (sun * totalNetLimit) / (BigInt(SUN_PER_TRX) * totalNetWeight);
}

async function settledBundle(worker: SteppedWorker): Promise<string> {
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, durationSec: DURATION_SEC }, worker);
  await worker.advance();
  await step(worker, SOLID_LAG + 2);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
  return key;
}

/** Mines until the rental has ended, and reclaims it. */
async function runOut(worker: SteppedWorker, key: string): Promise<void> {
  await mine(DURATION_SEC / 3);
  await worker.followChain();
  await worker.reclaimEnded();
  await step(worker, 2 * SOLID_LAG + 4);
  expect(await bundleOf(key)).toMatchObject({ reclaimed: true });
  expect([await delegatedOnChain(receiver, 'energy'), await delegatedOnChain(receiver, 'bandwidth')]).toEqual([0, 0]);
  await worker.poolSync().syncWallet(pool.address);
  expect(await faults()).toEqual([]);
}

/** Returns true for energy and for bandwidth if its top-ups rest. */
const restsOf = async (key: string): Promise<readonly boolean[]> => {
  const [row] = await api.database.query<{ energy: boolean; bandwidth: boolean }>(
    `SELECT top_up_after > clock_timestamp() AS energy, bandwidth_top_up_after > clock_timestamp() AS bandwidth
       FROM orders WHERE key = $1`,
    [key],
  );
  return [row!.energy, row!.bandwidth];
};

it('is topped up with bandwidth alone when the stake for bandwidth grows, and all of it is reclaimed', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const key = await settledBundle(worker);
  expect(await worker.topUp()).toBe(0);
  const before = await bundleOf(key);
  await networkGrows(worker);
  expect(Number(await standing())).toBeLessThan(BANDWIDTH * 0.99);
  expect(await worker.topUp()).toBe(1);
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active', 'bandwidth reserved']);
  await step(worker, SOLID_LAG + 2);
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active', 'bandwidth active']);
  expect(Number(await standing())).toBeGreaterThanOrEqual(BANDWIDTH);
  // The top-up is at the service's cost: the order shows the bandwidth that was sold and delivered.
  expect(await bundleOf(key)).toEqual(before);
  expect(await worker.topUp()).toBe(0);
  expect(await faults()).toEqual([]);
  // The chain's clock is years behind.
  const itsYear = ['--from', '2020-01-01', '--to', '2020-12-31'];
  const { out } = await cliWith({ ...env, USER: 'tester' })('report', ...itsYear, '--by', 'wallet');
  expect(out).toMatch(/Free top-ups: 0 energy, \d+ \d{3} bandwidth; their transactions burnt/);
  await runOut(worker, key);
});

it('gets a further leg of bandwidth alone when only the bandwidth of a delivery is less than was sold', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, durationSec: DURATION_SEC }, worker);
  await networkGrows(worker);
  await worker.advance();
  await step(worker);
  expect(await bundleOf(key)).toMatchObject({ status: 'placed', delivered_bandwidth: null });
  await step(worker, SOLID_LAG + 4);
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active', 'bandwidth active']);
  const delivered = await bundleOf(key);
  expect(delivered).toMatchObject({ status: 'delivered', settled: true });
  expect(delivered.delivered_bandwidth).toBeGreaterThanOrEqual(BigInt(BANDWIDTH));
  expect(await worker.topUp()).toBe(0);
  await runOut(worker, key);
});

it('without stake for bandwidth only the bandwidth waits, and energy is topped up', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const key = await settledBundle(worker);
  await api.database.query(`UPDATE pool_slot SET free_bandwidth_sun = 0`);
  await networkGrows(worker);
  expect(await worker.topUp()).toBe(1);
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active']);
  expect(await restsOf(key)).toEqual([null, true]);
  expect(await worker.topUp()).toBe(0);
  await devnet.control('energy-weight', { percent: 200 });
  await mine();
  await worker.followChain();
  expect(await worker.topUp()).toBe(1);
  await step(worker, SOLID_LAG + 2);
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active', 'rental active']);
  await devnet.control('energy-weight', { percent: 50 });
  await runOut(worker, key);
});

it('is topped up with bandwidth while its energy gets no more', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const key = await settledBundle(worker);
  await api.database.query(
    `UPDATE orders SET top_up_after = clock_timestamp() + interval '50 minutes' WHERE key = $1`,
    [key],
  );
  await networkGrows(worker);
  expect(await worker.topUp()).toBe(1);
  await step(worker, SOLID_LAG + 2);
  expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active', 'bandwidth active']);
  expect(await restsOf(key)).toEqual([true, null]);
  await runOut(worker, key);
});

describe('without a price of bandwidth any more', () => {
  afterEach(() => priceBandwidth(api), START_LIMIT_MS);

  const bandwidthForSale = async (worker: SteppedWorker): Promise<bigint> => {
    await worker.poolSync().syncWallet(pool.address);
    const [row] = await api.database.query<{ sun: bigint }>(
      `SELECT sum(free_bandwidth_sun)::bigint AS sun FROM pool_slot`,
    );
    return row!.sun;
  };
  const endSale = async (): Promise<void> => {
    await api.database.query(`UPDATE price_row SET sun_per_bandwidth = NULL`);
  };

  it('keeps what was sold, and sets nothing aside once the last rental with bandwidth is over', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const key = await settledBundle(worker);
    await endSale();
    expect(await bandwidthForSale(worker)).toBeGreaterThan(0n);
    await networkGrows(worker);
    expect(await worker.topUp()).toBe(1);
    expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active', 'bandwidth reserved']);
    await step(worker, SOLID_LAG + 2);
    expect(Number(await standing())).toBeGreaterThanOrEqual(BANDWIDTH);
    await runOut(worker, key);
    expect(await bandwidthForSale(worker)).toBe(0n);
  });

  it('delivers what was sold before', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, durationSec: DURATION_SEC }, worker);
    await endSale();
    expect(await bandwidthForSale(worker)).toBeGreaterThan(0n);
    await networkGrows(worker);
    await worker.advance();
    await step(worker, SOLID_LAG + 5);
    expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
    await runOut(worker, key);
  });
});
