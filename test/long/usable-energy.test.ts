// What a rental sold stays usable when other rentals of its receiver end: on the local chain, with energy really used.
import 'reflect-metadata';
import { TronClient } from '../../src/chain/tron.client.js';
import { verifyRecords } from '../../src/verify/verify.js';
import { delegatedSunOf } from '../order-chain.js';
import {
  api,
  callers,
  clearStage,
  closeStage,
  devnet,
  full,
  Hand,
  loseLeases,
  mine,
  openStageWithCalls,
  orderOf,
  PAST_VALIDITY,
  pool,
  rent,
  START_LIMIT_MS,
  statusesOf,
  useEnergy,
} from '../protocol-stage.js';

/** Of the chain's time, in blocks of three seconds. */
const SHORT_SEC = 300;
const LONG_SEC = 3_600;
/** A call uses some 5 000 energy so many times. */
const CALLS = 10;

const SWALLOWED = { says: '{"result":true,"code":"SUCCESS"}' };
const NO_ACCOUNT = { says: '{}' };
const isAbout = (path: string, body: string, address: string): boolean =>
  path.includes('getaccountresource') && body.includes(address);

let used = 0;
/** Each test rents for an address that nothing was ever rented for. */
const nextCaller = () => callers[used++]!;

beforeAll(() => openStageWithCalls(), START_LIMIT_MS);
afterEach(async () => {
  await mine((2 * LONG_SEC) / 3);
  await clearStage();
}, START_LIMIT_MS);
afterAll(closeStage, START_LIMIT_MS);

const resourcesOf = (address: string) => api.app.get(TronClient).accountResources(address);

async function usable(address: string): Promise<number> {
  const { energyLimit, energyUsed } = await resourcesOf(address);
  return Number(energyLimit - energyUsed);
}

/** Uses energy of the address, in a block; returns how much. */
async function spend(caller: (typeof callers)[number], times = CALLS): Promise<number> {
  const before = Number((await resourcesOf(caller.address)).energyUsed);
  await useEnergy(caller, times);
  await mine();
  return Number((await resourcesOf(caller.address)).energyUsed) - before;
}

async function settled(hand: Hand, to: string, energy: number, durationSec: number): Promise<string> {
  const key = await rent(to, energy, durationSec);
  await goOnUntil(hand, 'a settled rental', async () => (await orderOf(key)).settled);
  expect(await orderOf(key)).toMatchObject({ status: 'delivered' });
  return key;
}

const ROUNDS_MAX = 60;

/** Makes blocks, and has the worker look at them and go on, until `isSo`; a busy machine takes more of them. */
async function goOnUntil(hand: Hand, what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (await isSo()) return;
    await mine();
    await hand.look();
    await hand.advance();
    await hand.end();
  }
  throw new Error(`not seen: ${what}`);
}

const isEmpty = async (text: string, address: string): Promise<boolean> =>
  (await api.database.query(text, [address])).length === 0;

/** On to the end of the short rentals, whose reclaims come into a block. */
async function endShort(hand: Hand, address: string): Promise<void> {
  await mine(SHORT_SEC / 3 + 1);
  await hand.look();
  await hand.end();
  const left = `SELECT 1 FROM orders WHERE receive_address = $1 AND duration_sec = ${SHORT_SEC.toString()} AND reclaimed_at IS NULL`;
  await goOnUntil(hand, 'the reclaims in a block', () => isEmpty(left, address));
}

/** On until nothing that reclaims left at the receiver is to be weighed, and every top-up is in a solid block. */
async function makeUp(hand: Hand, address: string): Promise<void> {
  const due = `SELECT 1 FROM reclaim_usage u JOIN chain_tx t ON t.id = u.tx_id
    WHERE u.receive_address = $1 AND u.weighed_at IS NULL AND t.status IN ('included', 'solid')`;
  await goOnUntil(hand, 'every reclaim weighed', async () => {
    // What was put off after a failure is tried now.
    await api.database.query(`UPDATE orders SET top_up_after = NULL`);
    await hand.topUp();
    return isEmpty(due, address);
  });
  const moving = `SELECT 1 FROM leg l JOIN chain_tx t ON t.leg_id = l.id WHERE l.receive_address = $1 AND l.top_up
    AND (l.status IN ('reserved', 'placed') OR t.status = 'included')`;
  const built = `SELECT 1 FROM leg WHERE receive_address = $1 AND top_up AND status = 'reserved'`;
  await goOnUntil(
    hand,
    'the top-up in a solid block',
    async () => (await isEmpty(moving, address)) && (await isEmpty(built, address)),
  );
}

interface LegRow {
  readonly status: string;
  readonly cause: string | null;
}

