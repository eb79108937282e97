// One order for energy, bandwidth and the activation of its receiver: one charge, delivered only when every part is, and
// returned as a whole, except for an activation that the chain has.
import 'reflect-metadata';
import type { OrderBody } from '../../../src/modules/orders/orders.dto.js';
import { newOwner } from '../../support/chain/order-chain.js';
import {
  balance,
  buyBundle,
  bundleOf,
  delegatedOnChain,
  entriesOf,
  faults,
  legsOf,
  openBundleFixture,
  refusedWith,
  spentToday,
  step,
  transactionsOf,
} from '../../support/worker/bundle-fixture.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  dueAgain,
  loseLeases,
  mine,
  orderOf,
  PAST_VALIDITY,
  pool,
  receivers,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

beforeAll(openBundleFixture, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const BANDWIDTH = 10_000;

it('delivers energy and bandwidth as one order, and takes both back at its end', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const before = await balance();
  const receiver = receivers[0]!;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH }, worker);
  const taken = await bundleOf(key);
  expect(taken).toMatchObject({ bandwidth: 10_000n, price_sun: 2_470_000n + 7_000_000n, credits: 28_410_000n });
  expect(taken.bandwidth_credits).toBe(21_000_000n);
  expect(before - (await balance())).toBe(taken.credits);
  expect(await legsOf(key)).toEqual(['rental reserved', 'bandwidth reserved']);

  await worker.advance();
  await step(worker);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: false });
  const delivered = await bundleOf(key);
  expect(delivered.delivered_energy).toBeGreaterThanOrEqual(65_000n);
  expect(delivered.delivered_bandwidth).toBeGreaterThanOrEqual(10_000n);
  const shown = (await customer.get(`/v1/orders/${key}`)).body as OrderBody;
  expect(shown).toMatchObject({
    energy: 65_000,
    bandwidth: 10_000,
    delivered_bandwidth: Number(delivered.delivered_bandwidth),
    items: [
      { kind: 'energy', amount: 65_000, price_sun: 2_470_000, credits: 7_410_000 },
      { kind: 'bandwidth', amount: 10_000, price_sun: 7_000_000, credits: 21_000_000 },
    ],
  });
  expect(
    shown.delegations!.map(({ resource, energy, bandwidth }) => [resource, typeof energy, typeof bandwidth]),
  ).toEqual([
    [undefined, 'number', 'undefined'],
    ['BANDWIDTH', 'undefined', 'number'],
  ]);
  expect(await delegatedOnChain(receiver, 'energy')).toBeGreaterThan(0);
  expect(await delegatedOnChain(receiver, 'bandwidth')).toBeGreaterThan(0);
  await step(worker, SOLID_LAG + 1);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });

  await mine(20);
  await worker.followChain();
  expect(await worker.reclaimEnded()).toBe(1);
  await step(worker);
  expect(await bundleOf(key)).toMatchObject({ reclaimed: true });
  expect(await delegatedOnChain(receiver, 'energy')).toBe(0);
  expect(await delegatedOnChain(receiver, 'bandwidth')).toBe(0);
  await step(worker, SOLID_LAG + 1);
  expect(await legsOf(key)).toEqual(['rental reclaimed', 'bandwidth reclaimed']);
  expect(await entriesOf(key)).toEqual(['charge -28410000']);
  await worker.poolSync().syncNext();
  expect(await faults()).toEqual([]);
});

it('activates first, and delegates once the activation is in a block', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const receiver = newOwner().address;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, activate: true }, worker);
  expect(await bundleOf(key)).toMatchObject({ activation_credits: 3_600_000n, credits: 32_010_000n });
  await worker.advance();
  await worker.advance();
  expect(await transactionsOf(key)).toEqual(['activate activation sending']);
  expect(await legsOf(key)).toEqual(['activation placed', 'rental reserved', 'bandwidth reserved']);
  await step(worker);
  expect(await transactionsOf(key)).toEqual([
    'activate activation included',
    'delegate rental sending',
    'delegate bandwidth sending',
  ]);
  await step(worker);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered' });
  await step(worker, SOLID_LAG + 1);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
  expect(await legsOf(key)).toEqual(['activation reclaimed', 'rental active', 'bandwidth active']);
  expect(await faults()).toEqual([]);
});

