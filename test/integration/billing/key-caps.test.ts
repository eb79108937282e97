// The daily cap of an API key for whole purchases: exact under concurrency, and separate for each day and key.
import { credits } from '../../../src/domain/units.js';
import { until } from '../../../packages/local/src/wait.js';
import type { ApiKeys } from '../../../src/modules/projects/api-keys.js';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import {
  expectRefusal,
  openOrderFixture,
  refundOrder,
  withKey,
  type OrderFixture,
} from '../../support/api/order-fixture.js';
import { apiKeysOn } from '../../support/api/services.js';

const PRICE = 8_775_000;

let fixture: OrderFixture;
let keys: ApiKeys;

beforeAll(async () => {
  fixture = await openOrderFixture();
  keys = apiKeysOn(fixture.api.database, fixture.api.app);
});

afterAll(async () => {
  await fixture.close();
});

const body = () => ({ receive_address: fixture.receiver(), energy: 65_000 });

/** Creates a project with plenty of credits. */
async function project(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(fixture.api, 100_000_000_000n);
  return new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
}

/** Creates a key with a daily cap worth `orders` orders. */
async function capped(primary: HmacCustomer, orders: number): Promise<{ id: string; customer: HmacCustomer }> {
  const options = { name: 'capped', scopes: ['order', 'read'], dailyCapCredits: credits(orders * PRICE) } as const;
  const { id, apiKey } = await keys.create(primary.merchant, options, AUTHOR);
  return { id, customer: primary.withKey(apiKey) };
}

const spentBy = async (id: string): Promise<number> => Number((await keys.get(id)).spent_credits);
const balanceOf = async (customer: HmacCustomer): Promise<number> =>
  Number((await customer.get('/v1/balance')).body.credits_balance);

function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body: said } of answers) {
    const code = status === 202 ? 'taken' : (said.error as string);
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

test('accepts exactly what each cap allows of 200 concurrent orders by one key and by several', async () => {
  const primary = await project();
  const [seven, three] = [await capped(primary, 7), await capped(primary, 3)];
  const free = await keys.create(primary.merchant, { name: 'free', scopes: ['order'] }, AUTHOR);
  const before = await balanceOf(primary);
  const callers = [seven.customer, three.customer, seven.customer, three.customer, primary.withKey(free.apiKey)];
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => callers[index % callers.length]!.post('/v1/orders', body())),
  );
  const of = (index: number) => answers.filter((_, at) => at % callers.length === index);
  expect(tally([...of(0), ...of(2)])).toEqual({ taken: 7, SPEND_CAP_REACHED: 73 });
  expect(tally([...of(1), ...of(3)])).toEqual({ taken: 3, SPEND_CAP_REACHED: 77 });
  expect(tally(of(4))).toEqual({ taken: 40 });
  expect([await spentBy(seven.id), await spentBy(three.id), await spentBy(free.id)]).toEqual([
    7 * PRICE,
    3 * PRICE,
    40 * PRICE,
  ]);
  // The balance moved with the caps, and each entry names its key.
  expect(before - (await balanceOf(primary))).toBe(50 * PRICE);
  const entries = await fixture.api.database.query<{ key: string; spent: number }>(
    `SELECT api_key_id AS key, sum(-credits)::float8 AS spent FROM credit_entry
      WHERE project_id = $1 AND kind = 'charge' GROUP BY 1`,
    [primary.merchant],
  );
  expect(new Map(entries.map(({ key, spent }) => [key, spent]))).toEqual(
    new Map([
      [seven.id, 7 * PRICE],
      [three.id, 3 * PRICE],
      [free.id, 40 * PRICE],
    ]),
  );
});

