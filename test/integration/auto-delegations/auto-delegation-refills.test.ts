// Refills of auto-delegated addresses: one purchase per need, and the change from one rental to the next. The chain
// makes a block only on request, and no part of the worker runs by itself.
import { jest } from '@jest/globals';
import { AutoDelegationPrices } from '../../../src/modules/auto-delegations/auto-delegation-prices.js';
import { AutoDelegations } from '../../../src/modules/auto-delegations/auto-delegations.service.js';
import { credits, energy } from '../../../src/domain/units.js';
import {
  autoRow,
  nextBlock,
  ordersOf,
  refill,
  setAuto,
  turnSecOf,
  usableOf,
  type AutoOrder,
} from '../../support/worker/refill-fixture.js';
import { foundByVerify } from '../../support/worker/extension-records.js';
import { actAs } from '../../support/chain/order-chain.js';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  full,
  SteppedWorker,
  mine,
  openFixtureWithCalls,
  orderOf,
  pool,
  rent,
  SOLID_LAG,
  START_LIMIT_MS,
  useEnergy,
} from '../../support/worker/fulfilment-fixture.js';

jest.setTimeout(30_000);

const DAY_SEC = 86_400;

let next = 0;
let address = '';
let caller = callers[0]!;

beforeAll(() => openFixtureWithCalls({ DATABASE_POOL_MAX: '12' }), START_LIMIT_MS);
beforeEach(() => {
  caller = callers[next++]!;
  ({ address } = caller);
});
afterEach(async () => {
  await api.database.query('DELETE FROM auto_delegation');
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

/** Creates an auto-delegation and waits until its first rental is settled. */
async function supplied(worker: SteppedWorker, settings: Parameters<typeof setAuto>[1] = {}): Promise<bigint> {
  const id = await setAuto(address, settings);
  await nextBlock(worker);
  await nextBlock(worker);
  await nextBlock(worker, SOLID_LAG + 1);
  expect(await ordersOf(id)).toMatchObject([{ status: 'delivered', settled: true }]);
  return id;
}

describe('an address that is kept supplied', () => {
  it('has its energy in the block after it is set', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const id = await setAuto(address);
    await refill(worker);
    expect(await ordersOf(id)).toMatchObject([
      { key: `auto_${id.toString()}_1`, energy: 130_000n, duration_sec: 3600, status: 'reserved' },
    ]);
    await worker.advance();
    await mine();
    await worker.followChain();
    expect(await ordersOf(id)).toMatchObject([{ status: 'delivered' }]);
    expect(await usableOf(address)).toBeGreaterThanOrEqual(130_000);
    await refill(worker);
    expect(await autoRow(id)).toMatchObject({ purchases: 1n, open_order_id: null, pause_reason: null, asleep: false });
  });

  it('is refilled within two blocks of its use, by the missing amount, once', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker);
    await useEnergy(caller, 10);
    await mine();
    await worker.followChain();
    const missing = 130_000 - (await usableOf(address));
    expect(missing).toBeGreaterThan(45_000);
    await refill(worker);
    expect((await ordersOf(id)).slice(1)).toMatchObject([{ key: `auto_${id.toString()}_2`, energy: BigInt(missing) }]);
    await worker.advance();
    await nextBlock(worker);
    expect(await usableOf(address)).toBeGreaterThanOrEqual(130_000);
    await nextBlock(worker, SOLID_LAG);
    expect(await usableOf(address)).toBeGreaterThanOrEqual(130_000);
    expect(await ordersOf(id)).toHaveLength(2);
  });

  it('gets nothing for a use that leaves enough', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker);
    await useEnergy(caller, 3);
    await nextBlock(worker);
    await nextBlock(worker);
    expect(await ordersOf(id)).toHaveLength(1);
    expect((await autoRow(id)).used_block).not.toBeNull();
    // Its turn in the slow round comes ten minutes after the check. A minute less leaves room for a busy machine.
    const turnSec = await turnSecOf(id);
    expect(turnSec).toBeGreaterThan(540);
    expect(turnSec).toBeLessThanOrEqual(600);
  });

  it('waits without a pause while the missing amount is not worth renting', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { refill_below: 130_000 });
    // Each takes 276 energy, together more than the margin of the rental.
    for (let calls = 0; calls < 2; calls += 1) await useEnergy(caller, 0);
    await nextBlock(worker);
    await nextBlock(worker);
    await nextBlock(worker);
    expect(await usableOf(address)).toBeLessThan(130_000);
    expect(await ordersOf(id)).toHaveLength(1);
    expect(await autoRow(id)).toMatchObject({ pause_reason: null, due_at: null });
    await useEnergy(caller, 4);
    await nextBlock(worker);
    expect(await ordersOf(id)).toHaveLength(2);
  });

  it('counts energy from other sources: its stake, foreign delegations and pending orders', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    await mine();
    await actAs(devnet.fullUrl, pool, 'delegateresource', {
      receiver_address: address,
      balance: 400_000_000,
      resource: 'ENERGY',
      lock: false,
    });
    await mine();
    const others = await usableOf(address);
    expect(others).toBeGreaterThan(70_000);
    const by = await rent(address, 50_000, 600);
    const id = await setAuto(address, { keep_energy: 200_000 });
    await nextBlock(worker);
    const [first] = await ordersOf(id);
    expect(Number(first!.energy)).toBeLessThanOrEqual(200_000 - others - 50_000);
    expect(Number(first!.energy)).toBeGreaterThan(200_000 - others - 50_000 - 500);
    await nextBlock(worker);
    await nextBlock(worker);
    expect(await orderOf(by)).toMatchObject({ status: 'delivered' });
    expect(await ordersOf(id)).toHaveLength(1);
    await actAs(devnet.fullUrl, pool, 'undelegateresource', {
      receiver_address: address,
      balance: 400_000_000,
      resource: 'ENERGY',
    });
  });
});

