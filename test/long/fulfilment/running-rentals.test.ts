// A running rental keeps its sold energy when the network's stake grows: it is topped up once and reclaimed completely.
import 'reflect-metadata';
import { jest } from '@jest/globals';
import { TOP_UP_LEGS_MAX } from '../../../src/domain/order-state.js';
import { Market } from '../../../src/modules/quotes/market.js';
import { until } from '../../../packages/local/src/wait.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { delegatedSunOf } from '../../support/chain/order-chain.js';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  full,
  loseLeases,
  SteppedWorker,
  makeChild,
  mine,
  openChild,
  openMaker,
  openFixtureWithCalls,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  rent,
  SOLID_LAG,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';

const SOLD = 50_000;
/** Chain time: ten minutes, in blocks of three seconds. */
const DURATION_SEC = 600;
const SWALLOWED = { says: '{"result":true,"code":"SUCCESS"}' };
const receiver = receivers[0]!;

beforeAll(async () => {
  await openFixtureWithCalls({ MARKET_REFRESH_SEC: '1' });
  weight = (await resources()).totalEnergyWeight;
}, START_LIMIT_MS);
// Orders are sized by the current ratio, so this resets it.
beforeEach(async () => {
  await devnet.control('energy-weight', { trx: Number(weight) });
  const isKnown = (): true | undefined =>
    api.app.get(Market, { strict: false }).current().ratio.totalEnergyWeight === weight ? true : undefined;
  await until(() => Promise.resolve(isKnown()), 20_000, 'the ratio being known');
}, START_LIMIT_MS);
afterEach(async () => {
  await mine(DURATION_SEC / 3);
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

let weight = 0n;

const resources = () => api.app.get(TronClient).accountResources(receiver);

/** Sets the network's stake to `percent` of its previous amount, by foreign stake. */
async function networkGrows(percent: number, worker: SteppedWorker): Promise<void> {
  await devnet.control('energy-weight', { percent });
  await mine();
  await worker.followChain();
}

/** Returns the energy of all our delegations to the receiver, by the chain's current figures. */
async function standing(): Promise<bigint> {
  const { totalEnergyLimit, totalEnergyWeight } = await resources();
  const sun = await delegatedSunOf(devnet.fullUrl, pool.address, receiver);
  return (sun * totalEnergyLimit) / (1_000_000n * totalEnergyWeight);
}

interface Leg {
  readonly status: string;
  readonly top_up: boolean;
}

async function legsOf(key: string): Promise<string[]> {
  const rows = await api.database.query<Leg>(
    `SELECT l.status, l.top_up FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1 ORDER BY l.leg_no`,
    [key],
  );
  return rows.map((leg) => `${leg.top_up ? 'top-up ' : ''}${leg.status}`);
}

async function settledRental(worker: SteppedWorker, durationSec = DURATION_SEC, to = receiver): Promise<string> {
  const key = await rent(to, SOLD, durationSec);
  await mine();
  await worker.followChain();
  await worker.advance();
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  return key;
}

/** Advances a started top-up into a solid block. */
async function arrive(worker: SteppedWorker): Promise<void> {
  await worker.advance();
  await mine(SOLID_LAG + 1);
  await worker.followChain();
}

async function runOut(worker: SteppedWorker, key: string): Promise<void> {
  await mine(DURATION_SEC / 3);
  await worker.followChain();
  await worker.reclaimEnded();
  for (let round = 0; round < 4; round += 1) {
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    await worker.advance();
  }
  const [row] = await api.database.query<{ isOver: boolean; resting: boolean }>(
    `SELECT reclaimed_at IS NOT NULL AS "isOver", next_run_at IS NULL AS resting FROM orders WHERE key = $1`,
    [key],
  );
  expect(row).toEqual({ isOver: true, resting: true });
  expect(await delegatedSunOf(devnet.fullUrl, pool.address, receiver)).toBe(0n);
}

async function expectSoundRecords(): Promise<void> {
  const report = await verifyRecords(api.database);
  expect(report.checks.flatMap(({ findings }) => findings)).toEqual([]);
}

it('a rental that the network’s growth halves is topped up to what was sold, and all of it is reclaimed at its end', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker);
  const before = (await customer.get(`/v1/orders/${key}`)).body;
  expect(await worker.topUp()).toBe(0);
  await networkGrows(200, worker);
  expect(Number(await standing())).toBeLessThan(SOLD * 0.6);
  expect(await worker.topUp()).toBe(1);
  expect(await legsOf(key)).toEqual(['active', 'top-up reserved']);
  await arrive(worker);
  expect(await legsOf(key)).toEqual(['active', 'top-up active']);
  expect(Number(await standing())).toBeGreaterThanOrEqual(SOLD);
  // The order is unchanged except for the added delegation.
  const { delegations, ...after } = (await customer.get(`/v1/orders/${key}`)).body;
  const { delegations: first, ...was } = before;
  expect(after).toEqual(was);
  expect(delegations).toHaveLength((first as unknown[]).length + 1);
  expect(await worker.topUp()).toBe(0);
  await expectSoundRecords();
  await runOut(worker, key);
  expect(await legsOf(key)).toEqual(['reclaimed', 'top-up reclaimed']);
  await expectSoundRecords();
});

