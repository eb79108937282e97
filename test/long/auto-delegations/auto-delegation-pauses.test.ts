// Causes that pause an auto-delegation: caps, credits, prices, capacity and keys. Each pauses it with its reason and an
// event, costs nothing, and ends by itself.
import { jest } from '@jest/globals';
import { autoRow, nextBlock, ordersOf, refill, setAuto } from '../../support/worker/refill-fixture.js';
import type { Customer } from '../../support/api/client.js';
import { byHand, foundByVerify } from '../../support/worker/extension-records.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { actAs, newOwner } from '../../support/chain/order-chain.js';
import { refundOrder } from '../../support/api/order-fixture.js';
import {
  api,
  callers,
  clearFixture,
  closeFixture,
  devnet,
  SteppedWorker,
  mine,
  openFixtureWithCalls,
  START_LIMIT_MS,
  useEnergy,
} from '../../support/worker/fulfilment-fixture.js';
import { apiKeysOn, ledgerOn } from '../../support/api/services.js';
import { credits } from '../../../src/domain/units.js';

jest.setTimeout(30_000);

const RICH = 1_000_000_000_000n;

let next = 0;
let caller = callers[0]!;
let address = '';
let worker: SteppedWorker;
let owner: Customer;

beforeAll(() => openFixtureWithCalls({ DATABASE_POOL_MAX: '12' }), START_LIMIT_MS);
beforeEach(async () => {
  caller = callers[next++]!;
  ({ address } = caller);
  worker = await SteppedWorker.open();
  await worker.followChain();
  owner = await makeCustomer(api, RICH);
});
afterEach(async () => {
  await api.database.query('DELETE FROM auto_delegation');
  await clearFixture();
}, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

/** Returns the types and reasons of its project's events, oldest first. */
async function eventsOf(): Promise<string[]> {
  const rows = await api.database.query<{ type: string; reason: string | null }>(
    `SELECT type, snapshot->'auto_delegation'->>'pause_reason' AS reason FROM event
      WHERE project_id = $1 AND type LIKE 'auto_delegation.%' ORDER BY id`,
    [owner.merchant],
  );
  return rows.map(({ type, reason }) => [type, reason].join(' ').trim());
}

async function spentOf(id: bigint): Promise<bigint> {
  return (await autoRow(id)).spent_credits;
}

it('the daily cap is charged together with the balance, and holds exactly', async () => {
  const first = await setAuto(address, { keep_energy: 100_000 }, owner);
  await refill(worker);
  const price = (await ordersOf(first))[0]!.credits;
  expect(await spentOf(first)).toBe(price);
  const cap = Number(price);
  const [at, below] = [callers[next++]!.address, callers[next++]!.address];
  const exact = await setAuto(at, { keep_energy: 100_000, daily_cap_credits: cap }, owner);
  const short = await setAuto(below, { keep_energy: 100_000, daily_cap_credits: cap - 1 }, owner);
  await refill(worker);
  expect(await ordersOf(exact)).toHaveLength(1);
  expect(await ordersOf(short)).toHaveLength(0);
  expect(await autoRow(short)).toMatchObject({ pause_reason: 'SPEND_CAP_REACHED', purchases: 0n, spent_credits: 0n });
  expect(await eventsOf()).toEqual(['auto_delegation.paused SPEND_CAP_REACHED']);
  // Spending of another day does not count.
  await api.database.query(
    `UPDATE auto_delegation SET daily_cap_credits = $2, spent_credits = $2, spent_on = spent_on - 1 WHERE id = $1`,
    [short, cap],
  );
  await refill(worker);
  expect(await ordersOf(short)).toHaveLength(1);
  expect(await autoRow(short)).toMatchObject({ pause_reason: null, spent_credits: price, failures: 0 });
  expect(await eventsOf()).toEqual(['auto_delegation.paused SPEND_CAP_REACHED', 'auto_delegation.resumed']);
});

it('a refund lowers the spending of its day, and the shortfall is bought again', async () => {
  const id = await setAuto(address, { keep_energy: 100_000 }, owner);
  await refill(worker);
  const [order] = await ordersOf(id);
  expect(await autoRow(id)).toMatchObject({ open_order_id: order!.id, spent_credits: order!.credits });
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
  await refundOrder(api, owner.merchant, order!.key);
  expect(await autoRow(id)).toMatchObject({ open_order_id: null, spent_credits: 0n });
  await refill(worker);
  expect(await ordersOf(id)).toMatchObject([{ status: 'refunded' }, { status: 'reserved' }]);
  expect(await spentOf(id)).toBe(order!.credits);
});

it('without credits an auto-delegation waits, and goes on once there are some', async () => {
  owner = await makeCustomer(api, 1n);
  const id = await setAuto(address, {}, owner);
  await refill(worker);
  const { paused_at: since } = await autoRow(id);
  await refill(worker);
  expect(await ordersOf(id)).toEqual([]);
  expect(await autoRow(id)).toMatchObject({ pause_reason: 'INSUFFICIENT_CREDITS', paused_at: since, failures: 2 });
  expect(await eventsOf()).toEqual(['auto_delegation.paused INSUFFICIENT_CREDITS']);
  await ledgerOn(api.database).topUp(owner.merchant, credits(RICH), 'pauses-1', AUTHOR);
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
  expect((await autoRow(id)).pause_reason).toBeNull();
});

it('what cannot be bought is tried less and less often, and then in turn with all others', async () => {
  owner = await makeCustomer(api, 1n);
  const id = await setAuto(address, {}, owner);
  const waits: (number | null)[] = [];
  for (let round = 0; round < 6; round += 1) {
    await api.database.query('UPDATE auto_delegation SET due_at = clock_timestamp() WHERE id = $1', [id]);
    await refill(worker);
    const [row] = await api.database.query<{ due: number | null; turn: number | null }>(
      `SELECT round(extract(epoch FROM due_at - clock_timestamp()))::integer AS due,
          round(extract(epoch FROM check_at - clock_timestamp()))::integer AS turn FROM auto_delegation WHERE id = $1`,
      [id],
    );
    waits.push(row!.due ?? -row!.turn!);
  }
  expect(waits.map((wait) => wait! > 0)).toEqual([true, true, true, true, false, false]);
  expect(waits[1]).toBeGreaterThan(waits[0]!);
  expect(waits[3]).toBeGreaterThan(100);
});

it('a use causes an attempt at once, however long the auto-delegation has been paused', async () => {
  owner = await makeCustomer(api, 1n);
  const id = await setAuto(address, {}, owner);
  await refill(worker);
  await api.database.query(
    `UPDATE auto_delegation SET due_at = NULL, check_at = clock_timestamp() + interval '1 hour', failures = 9`,
  );
  await useEnergy(caller, 1);
  await nextBlock(worker);
  expect(await autoRow(id)).toMatchObject({ failures: 1, pause_reason: 'INSUFFICIENT_CREDITS' });
});

it('a price above the maximum is not paid', async () => {
  const id = await setAuto(address, { max_sun_per_energy: 1 }, owner);
  await refill(worker);
  expect(await ordersOf(id)).toEqual([]);
  expect((await autoRow(id)).pause_reason).toBe('PRICE_ABOVE_MAX');
  await setAuto(address, { max_sun_per_energy: 100 }, owner);
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
  expect((await autoRow(id)).pause_reason).toBeNull();
});

describe('a shortfall not worth renting', () => {
  const usedUpIn = async (): Promise<bigint> => {
    const id = await setAuto(address, {}, owner);
    await nextBlock(worker);
    await nextBlock(worker);
    expect(await ordersOf(id)).toMatchObject([{ status: 'delivered' }]);
    await useEnergy(caller, 10);
    await mine();
    return id;
  };

  it('pauses it where no shortfall would be worth it, though only a part of what is kept is missing', async () => {
    const id = await usedUpIn();
    const price = `UPDATE price_row SET sun_per_energy = $1 WHERE duration_max_sec = 3600`;
    await api.database.query(price, [100]);
    const later = await SteppedWorker.open();
    await later.followChain();
    await refill(later);
    await api.database.query(price, [45]);
    expect(await ordersOf(id)).toHaveLength(1);
    expect((await autoRow(id)).pause_reason).toBe('NOT_WORTH_RENTING');
    const sold = await SteppedWorker.open();
    await sold.followChain();
    await refill(sold);
    expect(await ordersOf(id)).toHaveLength(2);
    expect(await eventsOf()).toEqual(['auto_delegation.paused NOT_WORTH_RENTING', 'auto_delegation.resumed']);
  });

  it('pauses it once where everything kept is below that by now, however much of it is missing', async () => {
    const id = await usedUpIn();
    const dear = await SteppedWorker.open({ PRICE_FLOOR_BPS: '300000' });
    await dear.followChain();
    await refill(dear);
    await useEnergy(caller, 30);
    await nextBlock(dear);
    await nextBlock(dear);
    expect(await ordersOf(id)).toHaveLength(1);
    expect(await eventsOf()).toEqual(['auto_delegation.paused NOT_WORTH_RENTING']);
  });
});

it('an address without an account pauses it, and is supplied once it has one', async () => {
  const nobody = newOwner().address;
  const id = await setAuto(nobody, {}, owner);
  await refill(worker);
  expect(await autoRow(id)).toMatchObject({ pause_reason: 'RECEIVER_NOT_ACTIVATED', failures: 1, usable_energy: null });
  expect(await eventsOf()).toEqual(['auto_delegation.paused RECEIVER_NOT_ACTIVATED']);
  await actAs(devnet.fullUrl, caller, 'createtransaction', { to_address: nobody, amount: 1_000_000 });
  await mine();
  await worker.followChain();
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
  expect((await autoRow(id)).pause_reason).toBeNull();
});

it('a duration that is no longer sold pauses it', async () => {
  const id = await setAuto(address, { duration_sec: 100_000_000 }, owner);
  await refill(worker);
  expect(await autoRow(id)).toMatchObject({ pause_reason: 'DURATION_NOT_SOLD', purchases: 0n });
});

it('an auto-delegation stops with the API key that set it', async () => {
  const keys = apiKeysOn(api.database, api.app);
  const { id: keyId } = await keys.create(owner.merchant, { name: 'auto', scopes: ['read', 'order'] }, AUTHOR);
  const id = await setAuto(address, {}, owner);
  await api.database.query('UPDATE auto_delegation SET api_key_id = $1 WHERE id = $2', [keyId, id]);
  await keys.revoke(keyId, AUTHOR);
  await refill(worker);
  expect(await ordersOf(id)).toEqual([]);
  expect((await autoRow(id)).pause_reason).toBe('API_KEY_REVOKED');
});

it('an auto-delegation stops while the API key that set it may not order', async () => {
  const keys = apiKeysOn(api.database, api.app);
  const { id: keyId } = await keys.create(owner.merchant, { name: 'auto', scopes: ['read', 'order'] }, AUTHOR);
  const id = await setAuto(address, {}, owner);
  await api.database.query('UPDATE auto_delegation SET api_key_id = $1 WHERE id = $2', [keyId, id]);
  await keys.setOptions(keyId, { scopes: ['read'] }, AUTHOR);
  await refill(worker);
  expect(await ordersOf(id)).toEqual([]);
  expect(await autoRow(id)).toMatchObject({ pause_reason: 'KEY_SCOPE', purchases: 0n, spent_credits: 0n });
  await keys.setOptions(keyId, { scopes: ['read', 'order'] }, AUTHOR);
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
});

it('an auto-delegation stops while its project is frozen', async () => {
  const id = await setAuto(address, {}, owner);
  await api.database.query('UPDATE credit_account SET frozen = true WHERE project_id = $1', [owner.merchant]);
  await refill(worker);
  expect((await autoRow(id)).pause_reason).toBe('PROJECT_FROZEN');
  await api.database.query('UPDATE credit_account SET frozen = false WHERE project_id = $1', [owner.merchant]);
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
});

it('an auto-delegation waits for capacity where the pool has none', async () => {
  const id = await setAuto(address, {}, owner);
  await api.database.query('UPDATE pool_slot SET free_transactions = 0');
  await refill(worker);
  expect((await autoRow(id)).pause_reason).toBe('CAPACITY_UNAVAILABLE');
  await worker.poolSync().syncNext();
  await api.database.query('UPDATE pool_slot SET free_transactions = 1000');
  await refill(worker);
  expect(await ordersOf(id)).toHaveLength(1);
});

it('a change of the settings during a check makes the check buy nothing', async () => {
  const id = await setAuto(address, {}, owner);
  const [claimed] = await api.database.query<{ fence: bigint }>('SELECT fence FROM auto_delegation WHERE id = $1', [
    id,
  ]);
  await setAuto(address, { keep_energy: 70_000 }, owner);
  const attempt = api.database.query(
    `SELECT created FROM buy_for_auto_delegation(p_auto => $1, p_fence => $2, p_number => 1, p_hash => $3, p_energy => 1000,
       p_duration => 60, p_price => 1, p_credits => 1, p_rate => 1, p_amount => 1000000, p_leg_slack => 1, p_legs_max => 1,
       p_refusal => NULL, p_request_id => 'x')`,
    [id, claimed!.fence, Buffer.alloc(32)],
  );
  await expect(attempt).rejects.toThrow('AUTO_DELEGATION_MOVED');
  expect(await ordersOf(id)).toEqual([]);
});

describe('verify', () => {
  const change = 'UPDATE auto_delegation SET purchases = $2, address = $3, open_order_id = $4 WHERE id = $1';
  const orderKey = 'UPDATE orders SET key = $2, request_id = $3 WHERE key = $1';
  const ofKey = 'UPDATE order_key SET key = $2 WHERE key = $1';

  it('reports a purchase that was not counted, is for another address, or is over but recorded as open', async () => {
    const id = await setAuto(address, {}, owner);
    await nextBlock(worker);
    await nextBlock(worker);
    const [order] = await ordersOf(id);
    expect(order!.status).toBe('delivered');
    expect(await foundByVerify()).toEqual([]);
    const wrong = [
      [0, address, null],
      [1, callers[next]!.address, null],
      [1, address, order!.id],
    ];
    for (const values of wrong) {
      await byHand(change, [id, ...values]);
      expect(await foundByVerify()).toEqual(['auto-delegation-purchases']);
    }
    await byHand(change, [id, 1, address, null]);
    expect(await foundByVerify()).toEqual([]);
  });

  it('reports a number that was left out, and not what a caller bought under such a key when callers could', async () => {
    const id = await setAuto(address, {}, owner);
    await nextBlock(worker);
    await nextBlock(worker);
    const [first, third] = [`auto_${id.toString()}_1`, `auto_${id.toString()}_3`];
    await byHand(change, [id, 3, address, null]);
    await byHand(orderKey, [first, third, third]);
    await byHand(ofKey, [first, third]);
    expect(await foundByVerify()).toEqual(['auto-delegation-purchases']);
    await byHand(change, [id, 0, address, null]);
    await byHand(orderKey, [third, third, 'b8f5c3c2-0b0e-4a57-9a59-6f3f54a4b0a1']);
    expect(await foundByVerify()).toEqual([]);
    await byHand(orderKey, [third, first, first]);
    await byHand(ofKey, [third, first]);
    await byHand(change, [id, 1, address, null]);
    expect(await foundByVerify()).toEqual([]);
  });
});