describe('the bounds of a purchase', () => {
  it('are the largest order on sale: the rest is bought after it', async () => {
    const worker = await SteppedWorker.open({ ENERGY_MAX: '100000' });
    await worker.followChain();
    const id = await setAuto(address);
    for (let block = 0; block < 4; block += 1) await nextBlock(worker);
    const [first, rest, ...more] = await ordersOf(id);
    expect([first!.energy, first!.status, more]).toEqual([100_000n, 'delivered', []]);
    expect(Number(rest!.energy)).toBeLessThanOrEqual(30_000);
    expect(await usableOf(address)).toBeGreaterThanOrEqual(130_000);
  });

  it('are the shortest rental on sale, even if the auto-delegation ends before it', async () => {
    const worker = await SteppedWorker.open({ DURATION_MIN_SEC: '60' });
    await worker.followChain();
    const { timestampMs } = await worker.chain().head();
    const id = await setAuto(address, { until: new Date(timestampMs + 20_000) });
    await refill(worker);
    expect(await ordersOf(id)).toMatchObject([{ duration_sec: 60 }]);
  });

  it('are the highest price, which is still paid', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const id = await setAuto(address, { max_sun_per_energy: 44 });
    await refill(worker);
    expect([await ordersOf(id), (await autoRow(id)).pause_reason]).toEqual([[], 'PRICE_ABOVE_MAX']);
    await setAuto(address, { max_sun_per_energy: 45 });
    await refill(worker);
    expect(await ordersOf(id)).toMatchObject([{ credits: 130_000n * 45n * 3n }]);
  });

  it('let a small amount wait without a pause if its least price is above the maximum', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { refill_below: 125_000, max_sun_per_energy: 45 });
    // The price is at least 620 400 sun, which 45 sun for each energy reach with 13 787 energy.
    await useEnergy(caller, 2);
    await nextBlock(worker);
    await nextBlock(worker);
    expect(await usableOf(address)).toBeLessThan(125_000);
    expect(await ordersOf(id)).toHaveLength(1);
    expect(await autoRow(id)).toMatchObject({ pause_reason: null, failures: 0 });
    await useEnergy(caller, 3);
    await nextBlock(worker);
    expect(await ordersOf(id)).toHaveLength(2);
  });
});

it('a purchase whose receiver no node can read neither pauses an auto-delegation nor ends a pause', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const id = await setAuto(address);
  full.before = (path) => (path === 'wallet/getaccount' ? 'break' : undefined);
  await refill(worker);
  expect(await autoRow(id)).toMatchObject({ pause_reason: null, failures: 0, due_at: expect.any(Date) });
  const paused = `pause_reason = 'INSUFFICIENT_CREDITS', paused_at = clock_timestamp(), failures = 2`;
  await api.database.query(`UPDATE auto_delegation SET ${paused} WHERE id = $1`, [id]);
  await refill(worker);
  expect(await autoRow(id)).toMatchObject({ pause_reason: 'INSUFFICIENT_CREDITS', failures: 2 });
  expect(await ordersOf(id)).toEqual([]);
  full.rest();
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
  expect(await autoRow(id)).toMatchObject({ pause_reason: null, failures: 0 });
});