it('two workers top a rental up once, and one whose claim was lost adds nothing', async () => {
  const [one, two] = [await SteppedWorker.open(), await SteppedWorker.open()];
  const key = await settledRental(one);
  await networkGrows(200, one);
  await two.followChain();
  const claims = await Promise.all([one.topUp(), two.topUp()]);
  expect(claims.reduce((sum, count) => sum + count, 0)).toBe(1);
  const [stale] = await one.orderClaims().claimDue(1);
  await api.database.query(
    `UPDATE orders SET lease_until = NULL, next_run_at = clock_timestamp(), fence = fence + 1 WHERE key = $1`,
    [key],
  );
  await one.advancer().advance([stale!]);
  await arrive(two);
  expect(await one.topUp()).toBe(0);
  expect(await legsOf(key)).toEqual(['active', 'top-up active']);
});

it('a top-up whose worker dies before it releases the rental is delivered by another worker', async () => {
  const [one, two] = [await SteppedWorker.open(), await SteppedWorker.open()];
  const key = await settledRental(one);
  await networkGrows(200, one);
  const released = jest.spyOn(one.orderClaims(), 'release').mockRejectedValueOnce(new Error('died'));
  await expect(one.topUp()).rejects.toThrow('died');
  released.mockRestore();
  expect(await legsOf(key)).toEqual(['active', 'top-up reserved']);
  await loseLeases();
  await two.followChain();
  expect(await two.topUp()).toBe(0);
  await arrive(two);
  expect(await legsOf(key)).toEqual(['active', 'top-up active']);
  await runOut(two, key);
});

it('while a top-up is on its way no other one is made, however far the network grows', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker);
  await networkGrows(200, worker);
  expect(await worker.topUp()).toBe(1);
  await networkGrows(400, worker);
  await worker.advance();
  expect(await legsOf(key)).toEqual(['active', 'top-up placed']);
  await arrive(worker);
  await runOut(worker, key);
});

it('less than one percent is no shortfall, nor is one with hardly any time left', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker);
  await networkGrows(101, worker);
  expect(await worker.topUp()).toBe(0);
  await networkGrows(200, worker);
  await mine(178);
  await worker.followChain();
  expect(await worker.topUp()).toBe(0);
  expect(await legsOf(key)).toEqual(['active']);
});

it('a top-up that dies is tried again; the rental stays delivered and ends in time', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker);
  await networkGrows(200, worker);
  full.before = (path) => (path === 'wallet/broadcasthex' ? SWALLOWED : undefined);
  await worker.topUp();
  await worker.advance();
  expect(await legsOf(key)).toEqual(['active', 'top-up placed']);
  await mine(PAST_VALIDITY);
  await worker.followChain();
  await worker.advance();
  full.rest();
  await arrive(worker);
  expect(await legsOf(key)).toEqual(['active', 'top-up active']);
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  await runOut(worker, key);
});

it('a top-up that dies twice is abandoned and made again; the dead one holds nothing', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker);
  await networkGrows(200, worker);
  full.before = (path) => (path === 'wallet/broadcasthex' ? SWALLOWED : undefined);
  await worker.topUp();
  for (let death = 0; death < 2; death += 1) {
    await worker.advance();
    await mine(PAST_VALIDITY);
    await worker.followChain();
    await worker.advance();
  }
  await worker.advance();
  full.rest();
  expect(await legsOf(key)).toEqual(['active', 'top-up released']);
  await expectSoundRecords();
  // Not immediately.
  expect(await worker.topUp()).toBe(0);
  await api.database.query(`UPDATE orders SET top_up_after = clock_timestamp() WHERE key = $1`, [key]);
  expect(await worker.topUp()).toBe(1);
  await arrive(worker);
  expect(await legsOf(key)).toEqual(['active', 'top-up released', 'top-up active']);
});