test('a cap holds even if all orders were checked before the first of them was charged', async () => {
  const primary = await project();
  const { id, customer } = await capped(primary, 2);
  const { answering } = await fixture.api.database.transaction(async (tx) => {
    await tx.query('SELECT FROM credit_account WHERE project_id = $1 FOR UPDATE', [primary.merchant]);
    const orders = Array.from({ length: 5 }, () => customer.post('/v1/orders', body()));
    const areWaiting = async (): Promise<true | undefined> => {
      const waiting = await fixture.api.database.query(
        `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%take_order%'`,
      );
      return waiting.length === orders.length ? true : undefined;
    };
    await until(areWaiting, 1500, 'all orders waiting for a lock', 5);
    return { answering: Promise.all(orders) };
  });
  expect(tally(await answering)).toEqual({ taken: 2, SPEND_CAP_REACHED: 3 });
  expect(await spentBy(id)).toBe(2 * PRICE);
});

test('a purchase signed by MD5 counts against the primary key', async () => {
  const customer = await makeCustomer(fixture.api);
  await keys.setOptions(customer.merchant, { dailyCapCredits: credits(PRICE) }, AUTHOR);
  expect((await customer.post('/v1/orders', body())).status).toBe(202);
  expectRefusal(await customer.post('/v1/orders', body()), 402, 'SPEND_CAP_REACHED');
  expect(await spentBy(customer.merchant)).toBe(PRICE);
});

test('a refund lowers the spending of the order’s own day, and of no other', async () => {
  const primary = await project();
  const { id, customer } = await capped(primary, 1);
  expect((await customer.post('/v1/orders', body(), withKey('first'))).status).toBe(202);
  expectRefusal(await customer.post('/v1/orders', body()), 402, 'SPEND_CAP_REACHED');
  await refundOrder(fixture.api, primary.merchant, 'first');
  expect(await spentBy(id)).toBe(0);
  expect((await customer.post('/v1/orders', body(), withKey('second'))).status).toBe(202);
  // As if the counter belonged to another day.
  await fixture.api.database.query('UPDATE api_key SET spent_on = spent_on + 1 WHERE id = $1', [id]);
  await refundOrder(fixture.api, primary.merchant, 'second');
  expect(await spentBy(id)).toBe(PRICE);
});

test('a replay, a refused order and another day count against no cap', async () => {
  const primary = await project();
  const { id, customer } = await capped(primary, 1);
  const same = body();
  expect((await customer.post('/v1/orders', same, withKey('one'))).status).toBe(202);
  expect((await customer.post('/v1/orders', same, withKey('one'))).headers['idempotency-replayed']).toBe('true');
  await keys.setOptions(id, { dailyCapCredits: null }, AUTHOR);
  expectRefusal(
    await customer.post('/v1/orders', { ...body(), receive_address: fixture.chain.token }),
    422,
    'RECEIVER_NOT_SUPPORTED',
  );
  expect(await spentBy(id)).toBe(PRICE);
  await keys.setOptions(id, { dailyCapCredits: credits(PRICE) }, AUTHOR);
  await fixture.api.database.query('UPDATE api_key SET spent_on = spent_on - 1 WHERE id = $1', [id]);
  expect((await customer.post('/v1/orders', body())).status).toBe(202);
  expect(await spentBy(id)).toBe(PRICE);
});

test('a revoked key buys nothing, even in a process that missed its revocation', async () => {
  const primary = await project();
  const { id, customer } = await capped(primary, 5);
  for (const _ of [1, 2]) expect((await customer.post('/v1/orders', body())).status).toBe(202);
  await fixture.api.database.query('ALTER TABLE api_key DISABLE TRIGGER api_key_announced');
  try {
    await keys.revoke(id, AUTHOR);
  } finally {
    await fixture.api.database.query('ALTER TABLE api_key ENABLE TRIGGER api_key_announced');
  }
  // This process still has the key cached, and reads succeed.
  expect((await customer.get('/v1/balance')).status).toBe(200);
  expectRefusal(await customer.post('/v1/orders', body()), 401, 'INVALID_SIGNATURE');
  expect(await spentBy(id)).toBe(2 * PRICE);
});
