// Energy used by receivers while their rentals run, measured from solid blocks on the local chain.
import 'reflect-metadata';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import {
  nextCaller,
  api,
  clearFixture,
  closeFixture,
  mine,
  openFixtureWithCalls,
  orderOf,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
  useEnergy,
} from '../../support/worker/fulfilment-fixture.js';
import { endShort, goOnUntil, LONG_SEC, settled, SHORT_SEC } from '../../support/worker/usable-energy-fixture.js';

let worker: SteppedWorker;

beforeAll(async () => {
  await openFixtureWithCalls();
  worker = await SteppedWorker.open();
  // The cursor starts at the current solid head.
  await readSolid();
}, START_LIMIT_MS);
afterEach(async () => {
  await mine((2 * LONG_SEC) / 3);
  await readSolid();
}, START_LIMIT_MS);
afterAll(async () => {
  await clearFixture();
  await closeFixture();
}, START_LIMIT_MS);

/** Reads every block so far once it is solid. */
async function readSolid(): Promise<void> {
  await mine(SOLID_LAG + 1);
  while (await worker.part(BlockFollower).runPass());
}

interface Use {
  readonly energy: number;
  readonly calls: number;
}

/** Calls the contract in a block. Returns what the receipt says. */
async function call(caller: ReturnType<typeof nextCaller>, times = 10): Promise<Use> {
  const txid = await useEnergy(caller, times);
  await mine();
  const report = await api.app.get(TronClient).pool.ask('a receipt', async (node) => {
    const answer = await node.postFull('wallet/gettransactioninfobyid', { value: txid });
    return answer['receipt'] as { readonly energy_usage?: number };
  });
  return { energy: report.energy_usage ?? 0, calls: 1 };
}

/** Returns the recorded use of an order; zeros if there is no row. */
async function useOf(key: string): Promise<Use> {
  const rows = await api.database.query<{ energy: bigint; calls: number }>(
    `SELECT energy, calls FROM rental_use WHERE order_id = (SELECT id FROM orders WHERE key = $1)`,
    [key],
  );
  return rows[0] === undefined ? { energy: 0, calls: 0 } : { energy: Number(rows[0].energy), calls: rows[0].calls };
}

const sum = (...uses: readonly Use[]): Use => ({
  energy: uses.reduce((total, { energy }) => total + energy, 0),
  calls: uses.reduce((total, { calls }) => total + calls, 0),
});

it('adds up the staked energy of each call, and counts a block once', async () => {
  const caller = nextCaller();
  const key = await settled(worker, caller.address, 150_000, LONG_SEC);
  const uses = [await call(caller), await call(caller, 5)];
  await readSolid();
  expect(uses[0]!.energy).toBeGreaterThan(uses[1]!.energy);
  expect(await useOf(key)).toEqual(sum(...uses));
  await readSolid();
  expect(await useOf(key)).toEqual(sum(...uses));
});

it('counts no use before the rental, and none of an address without one', async () => {
  const [caller, other] = [nextCaller(), nextCaller()];
  const long = await settled(worker, caller.address, 150_000, LONG_SEC);
  const used = await call(caller);
  // It ends first, so a use while it ran would be its own.
  const short = await settled(worker, caller.address, 150_000, SHORT_SEC);
  await call(other);
  await readSolid();
  expect(used.energy).toBeGreaterThan(0);
  expect(await useOf(short)).toEqual({ energy: 0, calls: 0 });
  expect(await useOf(long)).toEqual(used);
});

it('counts a use of the last blocks although the rental is over when they are read, and none after them', async () => {
  const caller = nextCaller();
  const long = await settled(worker, caller.address, 150_000, LONG_SEC);
  const short = await settled(worker, caller.address, 150_000, SHORT_SEC);
  const used = await call(caller);
  await endShort(worker, caller.address);
  await goOnUntil(worker, 'a settled reclaim', async () => {
    const { id } = await orderOf(short);
    return (await api.database.query(`SELECT FROM leg WHERE order_id = $1 AND status = 'reclaimed'`, [id])).length > 0;
  });
  const after = await call(caller, 5);
  await readSolid();
  expect(after.energy).toBeGreaterThan(0);
  expect(await useOf(short)).toEqual(used);
  expect(await useOf(long)).toEqual(after);
});

it('counts no more than a rental can have given by its end, although its reclaim is late', async () => {
  const caller = nextCaller();
  const key = await settled(worker, caller.address, 40_000, SHORT_SEC);
  const first = await call(caller);
  await mine((2 * SHORT_SEC) / 3);
  const second = await call(caller);
  await readSolid();
  const most = Math.floor(40_000 * (1 + SHORT_SEC / 86_400));
  expect(first.energy + second.energy).toBeGreaterThan(most);
  expect((await useOf(key)).energy).toBe(most);
});

it('verify finds a use that the rental cannot have given, and one of no rental', async () => {
  const caller = nextCaller();
  const key = await settled(worker, caller.address, 40_000, LONG_SEC);
  await call(caller);
  await readSolid();
  const found = async (): Promise<readonly string[]> => {
    const { checks } = await verifyRecords(api.database);
    const { findings } = checks.find(({ check }) => check === 'rental-use')!;
    return findings.map(({ subject }) => subject);
  };
  expect(await found()).toEqual([]);
  const { id } = await orderOf(key);
  await api.database.query(`UPDATE rental_use SET energy = 42000 WHERE order_id = $1`, [id]);
  await api.database.query(`INSERT INTO rental_use VALUES (999999, 1, 1, 1)`);
  expect(await found()).toEqual([`order ${id.toString()}`, 'order 999999']);
  await api.database.query(`DELETE FROM rental_use WHERE order_id = ANY ($1)`, [[id, 999_999]]);
});

it('fills the rental that ends first, up to the energy it can have given, then the next', async () => {
  const caller = nextCaller();
  const long = await settled(worker, caller.address, 100_000, LONG_SEC);
  const short = await settled(worker, caller.address, 40_000, SHORT_SEC);
  const used = sum(await call(caller), await call(caller));
  await readSolid();
  const [ofShort, ofLong] = [await useOf(short), await useOf(long)];
  // Used energy recovers within a day, so a minute adds a little.
  expect(ofShort.energy).toBeGreaterThanOrEqual(40_000);
  expect(ofShort.energy).toBeLessThan(40_000 * (1 + SHORT_SEC / 86_400));
  expect(ofShort.energy + ofLong.energy).toBe(used.energy);
});