it('a rental whose receiver became a contract is not topped up again after the first death, and runs to its end', async () => {
  const worker = await SteppedWorker.open();
  const [caller] = callers;
  const maker = await openMaker(caller!);
  const child = await openChild(caller!, maker, 1);
  const key = await settledRental(worker, DURATION_SEC, child);
  await makeChild(caller!, maker, 1);
  await networkGrows(200, worker);
  expect(await worker.topUp()).toBe(1);
  await worker.advance();
  await mine(PAST_VALIDITY);
  await worker.followChain();
  for (let round = 0; round < 3; round += 1) await worker.advance();
  expect(await legsOf(key)).toEqual(['active', 'top-up released']);
  const topUpAgain = async (): Promise<number> => {
    await api.database.query(`UPDATE orders SET top_up_after = clock_timestamp() WHERE key = $1`, [key]);
    return worker.topUp();
  };
  expect(await topUpAgain()).toBe(1);
  expect(await legsOf(key)).toEqual(['active', 'top-up released']);
  expect(await worker.topUp()).toBe(0);
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  const wallets = await api.database.query(`SELECT status, deaths FROM pool_wallet WHERE role = 'pool'`);
  expect(wallets).toEqual([{ status: 'active', deaths: 0 }]);
  await expectSoundRecords();
  await runOut(worker, key);
  expect(await delegatedSunOf(devnet.fullUrl, pool.address, child)).toBe(0n);
  expect(await legsOf(key)).toEqual(['reclaimed', 'top-up released']);
});

it('a rental ends in time while the fate of its top-up is unknown, and is over when that is known', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker);
  await networkGrows(200, worker);
  full.before = (path) => (path === 'wallet/broadcasthex' ? SWALLOWED : undefined);
  await worker.topUp();
  await worker.advance();
  full.rest();
  // As if no worker had run from then until the rental's end.
  await mine(DURATION_SEC / 3 + SOLID_LAG);
  await worker.followChain();
  await worker.advance();
  await worker.advance();
  expect(await legsOf(key)).toEqual(['reclaiming', 'top-up released']);
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  await runOut(worker, key);
});

it('a top-up whose block is reverted is sent again', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker);
  await networkGrows(200, worker);
  await worker.topUp();
  await worker.advance();
  await mine();
  await worker.followChain();
  expect(await legsOf(key)).toEqual(['active', 'top-up active']);
  await devnet.control('fork', { depth: 1, drop: true });
  await mine(2);
  await worker.followChain();
  expect(await legsOf(key)).toEqual(['active', 'top-up placed']);
  expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: true });
  await arrive(worker);
  expect(await legsOf(key)).toEqual(['active', 'top-up active']);
  await runOut(worker, key);
});

it('without room a rental waits for it, resting; with room again it is topped up', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker);
  await networkGrows(200, worker);
  await api.database.query(`UPDATE pool_wallet SET status = 'paused', pause_reason = 'no room' WHERE role = 'pool'`);
  expect(await worker.topUp()).toBe(1);
  expect(await legsOf(key)).toEqual(['active']);
  expect(await worker.topUp()).toBe(0);
  const [row] = await api.database.query<{ resting: boolean }>(
    `SELECT next_run_at IS NULL AND top_up_after > clock_timestamp() AS resting FROM orders WHERE key = $1`,
    [key],
  );
  expect(row).toEqual({ resting: true });
  await api.database.query(`UPDATE pool_wallet SET status = 'active', pause_reason = NULL WHERE role = 'pool'`);
  await api.database.query(`UPDATE orders SET top_up_after = clock_timestamp() WHERE key = $1`, [key]);
  expect(await worker.topUp()).toBe(1);
  await arrive(worker);
  expect(Number(await standing())).toBeGreaterThanOrEqual(SOLD);
});

it('the number of top-ups of a rental is limited', async () => {
  const worker = await SteppedWorker.open();
  const key = await settledRental(worker, 3600);
  const topUps = async (): Promise<number> => (await legsOf(key)).filter((leg) => leg.startsWith('top-up')).length;
  // Each top-up adds a larger margin than the previous one, so the last ones take two steps each.
  for (let step = 0; step < 2 * TOP_UP_LEGS_MAX && (await topUps()) < TOP_UP_LEGS_MAX; step += 1) {
    await networkGrows(120, worker);
    await worker.advance();
    await worker.topUp();
    await arrive(worker);
  }
  expect(await topUps()).toBe(TOP_UP_LEGS_MAX);
  await worker.advance();
  await networkGrows(200, worker);
  expect(await worker.topUp()).toBe(1);
  expect(await topUps()).toBe(TOP_UP_LEGS_MAX);
  // It is not claimed repeatedly ahead of rentals that can still be topped up.
  expect(await worker.topUp()).toBe(0);
  await mine(1200);
});

it('the database refuses to make a leg a top-up of a rental that does not run', async () => {
  const worker = await SteppedWorker.open();
  const key = await rent(receiver, SOLD);
  const mark = `UPDATE leg SET top_up = true WHERE order_id = (SELECT id FROM orders WHERE key = $1)`;
  await expect(api.database.query(mark, [key])).rejects.toThrow('a top-up of a rental that does not run');
  await mine();
  await worker.followChain();
  await worker.advance();
  await mine(SOLID_LAG + 1);
  await worker.followChain();
  await expect(api.database.query(mark, [key])).rejects.toThrow('a top-up is made of what is reserved');
});
