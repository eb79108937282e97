// One purchase per need, regardless of which process finds it and of changes to the row or the rental meanwhile.
import {
  AutoDelegationClaims,
  type ClaimedAutoDelegation,
} from '../../../src/modules/auto-delegations/auto-delegation-claims.js';
import { AutoDelegations } from '../../../src/modules/auto-delegations/auto-delegations.service.js';
import { RefillPurchases } from '../../../src/modules/auto-delegations/refill-purchases.js';
import { buy, extend, type Bought } from '../../../src/modules/auto-delegations/refill-statement.js';
import { energy } from '../../../src/domain/units.js';
import { DirectTerms } from '../../../src/modules/orders/direct-terms.js';
import { QuotesService } from '../../../src/modules/quotes/quotes.service.js';
import { until } from '../../../packages/local/src/wait.js';
import { byHand } from '../../support/worker/extension-records.js';
import { autoRow, ordersOf, nextBlock, refill, setAuto } from '../../support/worker/refill-fixture.js';
import { keepSelling } from '../../support/api/factory.js';
import { refundOrder } from '../../support/api/order-fixture.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  devnet,
  orderOf,
  SteppedWorker,
  openFixtureWithTwoWallets,
  pool,
  receivers,
  rent,
  second,
  SOLID_LAG,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';

const ENERGY = energy(130_000n);
const DURATION_SEC = 300;