it('returns the whole charge when another party activates the receiver first', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const before = await balance();
  const receiver = newOwner().address;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, activate: true }, worker);
  const other = await buyBundle({ receiver, energy: 65_000, activate: true }, worker);
  await worker.advance();
  await step(worker);
  for (let tries = 0; tries < 8 && (await bundleOf(other)).status !== 'refunded'; tries += 1) {
    await step(worker, PAST_VALIDITY);
  }
  const ends = [await bundleOf(key), await bundleOf(other)];
  expect(ends.map(({ status }) => status).sort()).toEqual(['delivered', 'refunded']);
  const refunded = ends.find(({ status }) => status === 'refunded')!;
  expect(refunded.kept_credits).toBeNull();
  expect(refunded.error).toContain('activated by someone else first');
  const kept = ends.find(({ status }) => status === 'delivered')!;
  expect(before - (await balance())).toBe(kept.credits);
  expect(await faults()).toEqual([]);
});

it('is refused as a whole when one part has no capacity, and takes nothing of the others', async () => {
  const worker = await SteppedWorker.open();
  const free = async () =>
    api.database.query(
      `SELECT sum(free_sun)::bigint AS sun, sum(free_transactions)::bigint AS transactions, sum(free_bandwidth_sun)::bigint AS bandwidth
         FROM pool_slot`,
    );
  await worker.poolSync().syncNext();
  await api.database.query(`UPDATE pool_slot SET free_bandwidth_sun = 0`);
  const [before, charged] = [await free(), await balance()];
  expect(await refusedWith({ receiver: receivers[1]!, bandwidth: BANDWIDTH })).toBe('CAPACITY_UNAVAILABLE');
  expect(await refusedWith({ receiver: receivers[1]!, bandwidth: BANDWIDTH, activate: true })).toBe(
    'ALREADY_ACTIVATED',
  );
  expect(await refusedWith({ receiver: newOwner().address, bandwidth: BANDWIDTH })).toBe('RECEIVER_NOT_ACTIVATED');
  expect(await free()).toEqual(before);
  expect(await balance()).toBe(charged);
});

describe('an order that cannot be delivered completely', () => {
  it('is returned except for a final activation, and says so', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const before = await balance();
    const receiver = newOwner().address;
    const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, activate: true }, worker);
    await worker.advance();
    await mine();
    await worker.followChain();
    const order = await dueAgain(worker, (await orderOf(key)).id);
    await worker.orderTermination().undo(order);
    await loseLeases();
    await step(worker);
    // The activation may still be reverted: nothing is returned before its block is solid.
    expect(await bundleOf(key)).toMatchObject({ undoing: true, status: 'placed' });
    expect(await legsOf(key)).toEqual(['activation active', 'rental released', 'bandwidth released']);
    await step(worker, SOLID_LAG + 2);
    expect(await bundleOf(key)).toMatchObject({ status: 'refunded', kept_credits: 3_600_000n });
    expect((await bundleOf(key)).error).toContain('except for the activation');
    expect(await legsOf(key)).toEqual(['activation reclaimed', 'rental released', 'bandwidth released']);
    expect(await entriesOf(key)).toEqual(['charge -32010000', 'refund 28410000']);
    expect(before - (await balance())).toBe(3_600_000n);
    const shown = (await customer.get(`/v1/orders/${key}`)).body as OrderBody;
    expect(shown).toMatchObject({ credits: 32_010_000, kept_credits: 3_600_000, delegations: [] });
    expect(shown.items!.at(-1)).toEqual({ kind: 'activation', amount: 1, price_sun: 1_200_000, credits: 3_600_000 });
    expect(shown.txid).toMatch(/^[0-9a-f]{64}$/);
    await worker.poolSync().syncWallet(pool.address);
    expect(await faults()).toEqual([]);
    // The kept activation is spent, also once the day is counted again after a jump of the clock.
    const spent = await spentToday();
    await api.database.query(`UPDATE credit_account SET spent_credits = 0 WHERE project_id = $1`, [customer.merchant]);
    await api.database.query(`SELECT recount_spending($1)`, [customer.merchant]);
    expect(await spentToday()).toBe(spent);
  });

  it('takes back what was delivered of both resources before it returns the charge, once', async () => {
    const worker = await SteppedWorker.open();
    await worker.followChain();
    const before = await balance();
    const receiver = receivers[1]!;
    const key = await buyBundle({ receiver, bandwidth: BANDWIDTH }, worker);
    await worker.advance();
    const order = await dueAgain(worker, (await orderOf(key)).id);
    await worker.orderTermination().undo(order);
    await loseLeases();
    await step(worker);
    expect(await legsOf(key)).toEqual(['rental active', 'bandwidth active']);
    expect(await bundleOf(key)).toMatchObject({ status: 'placed', undoing: true });
    await step(worker, 3 * SOLID_LAG + 6);
    expect(await bundleOf(key)).toMatchObject({ status: 'refunded', kept_credits: null, delivered_bandwidth: null });
    expect(await legsOf(key)).toEqual(['rental reclaimed', 'bandwidth reclaimed']);
    expect(await entriesOf(key)).toEqual(['charge -28410000', 'refund 28410000']);
    expect(await balance()).toBe(before);
    expect([await delegatedOnChain(receiver, 'energy'), await delegatedOnChain(receiver, 'bandwidth')]).toEqual([0, 0]);
    await worker.poolSync().syncWallet(pool.address);
    expect(await faults()).toEqual([]);
  });
});