const topUpsOf = (key: string): Promise<LegRow[]> =>
  api.database.query<LegRow>(
    `SELECT l.status, l.top_up_cause AS cause FROM leg l JOIN orders o ON o.id = l.order_id
      WHERE o.key = $1 AND l.top_up ORDER BY l.leg_no`,
    [key],
  );

/** The readings of a receiver's reclaims: how often they were weighed, and what was left by then. */
const usageOf = (address: string) =>
  api.database.query<{ used: bigint; weighed: boolean; left: bigint | null }>(
    `SELECT used_energy AS used, weighed_at IS NOT NULL AS weighed, left_energy AS left FROM reclaim_usage
      WHERE receive_address = $1 ORDER BY tx_id`,
    [address],
  );

async function expectSoundRecords(): Promise<void> {
  const report = await verifyRecords(api.database);
  expect(report.checks.flatMap(({ findings }) => findings)).toEqual([]);
}

async function balanceOf(): Promise<bigint> {
  const [row] = await api.database.query<{ credits: bigint }>(
    `SELECT coalesce(sum(credits), 0)::bigint AS credits FROM credit_entry`,
  );
  return row!.credits;
}

it('a rental beside which a used one ends has all that it sold, free of charge, until its own end', async () => {
  const hand = await Hand.open();
  const caller = nextCaller();
  const running = await settled(hand, caller.address, 28_057, LONG_SEC);
  await settled(hand, caller.address, 65_000, SHORT_SEC);
  expect(await spend(caller, 12)).toBeGreaterThan(28_057);
  const credits = await balanceOf();
  await endShort(hand, caller.address);
  // The chain left some of the ended one's use here.
  expect(await usable(caller.address)).toBeLessThan(20_000);
  await makeUp(hand, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(28_057);
  expect(await topUpsOf(running)).toEqual([{ status: 'active', cause: 'usage' }]);
  expect(await usageOf(caller.address)).toMatchObject([{ weighed: true }]);
  expect(await hand.topUp()).toBe(0);
  expect(await balanceOf()).toBe(credits);
  await expectSoundRecords();
  await mine(LONG_SEC / 3);
  await hand.look();
  await hand.end();
  const left = `SELECT 1 FROM leg WHERE receive_address = $1 AND status NOT IN ('reclaimed', 'released')`;
  await goOnUntil(hand, 'all reclaimed', () => isEmpty(left, caller.address));
  expect(await topUpsOf(running)).toEqual([{ status: 'reclaimed', cause: 'usage' }]);
  expect(await delegatedSunOf(devnet.fullUrl, pool.address, caller.address)).toBe(0n);
  await expectSoundRecords();
});

it('what the running rental used itself counts against it alone', async () => {
  const hand = await Hand.open();
  const caller = nextCaller();
  await settled(hand, caller.address, 100_000, LONG_SEC);
  await settled(hand, caller.address, 30_000, SHORT_SEC);
  const use = await spend(caller, 14);
  expect(use).toBeGreaterThan(60_000);
  await endShort(hand, caller.address);
  await makeUp(hand, caller.address);
  const left = await usable(caller.address);
  expect(left).toBeGreaterThanOrEqual(100_000 - (use - 30_000));
  // The margin of each rental, and what has recovered meanwhile.
  expect(left).toBeLessThan(100_000 - (use - 30_000) + 2_000);
});

it('rentals that end together are weighed together, and those that go on are topped up once', async () => {
  const hand = await Hand.open();
  const caller = nextCaller();
  const running = await settled(hand, caller.address, 30_000, LONG_SEC);
  const later = await settled(hand, caller.address, 30_000, LONG_SEC + 60);
  await settled(hand, caller.address, 40_000, SHORT_SEC);
  await settled(hand, caller.address, 50_000, SHORT_SEC);
  const use = await spend(caller, 14);
  await endShort(hand, caller.address);
  await makeUp(hand, caller.address);
  const entitled = 60_000 - Math.max(0, use - 90_000);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(entitled);
  expect(await usable(caller.address)).toBeLessThan(entitled + 4_000);
  expect(await topUpsOf(running)).toEqual([]);
  expect(await topUpsOf(later)).toEqual([{ status: 'active', cause: 'usage' }]);
});

it('the energy of a receiver is read for a reclaim beside other rentals, and for no other one', async () => {
  const hand = await Hand.open();
  const alone = nextCaller();
  await settled(hand, alone.address, 30_000, SHORT_SEC);
  await spend(alone, 2);
  await endShort(hand, alone.address);
  expect(await usageOf(alone.address)).toEqual([]);
});

it('a reclaim that is made again is read again, and only the one that stands counts', async () => {
  const hand = await Hand.open();
  const caller = nextCaller();
  const running = await settled(hand, caller.address, 30_000, LONG_SEC);
  const ended = await settled(hand, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await mine(SHORT_SEC / 3 + 1);
  await hand.look();
  full.before = (path) => (path.includes('broadcasthex') ? SWALLOWED : undefined);
  await hand.end();
  await mine(PAST_VALIDITY);
  await hand.look();
  full.rest();
  await goOnUntil(hand, 'the second attempt in a block', async () =>
    ['included', 'solid'].includes((await statusesOf(ended, 'reclaim'))[1] ?? ''),
  );
  expect((await statusesOf(ended, 'reclaim'))[0]).toBe('dead');
  expect(await usageOf(caller.address)).toHaveLength(2);
  await makeUp(hand, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
  expect(await topUpsOf(running)).toHaveLength(1);
});

it('two workers make up for a loss once, and one whose claim was lost adds nothing', async () => {
  const [first, second] = [await Hand.open(), await Hand.open()];
  const caller = nextCaller();
  const running = await settled(first, caller.address, 30_000, LONG_SEC);
  await settled(first, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(first, caller.address);
  await second.look();
  const claimed = await first.claimLost();
  expect(claimed).toHaveLength(1);
  expect(await second.claimLost()).toEqual([]);
  // The first worker is silent for longer than its lease.
  await loseLeases();
  await second.advance();
  await first.advancer().advance(claimed);
  await makeUp(second, caller.address);
  expect(await topUpsOf(running)).toEqual([{ status: 'active', cause: 'usage' }]);
});

it('a top-up that comes to nothing is made anew', async () => {
  const hand = await Hand.open();
  const caller = nextCaller();
  const running = await settled(hand, caller.address, 30_000, LONG_SEC);
  await settled(hand, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(hand, caller.address);
  expect(await hand.topUp()).toBe(1);
  full.before = (path) => (path.includes('broadcasthex') ? SWALLOWED : undefined);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await hand.look();
    await hand.advance();
    await mine(PAST_VALIDITY);
    await hand.look();
    await hand.advance();
  }
  full.rest();
  await makeUp(hand, caller.address);
  expect((await topUpsOf(running)).map(({ status }) => status)).toEqual(['released', 'active']);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
  await expectSoundRecords();
});

it('without room the rental waits for it, and with room again it is topped up', async () => {
  const hand = await Hand.open();
  const caller = nextCaller();
  const running = await settled(hand, caller.address, 30_000, LONG_SEC);
  await settled(hand, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await endShort(hand, caller.address);
  await api.database.query(`UPDATE pool_wallet SET sells_until = clock_timestamp() - interval '1 second'`);
  expect(await hand.topUp()).toBe(1);
  expect(await topUpsOf(running)).toEqual([]);
  expect(await hand.topUp()).toBe(0);
  await api.database.query(`UPDATE pool_wallet SET sells_until = clock_timestamp() + interval '1 hour'`);
  await makeUp(hand, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
});

it('a reclaim waits while no node answers for the receiver’s energy, for a limited time', async () => {
  const hand = await Hand.open();
  const caller = nextCaller();
  await settled(hand, caller.address, 30_000, LONG_SEC);
  const ended = await settled(hand, caller.address, 60_000, SHORT_SEC);
  await mine(SHORT_SEC / 3 + 1);
  await hand.look();
  full.before = (path, body) => (isAbout(path, body, caller.address) ? NO_ACCOUNT : undefined);
  await hand.end();
  expect(await statusesOf(ended, 'reclaim')).toEqual([]);
  full.rest();
  await mine(25);
  await hand.look();
  full.before = (path, body) => (isAbout(path, body, caller.address) ? NO_ACCOUNT : undefined);
  await hand.advance();
  expect(await statusesOf(ended, 'reclaim')).toEqual(['sending']);
  expect(await usageOf(caller.address)).toEqual([]);
  full.rest();
});

it('a reclaim whose block is reverted, and which comes into another one, counts once', async () => {
  const hand = await Hand.open();
  const caller = nextCaller();
  const running = await settled(hand, caller.address, 30_000, LONG_SEC);
  const ended = await settled(hand, caller.address, 60_000, SHORT_SEC);
  await spend(caller, 11);
  await mine(SHORT_SEC / 3 + 1);
  await hand.look();
  await hand.end();
  await goOnUntil(hand, 'the reclaim in a block', async () => (await statusesOf(ended, 'reclaim'))[0] === 'included');
  await devnet.control('fork', { depth: 1 });
  await mine(2);
  await hand.look();
  await makeUp(hand, caller.address);
  expect(await usable(caller.address)).toBeGreaterThanOrEqual(30_000);
  expect(await usageOf(caller.address)).toHaveLength(1);
  expect(await topUpsOf(running)).toHaveLength(1);
});