describe('a rental that ends', () => {
  it('is extended without a transaction and without a gap if the address is in use', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { duration_sec: 300 });
    const [before] = await ordersOf(id);
    // Continues to a minute before its end.
    await nextBlock(worker, 90);
    const [after] = await ordersOf(id);
    expect(after).toMatchObject({ extensions: 1 });
    expect(after!.ends_at!.getTime() - before!.ends_at!.getTime()).toBe(300_000);
    expect(await ordersOf(id)).toHaveLength(1);
    await nextBlock(worker, 30);
    await worker.reclaimEnded();
    expect((await ordersOf(id))[0]).toMatchObject({ status: 'delivered', ends_at: after!.ends_at });
    expect(await usableOf(address)).toBeGreaterThanOrEqual(130_000);
    expect((await autoRow(id)).purchases).toBe(2n);
  });

  it('of an unused address is extended for a day at the announced price', async () => {
    const worker = await SteppedWorker.open();
    const [keepEnergy, durationSec] = [130_000, 7200];
    const id = await supplied(worker, {
      keep_energy: keepEnergy,
      duration_sec: durationSec,
      idle_after_sec: 2 * DAY_SEC,
    });
    const prices = api.app.get(AutoDelegationPrices, { strict: false });
    const terms = { keepEnergy: energy(keepEnergy), refillBelow: energy(104_000), durationSec };
    const { idle_cost_credits_per_day: said } = prices.costs(terms);
    const endsAtMs = async () => (await ordersOf(id))[0]!.ends_at!.getTime();
    const dayAfterMs = (await endsAtMs()) + (DAY_SEC - durationSec) * 1000;
    for (let ends = await endsAtMs(); ends < dayAfterMs; ends = await endsAtMs()) {
      await devnet.control('mine', { blocks: [{ timestamp: ends - 60_000 }] });
      await nextBlock(worker);
      await worker.reclaimEnded();
      expect(await endsAtMs()).toBe(ends + durationSec * 1000);
      expect(await usableOf(address)).toBeGreaterThanOrEqual(keepEnergy);
    }
    const [charged] = await api.database.query<{ credits: bigint }>(
      `SELECT -sum(e.credits)::bigint AS credits FROM credit_entry e JOIN orders o ON o.id = e.order_id WHERE o.key LIKE $1`,
      [`auto\\_${id.toString()}\\_%`],
    );
    expect(charged!.credits).toBe(BigInt(said));
    expect(await ordersOf(id)).toMatchObject([{ extensions: DAY_SEC / durationSec - 1, status: 'delivered' }]);
  });

  it('shows the expected uses that it and its extension were priced with', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { duration_sec: 3 * DAY_SEC, idle_after_sec: 7 * DAY_SEC });
    const [{ key, ends_at: endsAt }] = (await ordersOf(id)) as [AutoOrder];
    await devnet.control('mine', { blocks: [{ timestamp: endsAt!.getTime() - 60_000 }] });
    await nextBlock(worker);
    const told = { expected_uses: 3, price_per_use_sun: 130_000 * 50, fee_limit_sun: 130_000 * 100 };
    const { body } = await customer.get(`/v1/orders/${key}`);
    expect(body).toMatchObject({ ...told, extensions: [{ ...told, duration_sec: 3 * DAY_SEC }] });
    expect(await foundByVerify()).toEqual([]);
  });

  it('is extended no longer than any rental may last', async () => {
    const worker = await SteppedWorker.open();
    const [longestSec, plenty] = [30 * DAY_SEC, { idle_after_sec: 90 * DAY_SEC, daily_cap_credits: 10 ** 12 }];
    const id = await supplied(worker, { duration_sec: longestSec, ...plenty });
    const endsAtMs = (await ordersOf(id))[0]!.ends_at!.getTime();
    await devnet.control('mine', { blocks: [{ timestamp: endsAtMs - 60_000 }] });
    await nextBlock(worker);
    const [extended] = await ordersOf(id);
    expect(extended).toMatchObject({ extensions: 1 });
    const { timestampMs } = await worker.chain().head();
    expect(extended!.ends_at!.getTime() - timestampMs).toBe(longestSec * 1000);
  });

  it('is extended to `until`, and not beyond it', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const { timestampMs } = await worker.chain().head();
    const untilMs = timestampMs + 420_000;
    const id = await supplied(worker, { duration_sec: 300, until: new Date(untilMs) });
    await nextBlock(worker, 90);
    const [extended] = await ordersOf(id);
    expect(extended).toMatchObject({ extensions: 1 });
    expect(extended!.ends_at!.getTime()).toBeGreaterThanOrEqual(untilMs);
    expect(extended!.ends_at!.getTime()).toBeLessThan(untilMs + 1000);
  });

  it('is not extended above the highest price', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { duration_sec: 300 });
    await api.database.query('UPDATE auto_delegation SET max_sun_per_energy = 1 WHERE id = $1', [id]);
    await nextBlock(worker, 90);
    expect(await ordersOf(id)).toMatchObject([{ extensions: 0 }]);
    expect((await autoRow(id)).pause_reason).toBe('PRICE_ABOVE_MAX');
  });

  it('is followed by a rental of the new, smaller amount', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { keep_energy: 1_000_000, duration_sec: 300 });
    await setAuto(address, { keep_energy: 65_000, duration_sec: 300 });
    for (let blocks = 0; blocks < 90; blocks += 10) await nextBlock(worker, 10);
    expect(await ordersOf(id)).toMatchObject([
      { energy: 1_000_000n, extensions: 0 },
      { energy: 65_000n, status: 'delivered' },
    ]);
  });

  it('is replaced a minute before its end if it is short, without a gap', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { duration_sec: 300 });
    const [first] = await ordersOf(id);
    await api.database.query('UPDATE orders SET needs_attention = true WHERE id = $1', [first!.id]);
    await nextBlock(worker, 90);
    expect(await ordersOf(id)).toMatchObject([{ extensions: 0 }, { energy: 130_000n, status: 'placed' }]);
    await api.database.query('UPDATE orders SET needs_attention = false WHERE id = $1', [first!.id]);
    for (let block = 0; block < 24; block += 1) {
      await nextBlock(worker);
      await worker.reclaimEnded();
      expect(await usableOf(address)).toBeGreaterThanOrEqual(104_000);
    }
    expect(await ordersOf(id)).toHaveLength(2);
  });

  it('ends if the address was idle, which then sleeps, and is supplied again at its next use', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { duration_sec: 300, idle_after_sec: 300 });
    for (let block = 0; block < 110; block += 10) {
      await nextBlock(worker, 10);
      await worker.reclaimEnded();
    }
    expect(await ordersOf(id)).toMatchObject([{ extensions: 0 }]);
    expect(await autoRow(id)).toMatchObject({ asleep: true, due_at: null, change_at: null, check_at: null });
    await nextBlock(worker, 5);
    await worker.reclaimEnded();
    await nextBlock(worker, 1);
    expect(await usableOf(address)).toBeLessThan(1000);
    await useEnergy(caller, 1);
    await nextBlock(worker);
    expect(await autoRow(id)).toMatchObject({ asleep: false });
    expect(await ordersOf(id)).toHaveLength(2);
  });

  it('is not bought for a sleeping address because its cap changes', async () => {
    const worker = await SteppedWorker.open();
    const id = await supplied(worker, { duration_sec: 300, idle_after_sec: 300 });
    await nextBlock(worker, 110);
    await worker.reclaimEnded();
    await nextBlock(worker, 6);
    expect(await autoRow(id)).toMatchObject({ asleep: true });
    expect(await usableOf(address)).toBeLessThan(1000);
    const autoDelegations = api.app.get(AutoDelegations, { strict: false });
    await autoDelegations.setCap(customer.merchant, address, credits(900_000_000), () => Promise.resolve());
    await nextBlock(worker);
    expect(await ordersOf(id)).toHaveLength(1);
    expect(await autoRow(id)).toMatchObject({ asleep: true, due_at: null });
  });

  it('has no successor after `until`, and is never bought beyond it', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const { timestampMs } = await worker.chain().head();
    const id = await setAuto(address, { duration_sec: 600, until: new Date(timestampMs + 200_000) });
    await nextBlock(worker);
    const [{ duration_sec: bought }] = (await ordersOf(id)) as [AutoOrder];
    expect(bought).toBeLessThanOrEqual(200);
    expect(bought).toBeGreaterThan(190);
    for (let block = 0; block < 80; block += 8) {
      await nextBlock(worker, 8);
      await worker.reclaimEnded();
    }
    expect(await ordersOf(id)).toMatchObject([{ extensions: 0 }]);
    expect(await autoRow(id)).toMatchObject({ due_at: null, change_at: null, check_at: null, pause_reason: null });
  });
});
