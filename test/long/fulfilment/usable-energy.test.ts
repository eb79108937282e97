// A rental's sold energy stays usable when other rentals of its receiver end: on the local chain, with real energy use.
import 'reflect-metadata';
import { delegatedSunOf } from '../../support/chain/order-chain.js';
import {
  nextCaller,
  api,
  clearFixture,
  closeFixture,
  contract,
  devnet,
  full,
  SteppedWorker,
  loseLeases,
  mine,
  openFixtureWithCalls,
  PAST_VALIDITY,
  pool,
  START_LIMIT_MS,
  statusesOf,
  useEnergy,
} from '../../support/worker/fulfilment-fixture.js';
import {
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

const SWALLOWED = { says: '{"result":true,"code":"SUCCESS"}' };
const NO_ACCOUNT = { says: '{}' };
const isAbout = (path: string, body: string, address: string): boolean =>
  path.includes('getaccountresource') && body.includes(address);

beforeAll(() => openFixtureWithCalls(), START_LIMIT_MS);
afterEach(async () => {
  await mine((2 * LONG_SEC) / 3);
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function balanceOf(): Promise<bigint> {
  const [row] = await api.database.query<{ credits: bigint }>(
    `SELECT coalesce(sum(credits), 0)::bigint AS credits FROM credit_entry`,
  );
  return row!.credits;
}

it('a rental beside which a used one ends has all the energy that it sold, free of charge, until its own end', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const running = await settled(worker, caller.address, 28_057, LONG_SEC);
  await settled(worker, caller.address, 65_000, SHORT_SEC);
  expect(await spend(caller, 12)).toBeGreaterThan(28_057);
  const credits = await balanceOf();
  await endShort(worker, caller.address);
  // The chain left part of the ended rental's usage on the receiver.
  expect(await usable(caller.address)).toBeLessThan(20_000);
  await makeUp(worker, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(28_057);
  expect(await topUpsOf(running)).toEqual([{ status: 'active', cause: 'usage' }]);
  expect(await usageOf(caller.address)).toMatchObject([{ weighed: true }]);
  expect(await worker.topUp()).toBe(0);
  expect(await balanceOf()).toBe(credits);
  await expectSoundRecords();
  await mine(LONG_SEC / 3);
  await worker.followChain();
  await worker.reclaimEnded();
  const left = `SELECT 1 FROM leg WHERE receive_address = $1 AND status NOT IN ('reclaimed', 'released')`;
  await goOnUntil(worker, 'all reclaimed', () => isEmpty(left, caller.address));
  expect(await topUpsOf(running)).toEqual([{ status: 'reclaimed', cause: 'usage' }]);
  expect(await delegatedSunOf(devnet.fullUrl, pool.address, caller.address)).toBe(0n);
  await expectSoundRecords();
});

it('a call that needs exactly the sold energy burns nothing', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const outcome = await worker.chain().simulate({
    ownerAddress: caller.address,
    contractAddress: contract.address,
    functionSelector: 'heavy(uint256)',
    parameter: (10).toString(16).padStart(64, '0'),
  });
  const needed = outcome.kind === 'success' ? Number(outcome.energyUsed) : 0;
  await settled(worker, caller.address, needed, LONG_SEC);
  const txid = await useEnergy(caller, 10);
  await mine();
  const asked = { method: 'POST', body: JSON.stringify({ value: txid }) };
  const answer = await fetch(`${devnet.fullUrl}/wallet/gettransactioninfobyid`, asked);
  const { receipt } = (await answer.json()) as { receipt: Record<string, unknown> };
  expect(receipt).toMatchObject({ energy_usage: needed, energy_usage_total: needed, result: 'SUCCESS' });
  expect(receipt['energy_fee']).toBeUndefined();
});

it('only what the running rental used itself counts against it', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  await settled(worker, caller.address, 100_000, LONG_SEC);
  await settled(worker, caller.address, 30_000, SHORT_SEC);
  const use = await spend(caller, 14);
  expect(use).toBeGreaterThan(60_000);
  await endShort(worker, caller.address);
  await makeUp(worker, caller.address);
  const left = await usable(caller.address);
  expect(left).toBeGreaterThanOrEqual(100_000 - (use - 30_000));
  // The margin of each rental, and the energy recovered meanwhile.
  expect(left).toBeLessThan(100_000 - (use - 30_000) + 2_000);
});

it('rentals that end together are weighed together, and those that go on are topped up once', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const running = await settled(worker, caller.address, 30_000, LONG_SEC);
  const later = await settled(worker, caller.address, 30_000, LONG_SEC + 60);
  await settled(worker, caller.address, 40_000, SHORT_SEC);
  await settled(worker, caller.address, 50_000, SHORT_SEC);
  const use = await spend(caller, 14);
  await endShort(worker, caller.address);
  await makeUp(worker, caller.address);
  const entitled = 60_000 - Math.max(0, use - 90_000);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(entitled);
  expect(await usable(caller.address)).toBeLessThan(entitled + 4_000);
  expect(await topUpsOf(running)).toEqual([]);
  expect(await topUpsOf(later)).toEqual([{ status: 'active', cause: 'usage' }]);
});

it('the energy of a receiver is read only for a reclaim beside other rentals', async () => {
  const worker = await SteppedWorker.open();
  const alone = nextCaller();
  await settled(worker, alone.address, 30_000, SHORT_SEC);
  await spend(alone, 2);
  await endShort(worker, alone.address);
  expect(await usageOf(alone.address)).toEqual([]);
});