beforeAll(() => openFixtureWithTwoWallets({ DATABASE_POOL_MAX: '6' }), START_LIMIT_MS);
afterEach(async () => {
  await api.database.query('DELETE FROM auto_delegation');
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

async function claimed(worker: SteppedWorker, id: bigint): Promise<ClaimedAutoDelegation> {
  await api.database.query('UPDATE auto_delegation SET due_at = clock_timestamp() WHERE id = $1', [id]);
  const [row] = await worker.part(AutoDelegationClaims).claimDue(1);
  expect(row).toMatchObject({ id });
  return row!;
}

async function bought(worker: SteppedWorker, row: ClaimedAutoDelegation): Promise<Bought> {
  await keepSelling(api.database);
  const request = { receiveAddress: row.address, energy: ENERGY, durationSec: DURATION_SEC };
  const { terms } = await worker.part(DirectTerms).price(request, false);
  return buy(api.database, row, terms!);
}

it('lets only one of two workers buy for the same need, even if the other reads the purchase number again', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const id = await setAuto(receivers[0]!, { duration_sec: DURATION_SEC });
  const row = await claimed(worker, id);
  expect(await bought(worker, row)).toEqual({ orderId: expect.any(BigInt) });
  expect(await bought(worker, row)).toEqual({ refused: 'AUTO_DELEGATION_MOVED' });
  expect(await bought(worker, { ...row, purchases: 1n })).toEqual({ refused: 'AUTO_DELEGATION_MOVED' });
  expect(await ordersOf(id)).toHaveLength(1);
});

it('refuses a purchase whose row changed while it waited', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const id = await setAuto(receivers[1]!, { duration_sec: DURATION_SEC });
  const row = await claimed(worker, id);
  let waiting: Promise<Bought> | undefined;
  await api.database.transaction(async (tx) => {
    await tx.query('UPDATE auto_delegation SET fence = fence + 1 WHERE id = $1', [id]);
    waiting = bought(worker, row);
    await until(
      async () => {
        const held = await api.database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
              AND query LIKE '%buy_for_auto_delegation(%'`,
        );
        return held.length > 0 ? true : undefined;
      },
      5000,
      'the purchase waiting',
    );
  });
  expect(await waiting).toEqual({ refused: 'AUTO_DELEGATION_MOVED' });
  expect(await ordersOf(id)).toHaveLength(0);
});

it('buys while the address is woken again and again, and forgets no wake', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const id = await setAuto(receivers[1]!, { duration_sec: DURATION_SEC });
  const row = await claimed(worker, id);
  const autoDelegations = api.app.get(AutoDelegations, { strict: false });
  await autoDelegations.wake(row.project_id, row.address, () => Promise.resolve());
  expect(await bought(worker, row)).toEqual({ orderId: expect.any(BigInt) });
  const outcome = { isAsleep: true, pauseReason: undefined, failures: 0, usableEnergy: undefined, usedAtMs: 1 };
  const found = { ...outcome, changeAtMs: undefined, dueInMs: undefined, checkInMs: undefined };
  expect(await worker.part(AutoDelegationClaims).record(row, found)).toBe(true);
  expect(await autoRow(id)).toMatchObject({ asleep: false, used_at: null, due_at: expect.any(Date) });
});

it('records nothing of a check whose row changed meanwhile', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const id = await setAuto(receivers[1]!, { duration_sec: DURATION_SEC });
  const row = await claimed(worker, id);
  await setAuto(receivers[1]!, { duration_sec: DURATION_SEC, keep_energy: 70_000 });
  const outcome = { isAsleep: true, pauseReason: 'PRICE_ABOVE_MAX', failures: 1, usableEnergy: 5n, usedAtMs: 1 };
  const found = { ...outcome, changeAtMs: undefined, dueInMs: undefined, checkInMs: undefined };
  expect(await worker.part(AutoDelegationClaims).record(row, found)).toBe(false);
  const unchanged = { asleep: false, pause_reason: null, failures: 0, usable_energy: null, due_at: expect.any(Date) };
  expect(await autoRow(id)).toMatchObject(unchanged);
});

it('skips a number under which a caller bought an order when callers could', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const id = await setAuto(receivers[1]!, { duration_sec: DURATION_SEC });
  const key = `auto_${id.toString()}_1`;
  const old = await rent(receivers[2]!);
  await byHand('UPDATE orders SET key = $2 WHERE key = $1', [old, key]);
  await byHand('UPDATE order_key SET key = $2 WHERE key = $1', [old, key]);
  expect(await bought(worker, await claimed(worker, id))).toEqual({ orderId: undefined });
  expect(await autoRow(id)).toMatchObject({ purchases: 1n, open_order_id: null, spent_credits: 0n });
  expect(await bought(worker, await claimed(worker, id))).toEqual({ orderId: expect.any(BigInt) });
  expect(await ordersOf(id)).toMatchObject([{ key }, { key: `auto_${id.toString()}_2`, energy: ENERGY }]);
  await byHand('UPDATE orders SET key = $2 WHERE key = $1', [key, old]);
  await byHand('UPDATE order_key SET key = $2 WHERE key = $1', [key, old]);
});

describe('an extension', () => {
  /** A supplied address a minute before the end of its rental. */
  async function ending(address: string) {
    const worker = await SteppedWorker.open();
    const id = await setAuto(address, { duration_sec: DURATION_SEC });
    await nextBlock(worker);
    await nextBlock(worker);
    await nextBlock(worker, SOLID_LAG + 1);
    const [own] = await ordersOf(id);
    expect(own).toMatchObject({ settled: true });
    const headAtMs = own!.ends_at!.getTime() - 50_000;
    await devnet.control('mine', { blocks: [{ timestamp: headAtMs }] });
    await worker.followChain();
    await keepSelling(api.database);
    const priced = worker.part(QuotesService).priceTime(ENERGY, DURATION_SEC, 1);
    const extended = async (orderId: bigint): Promise<Bought> => {
      const terms = { ...priced, orderId, durationSec: DURATION_SEC, expectedUses: 1, headAtMs };
      return extend(api.database, await claimed(worker, id), terms);
    };
    return { id, orderId: own!.id, extended };
  }

  it('is made of its own rentals alone', async () => {
    const by = await rent(receivers[0]!, 50_000, 600);
    const { id, extended } = await ending(receivers[1]!);
    const { id: theirs } = await orderOf(by);
    expect(await orderOf(by)).toMatchObject({ status: 'delivered', settled: true });
    expect(await extended(theirs)).toEqual({ refused: 'NOT_EXTENDABLE' });
    expect(await autoRow(id)).toMatchObject({ purchases: 1n });
  });

  it('skips a number under which a caller bought an order when callers could', async () => {
    const { id, orderId, extended } = await ending(receivers[1]!);
    const key = `auto_${id.toString()}_2`;
    const old = await rent(receivers[2]!);
    await byHand('UPDATE orders SET key = $2 WHERE key = $1', [old, key]);
    await byHand('UPDATE order_key SET key = $2 WHERE key = $1', [old, key]);
    expect(await extended(orderId)).toEqual({ orderId });
    expect(await autoRow(id)).toMatchObject({ purchases: 2n });
    expect((await ordersOf(id))[0]).toMatchObject({ extensions: 0 });
    expect(await extended(orderId)).toEqual({ orderId });
    expect(await autoRow(id)).toMatchObject({ purchases: 3n });
    expect((await ordersOf(id))[0]).toMatchObject({ extensions: 1 });
    await byHand('UPDATE orders SET key = $2 WHERE key = $1', [key, old]);
    await byHand('UPDATE order_key SET key = $2 WHERE key = $1', [key, old]);
  });
});

it('buys the energy of a caller’s order that never arrives, which nothing announces', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const by = await rent(receivers[2]!, 130_000, 600);
  const id = await setAuto(receivers[2]!, { duration_sec: DURATION_SEC });
  // The first check is followed by another one in any case.
  for (let checks = 0; checks < 2; checks += 1) await refill(worker);
  expect(await ordersOf(id)).toEqual([]);
  expect(await autoRow(id)).toMatchObject({ due_at: expect.any(Date), check_at: expect.any(Date) });
  await refundOrder(api, customer.merchant, by);
  await refill(worker);
  expect(await ordersOf(id)).toMatchObject([{ energy: ENERGY }]);
  // Its own order announces its end. If that is lost, the slow round finds it.
  expect(await autoRow(id)).toMatchObject({ due_at: null, check_at: expect.any(Date) });
  await api.database.query('UPDATE auto_delegation SET due_at = clock_timestamp(), check_at = NULL WHERE id = $1', [
    id,
  ]);
  await refill(worker);
  expect(await autoRow(id)).toMatchObject({ due_at: null, check_at: expect.any(Date) });
});

it('refuses a purchase whose claim is older than a check may take', async () => {
  const worker = await SteppedWorker.open();
  await worker.followChain();
  const id = await setAuto(receivers[1]!, { duration_sec: DURATION_SEC });
  const row = await claimed(worker, id);
  expect(await bought(worker, { ...row, claimedAtMs: row.claimedAtMs - 30_000 })).toEqual({
    refused: 'AUTO_DELEGATION_MOVED',
  });
  expect(await bought(worker, row)).toEqual({ orderId: expect.any(BigInt) });
});

it('immediately replaces a rental that cannot be extended after all', async () => {
  const worker = await SteppedWorker.open();
  const id = await setAuto(receivers[2]!, { duration_sec: DURATION_SEC });
  await nextBlock(worker);
  await nextBlock(worker);
  await nextBlock(worker, SOLID_LAG + 1);
  const [first] = await ordersOf(id);
  expect(first).toMatchObject({ settled: true });
  await api.database.query('UPDATE orders SET needs_attention = true WHERE id = $1', [first!.id]);
  const endsAtMs = first!.ends_at!.getTime();
  const rental = {
    ...{ orderId: first!.id, isOwn: true, energy: ENERGY, standing: ENERGY, coming: energy(0n) },
    ...{ endsAtMs, isReclaimed: false, extendable: 'yes' as const },
  };
  const refill = { kind: 'extension' as const, rental, endsAtMs, replacement: ENERGY };
  const row = await claimed(worker, id);
  await keepSelling(api.database);
  const plan = { usable: ENERGY, refill, isAsleep: false, changeAtMs: undefined };
  expect(await worker.part(RefillPurchases).buy(row, plan, endsAtMs - 30_000)).toEqual({ kind: 'ordered' });
  expect(await ordersOf(id)).toMatchObject([{ extensions: 0 }, { energy: ENERGY }]);
  await api.database.query('UPDATE orders SET needs_attention = false WHERE id = $1', [first!.id]);
});

it('replaces a rental of a paused wallet by one of another wallet before it ends', async () => {
  const worker = await SteppedWorker.open();
  const id = await setAuto(receivers[3]!, { duration_sec: DURATION_SEC });
  await nextBlock(worker);
  await nextBlock(worker);
  await nextBlock(worker, SOLID_LAG + 1);
  expect(await ordersOf(id)).toMatchObject([{ settled: true, extensions: 0 }]);
  const status = 'UPDATE pool_wallet SET status = $2 WHERE address = $1';
  await api.database.query(status, [second.address, 'paused']);
  for (let blocks = 0; blocks < 90; blocks += 10) await nextBlock(worker, 10);
  await api.database.query(status, [second.address, 'active']);
  const [first, other, ...more] = await ordersOf(id);
  expect([first!.extensions, other?.status, more]).toEqual([0, 'delivered', []]);
  const [{ wallets }] = (await api.database.query<{ wallets: string[] }>(
    `SELECT array_agg(w.address ORDER BY l.order_id) AS wallets FROM leg l JOIN pool_wallet w ON w.id = l.wallet_id
      WHERE l.order_id = ANY ($1::bigint[])`,
    [[first!.id, other!.id]],
  )) as [{ wallets: string[] }];
  expect(wallets).toEqual([second.address, pool.address]);
  expect((await autoRow(id)).pause_reason).toBeNull();
});
