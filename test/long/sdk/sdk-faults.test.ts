// The SDK behind a faulty network: with any loss, delay or repetition, a purchase is one order.
import { EnergyClient, UnknownOutcomeError, type Order } from '../../../packages/sdk/src/index.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { FAULTS, openFaultyProxy, type Fault } from '../../support/api/faulty-proxy.js';
import { balanceOf, openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';

const PURCHASES = 1000;
const AT_ONCE = 40;
const ATTEMPT_MS = 1500;
const LATE_MS = 2000;

let fixture: OrderFixture;

beforeAll(async () => {
  fixture = await openOrderFixture();
});

afterAll(async () => {
  await fixture.close();
});

interface Counted {
  readonly orders: number;
  readonly keys: number;
  readonly charges: number;
}

async function counted({ merchant }: Customer): Promise<Counted> {
  const [row] = await fixture.api.database.query<Counted>(
    `SELECT (SELECT count(*)::int FROM orders WHERE project_id = $1) AS orders,
            (SELECT count(*)::int FROM order_key WHERE project_id = $1) AS keys,
            (SELECT count(*)::int FROM credit_entry WHERE project_id = $1 AND kind = 'charge') AS charges`,
    [merchant],
  );
  return row!;
}

it('a thousand purchases through a proxy that loses, delays and repeats are a thousand orders', async () => {
  const customer = await makeCustomer(fixture.api, 100_000_000_000n);
  const proxy = await openFaultyProxy({
    ...{ targetUrl: fixture.api.baseUrl, percent: 40, faults: FAULTS },
    ...{ lateMs: LATE_MS, seed: 7 },
  });
  const { merchant, apiKey } = customer;
  const client = new EnergyClient({
    baseUrl: proxy.baseUrl,
    merchant,
    apiKey,
    attemptTimeoutMs: ATTEMPT_MS,
    retries: 3,
  });
  const before = await balanceOf(customer);
  let unknown = 0;

  /** Buys as a merchant's program would: without a key at first, then repeatedly with the returned one. */
  const buy = async (index: number): Promise<Order> => {
    const request = { receive_address: fixture.receiver(index), energy: 65_000 };
    let thrown = await client.orders.create(request).catch((error: unknown) => error);
    while (thrown instanceof UnknownOutcomeError) {
      unknown += 1;
      thrown = await client.orders.create(request, { idempotencyKey: thrown.key! }).catch((error: unknown) => error);
    }
    if (thrown instanceof Error) throw thrown;
    return thrown as Order;
  };

  const orders: Order[] = [];
  let next = 0;
  const buyRepeatedly = async (): Promise<void> => {
    while (next < PURCHASES) orders.push(await buy(next++));
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, buyRepeatedly));
  } finally {
    await proxy.close();
  }
  const missing = FAULTS.filter((fault) => !proxy.happened.has(fault));
  expect(missing).toEqual([]);
  // Some calls are given up while their outcome is unknown.
  expect(unknown).toBeGreaterThan(0);
  expect(new Set(orders.map(({ id }) => id)).size).toBe(PURCHASES);
  expect(await counted(customer)).toEqual({ orders: PURCHASES, keys: PURCHASES, charges: PURCHASES });
  const charged = orders.reduce((sum, { credits }) => sum + credits, 0);
  expect(before - (await balanceOf(customer))).toBe(charged);
});

/** Faults that leave open if the request was taken or will be. */
const OPEN_ENDED: readonly Fault[] = ['request lost', 'answer lost', 'answer cut short', 'bad gateway', 'request late'];

it.each(OPEN_ENDED)('%s, again and again: the outcome is unknown, and its key finds the one order', async (fault) => {
  const customer = await makeCustomer(fixture.api);
  const { merchant, apiKey } = customer;
  const proxy = await openFaultyProxy({
    ...{ targetUrl: fixture.api.baseUrl, percent: 100, faults: [fault] },
    ...{ lateMs: 10, seed: 1 },
  });
  const request = { receive_address: fixture.receiver(1), energy: 65_000 };
  const through = new EnergyClient({ baseUrl: proxy.baseUrl, merchant, apiKey, retries: 2 });
  const thrown = await through.orders.create(request).catch((error: unknown) => error);
  await proxy.close();
  expect(thrown).toBeInstanceOf(UnknownOutcomeError);
  expect(proxy.happened.get(fault)).toBe(3);
  const direct = new EnergyClient({ baseUrl: fixture.api.baseUrl, merchant, apiKey });
  const { key } = thrown as UnknownOutcomeError;
  const order = await direct.orders.create(request, { idempotencyKey: key! });
  expect(order.key).toBe(key);
  expect(await counted(customer)).toEqual({ orders: 1, keys: 1, charges: 1 });
});