it('a reclaim that is made again is read again, and only the valid reading counts', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const running = await settled(worker, caller.address, 30_000, LONG_SEC);
  const ended = await settled(worker, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await mine(SHORT_SEC / 3 + 1);
  await worker.followChain();
  full.before = (path) => (path.includes('broadcasthex') ? SWALLOWED : undefined);
  await worker.reclaimEnded();
  await mine(PAST_VALIDITY);
  await worker.followChain();
  full.rest();
  await goOnUntil(worker, 'the second attempt in a block', async () =>
    ['included', 'solid'].includes((await statusesOf(ended, 'reclaim'))[1] ?? ''),
  );
  expect((await statusesOf(ended, 'reclaim'))[0]).toBe('dead');
  expect(await usageOf(caller.address)).toHaveLength(2);
  await makeUp(worker, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
  expect(await topUpsOf(running)).toHaveLength(1);
});

it('two workers make up for a loss once, and one whose claim was lost adds nothing', async () => {
  const [first, second] = [await SteppedWorker.open(), await SteppedWorker.open()];
  const caller = nextCaller();
  const running = await settled(first, caller.address, 30_000, LONG_SEC);
  await settled(first, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(first, caller.address);
  await second.followChain();
  const claimed = await first.claimLost();
  expect(claimed).toHaveLength(1);
  expect(await second.claimLost()).toEqual([]);
  // The first worker stalls for longer than its lease.
  await loseLeases();
  await second.advance();
  await first.advancer().advance(claimed);
  await makeUp(second, caller.address);
  expect(await topUpsOf(running)).toEqual([{ status: 'active', cause: 'usage' }]);
});

it('a top-up that comes to nothing is made again', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const running = await settled(worker, caller.address, 30_000, LONG_SEC);
  await settled(worker, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(worker, caller.address);
  expect(await worker.topUp()).toBe(1);
  full.before = (path) => (path.includes('broadcasthex') ? SWALLOWED : undefined);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await worker.followChain();
    await worker.advance();
    await mine(PAST_VALIDITY);
    await worker.followChain();
    await worker.advance();
  }
  full.rest();
  await makeUp(worker, caller.address);
  expect((await topUpsOf(running)).map(({ status }) => status)).toEqual(['released', 'active']);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
  await expectSoundRecords();
});

it('without room the rental waits for it, and with room again it is topped up', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const running = await settled(worker, caller.address, 30_000, LONG_SEC);
  await settled(worker, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(worker, caller.address);
  await api.database.query(`UPDATE pool_wallet SET sells_until = clock_timestamp() - interval '1 second'`);
  expect(await worker.topUp()).toBe(1);
  expect(await topUpsOf(running)).toEqual([]);
  expect(await worker.topUp()).toBe(0);
  await api.database.query(`UPDATE pool_wallet SET sells_until = clock_timestamp() + interval '1 hour'`);
  await makeUp(worker, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
});

it('a reclaim waits while no node answers for the receiver’s energy, for a limited time', async () => {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  await settled(worker, caller.address, 30_000, LONG_SEC);
  const ended = await settled(worker, caller.address, 60_000, SHORT_SEC);
  await mine(SHORT_SEC / 3 + 1);
  await worker.followChain();
  full.before = (path, body) => (isAbout(path, body, caller.address) ? NO_ACCOUNT : undefined);
  await worker.reclaimEnded();
  expect(await statusesOf(ended, 'reclaim')).toEqual([]);
  full.rest();
  await mine(25);
  await worker.followChain();
  full.before = (path, body) => (isAbout(path, body, caller.address) ? NO_ACCOUNT : undefined);
  await worker.advance();
  expect(await statusesOf(ended, 'reclaim')).toEqual(['sending']);
  expect(await usageOf(caller.address)).toEqual([]);
  full.rest();
});

/** Uses energy of two rentals of one receiver, and waits until the reclaim of the shorter one is in a block. */
async function reclaimedInBlock() {
  const worker = await SteppedWorker.open();
  const caller = nextCaller();
  const running = await settled(worker, caller.address, 30_000, LONG_SEC);
  const ended = await settled(worker, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await mine(SHORT_SEC / 3 + 1);
  await worker.followChain();
  await worker.reclaimEnded();
  await goOnUntil(worker, 'the reclaim in a block', async () => (await statusesOf(ended, 'reclaim'))[0] === 'included');
  return { worker, caller, running, ended };
}

it('a reclaim whose block is reverted, and which comes into another one, counts once', async () => {
  const { worker, caller, running } = await reclaimedInBlock();
  await devnet.control('fork', { depth: 1 });
  await mine(2);
  await worker.followChain();
  await makeUp(worker, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
  expect(await usageOf(caller.address)).toHaveLength(1);
  expect(await topUpsOf(running)).toHaveLength(1);
});

it('the usage that a reclaim leaves is weighed again after its block is reverted', async () => {
  const { worker, caller, running, ended } = await reclaimedInBlock();
  await worker.topUp();
  await worker.advance();
  expect(await topUpsOf(running)).toMatchObject([{ status: 'placed' }]);
  expect(await usageOf(caller.address)).toMatchObject([{ weighed: true }]);
  const block = `SELECT t.block_id FROM chain_tx t JOIN orders o ON o.id = t.order_id
    WHERE o.key = $1 AND t.purpose = 'reclaim' AND t.block_id IS NOT NULL`;
  const first = await api.database.query<{ block_id: Buffer }>(block, [ended]);
  await devnet.control('fork', { depth: 1, drop: true });
  // The top-up comes into a block before the reclaim now, so that more usage stays.
  await mine();
  await goOnUntil(worker, 'the reclaim in another block', async () => {
    const [now] = await api.database.query<{ block_id: Buffer }>(block, [ended]);
    return now !== undefined && !now.block_id.equals(first[0]!.block_id);
  });
  await makeUp(worker, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
});