it.each([
  ['before anything was delegated', 1],
  ['together with the delegations', 2],
])('an activation whose block is reverted %s comes again by the same bytes', async (_, depth) => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const receiver = newOwner().address;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, activate: true }, worker);
  await worker.advance();
  await mine();
  await worker.followChain();
  if (depth === 2) {
    await worker.advance();
    await mine();
    await worker.followChain();
    expect(await bundleOf(key)).toMatchObject({ status: 'delivered' });
  }
  await devnet.control('fork', { depth, drop: true });
  await mine(1);
  await worker.followChain();
  expect((await legsOf(key))[0]).toBe('activation placed');
  await step(worker, 6);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered' });
  expect((await transactionsOf(key)).length).toBe(3);
  await step(worker, SOLID_LAG + 2);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
  expect(await faults()).toEqual([]);
});

it('goes on where a process ended between the parts, and makes none of them twice', async () => {
  const first = await SteppedWorker.open();
  await first.followChain();
  const receiver = newOwner().address;
  const key = await buyBundle({ receiver, bandwidth: BANDWIDTH, activate: true }, first);
  const claimed = await dueAgain(first, (await orderOf(key)).id);
  await first.advancer().advance([claimed]);
  await mine();
  await first.close();
  const second = await SteppedWorker.open();
  await second.followChain();
  // Its delegations are sent, and it ends before it sees them in a block.
  await second.advancer().advance([await dueAgain(second, claimed.id)]);
  await second.close();
  const third = await SteppedWorker.open();
  await step(third, SOLID_LAG + 3);
  expect(await bundleOf(key)).toMatchObject({ status: 'delivered', settled: true });
  expect(await transactionsOf(key)).toEqual([
    'activate activation solid',
    'delegate rental solid',
    'delegate bandwidth solid',
  ]);
  expect(await faults()).toEqual([]);
});

it('takes capacity for many orders of several parts at once, without waiting in a circle', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const probe = await buyBundle({ receiver: receivers[2]!, bandwidth: BANDWIDTH }, worker);
  const [{ energy_sun: energySun, bandwidth_sun: bandwidthSun }] = (await api.database.query<{
    energy_sun: bigint;
    bandwidth_sun: bigint;
  }>(
    `SELECT (SELECT amount_sun FROM leg WHERE order_id = $1 AND kind = 'rental') AS energy_sun,
        (SELECT amount_sun FROM leg WHERE order_id = $1 AND kind = 'bandwidth') AS bandwidth_sun`,
    [(await orderOf(probe)).id],
  )) as [{ energy_sun: bigint; bandwidth_sun: bigint }];
  // No slot holds a whole part, so each order takes several slots of both resources.
  await api.database.query(
    `UPDATE pool_slot SET free_sun = $1, free_bandwidth_sun = $2 WHERE wallet_id = (SELECT id FROM pool_wallet WHERE role = 'pool')`,
    [energySun / 2n + 1_000_000n, bandwidthSun / 2n + 1_000_000n],
  );
  const asked = Array.from({ length: 12 }, async (_, index) =>
    refusedWith({ receiver: receivers[index % 4]!, bandwidth: BANDWIDTH, key: `many-${index.toString()}` }),
  );
  const codes = await Promise.all(asked);
  expect(codes.filter((code) => code === 'taken').length).toBeGreaterThanOrEqual(6);
  expect(new Set(codes)).toEqual(new Set(['taken', 'CAPACITY_UNAVAILABLE']));
});
