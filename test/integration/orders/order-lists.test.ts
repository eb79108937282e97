// Filtered order lists: complete, limited to the project, and never reading more than a page needs.
import { ORDER_LISTS } from '../../../src/modules/orders/order-rows.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { settings } from '../../support/cli.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const RECEIVERS = [
  'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  'TMNy1ryW4Fe9CbCYtHzMRnXfyngAZ6seeX',
] as const;

let database: TestDatabase;
let redis: TestRedis;
let api: TestApi;

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  api = await openApi(settings(database.url, { REDIS_URL: redis.url, LOG_LEVEL: 'silent' }));
});

afterAll(async () => {
  await api.close();
  await database.drop();
  await redis.close();
});

/**
 * Inserts `count` orders, one per `step` from 2026-01-01, numbered from 1 in their keys. Each third has another
 * receiver, each seventh is refunded, each fifth has a reference, eleven of them in rotation.
 */
async function makeOrders({ merchant }: Customer, count: number, step = '1 minute'): Promise<void> {
  for (let first = 1; first <= count; first += BATCH) {
    await api.database.query(INSERT, [merchant, first, Math.min(count, first + BATCH - 1), RECEIVERS, step]);
  }
}
const BATCH = 5000;
const INSERT = `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits,
       trx_usd_e8, created_at, reference, delivered_energy, delivered_at)
     SELECT $1::uuid, 'k' || n, sha256('x'), 'rental', CASE WHEN n % 7 = 0 THEN 'refunded' ELSE 'delivered' END,
       ($4::text[])[1 + n % 3], 65000, 3600, 2925000, 8775000, 30000000, '2026-01-01Z'::timestamptz + n * $5::interval,
       CASE WHEN n % 5 = 0 THEN 'batch ' || n / 5 % 11 END, 65000, '2026-01-01Z'
       FROM generate_series($2::integer, $3::integer) n`;

const numberOf = ({ key }: { readonly key: string }): number => Number(key.slice(1));

/** Returns every order of the list by its number, and the number of pages. */
async function readAll(customer: Customer, query: string): Promise<{ numbers: number[]; pages: number }> {
  const numbers: number[] = [];
  let cursor = '';
  for (let pages = 1; ; pages += 1) {
    const { status, body } = await customer.get(`/v1/orders?${query}${cursor}`);
    expect([query, status]).toEqual([query, 200]);
    numbers.push(...body.items.map(numberOf));
    if (body.next_cursor === undefined) return { numbers, pages };
    cursor = `&cursor=${body.next_cursor}`;
  }
}

const minute = (number: number): Date => new Date(Date.UTC(2026, 0, 1) + number * 60_000);
const newestFirst = (count: number): number[] => Array.from({ length: count }, (_, at) => count - at);

test('a list by receiver, reference, status and time has all of its orders, newest first, and no one else’s', async () => {
  const [customer, other] = [await makeCustomer(api), await makeCustomer(api)];
  await makeOrders(customer, 210);
  await makeOrders(other, 210);
  const [from, to] = [minute(50), minute(150)];
  const filters: readonly (readonly [string, (number: number) => boolean])[] = [
    ['', () => true],
    [`receive_address=${RECEIVERS[1]}`, (n) => n % 3 === 1],
    ['status=refunded', (n) => n % 7 === 0],
    ['reference=batch%203', (n) => n % 5 === 0 && (n / 5) % 11 === 3],
    ['reference=batch+3', (n) => n % 5 === 0 && (n / 5) % 11 === 3],
    [`from=${from.toISOString()}`, (n) => n >= 50],
    [`to=${to.toISOString()}`, (n) => n < 150],
    [`from=${from.toISOString()}&to=${to.toISOString()}`, (n) => n >= 50 && n < 150],
    ['from=2026-01-02', () => false],
    ['to=2026-01-02', () => true],
    ['from=2026-01-01T01:00:00.000001Z&to=2026-01-01T01:02:00.000001Z', (n) => n === 61 || n === 62],
    [`receive_address=${RECEIVERS[0]}&from=${from.toISOString()}`, (n) => n % 3 === 0 && n >= 50],
    [`status=refunded&to=${to.toISOString()}`, (n) => n % 7 === 0 && n < 150],
    [`status=delivered&receive_address=${RECEIVERS[2]}`, (n) => n % 7 !== 0 && n % 3 === 2],
    [
      `status=refunded&receive_address=${RECEIVERS[0]}&reference=batch%206&from=${from.toISOString()}`,
      (n) => n % 7 === 0 && n % 3 === 0 && n % 5 === 0 && (n / 5) % 11 === 6 && n >= 50,
    ],
  ];
  for (const [query, isIn] of filters) {
    for (const limit of [20, 100]) {
      const { numbers } = await readAll(customer, `limit=${limit.toString()}&${query}`);
      expect([query, numbers]).toEqual([query, newestFirst(210).filter(isIn)]);
    }
  }
  expect((await customer.get('/v1/orders?reference=batch')).body).toEqual({ items: [] });
  expect((await customer.get('/v1/orders?status=reserved')).body).toEqual({ items: [] });
});

test('orders of the same moment are each on one page, in the order of their ids', async () => {
  const customer = await makeCustomer(api);
  await makeOrders(customer, 50, '0 seconds');
  expect(await readAll(customer, 'limit=7')).toEqual({ numbers: newestFirst(50), pages: 8 });
  expect((await readAll(customer, `limit=3&receive_address=${RECEIVERS[0]}`)).numbers).toEqual(
    newestFirst(50).filter((n) => n % 3 === 0),
  );
});

test('orders are in the order of their times if their ids are in another', async () => {
  const customer = await makeCustomer(api);
  await makeOrders(customer, 40, '-1 minute');
  expect((await readAll(customer, 'limit=7')).numbers).toEqual(newestFirst(40).reverse());
  expect((await readAll(customer, 'limit=4&status=refunded')).numbers).toEqual([7, 14, 21, 28, 35]);
});

test('a cursor is a place among all orders of the project: another filter continues from there', async () => {
  const [customer, other] = [await makeCustomer(api), await makeCustomer(api)];
  await makeOrders(customer, 60);
  await makeOrders(other, 60);
  const after = (await customer.get('/v1/orders?limit=20')).body.next_cursor as string;
  const numbersOf = async (query: string): Promise<number[]> =>
    (await customer.get(`/v1/orders?limit=100&cursor=${after}&${query}`)).body.items.map(numberOf);
  const older = newestFirst(60).filter((n) => n <= 40);
  expect(await numbersOf('')).toEqual(older);
  expect(await numbersOf('status=refunded')).toEqual(older.filter((n) => n % 7 === 0));
  expect(await numbersOf(`receive_address=${RECEIVERS[1]}`)).toEqual(older.filter((n) => n % 3 === 1));
  expect(await numbersOf(`to=${minute(30).toISOString()}`)).toEqual(older.filter((n) => n < 30));
  expect(await numbersOf(`to=${minute(50).toISOString()}`)).toEqual(older);
  expect(await numbersOf(`from=${minute(50).toISOString()}`)).toEqual([]);
  // A cursor names an order of the project; foreign and malformed cursors are refused.
  const [row] = await api.database.query<{ id: bigint }>(
    `SELECT id FROM orders WHERE project_id = $1 AND key = 'k41'`,
    [customer.merchant],
  );
  expect(Buffer.from(after, 'base64url').toString()).toBe(`o${row!.id.toString()}`);
  const foreign = (await other.get('/v1/orders?limit=20')).body.next_cursor as string;
  for (const cursor of [foreign, Buffer.from('o999999999999999999').toString('base64url'), 'abc', '']) {
    const { status, body } = await customer.get(`/v1/orders?cursor=${cursor}`);
    expect([status, body.error, body.details]).toEqual([
      400,
      'INVALID_REQUEST',
      [{ field: 'cursor', msg: 'is not one that a page of orders returned' }],
    ]);
  }
});

test('an order that arrives while a list is read is on none of its further pages', async () => {
  const customer = await makeCustomer(api);
  await makeOrders(customer, 30);
  const first = (await customer.get(`/v1/orders?limit=10`)).body;
  await api.database.query(
    `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, price_sun, credits, trx_usd_e8, created_at)
     VALUES ($1, 'k31', sha256('x'), 'activation', 'reserved', $2, 1, 1, 1, clock_timestamp())`,
    [customer.merchant, RECEIVERS[0]],
  );
  const second = (await customer.get(`/v1/orders?limit=10&cursor=${first.next_cursor as string}`)).body;
  expect(second.items.map(numberOf)).toEqual(newestFirst(20).slice(0, 10));
  expect((await customer.get(`/v1/orders?limit=1`)).body.items.map(numberOf)).toEqual([31]);
});

test.each([
  ['status=lost', 'status'],
  ['status=', 'status'],
  ['receive_address=', 'receive_address'],
  ['receive_address=TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrG', 'receive_address'],
  ['receive_address=0x41', 'receive_address'],
  [`receive_address=${RECEIVERS[0]}&receive_address=${RECEIVERS[1]}`, 'receive_address'],
  ['reference=', 'reference'],
  ['reference=%20a', 'reference'],
  ['reference=a%00', 'reference'],
  [`reference=${'r'.repeat(65)}`, 'reference'],
  ['reference=a&reference=b', 'reference'],
  ['from=yesterday', 'from'],
  ['from=2026-02-30', 'from'],
  ['from=0000-01-01', 'from'],
  ['from=2026-01-01T00:00:00%2B01:00', 'from'],
  ['from=1767225600', 'from'],
  ['to=', 'to'],
  ['to=2026-01-01&to=2026-01-02', 'to'],
  ['from=2026-01-02&to=2026-01-01', 'from'],
  ['from=2026-01-01&to=2026-01-01T00:00:00Z', 'from'],
  ['metadata=a', 'metadata'],
  ['address=a', 'address'],
])('the list refuses the filter %s by name', async (query, field) => {
  const customer = await makeCustomer(api);
  const { status, body } = await customer.get(`/v1/orders?${query}`);
  expect([status, body.error, body.details[0].field]).toEqual([400, 'INVALID_REQUEST', field]);
});

interface Plan {
  readonly Plans?: readonly Plan[];
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
}

/** The tables that hold the orders of this test. */
const TABLES = ['archived_orders_0', 'open_orders'];

/** Archives half of the orders with triggers off: none of them was really sold. */
async function archiveHalf(): Promise<void> {
  await asAdmin(database.url, async (client) => {
    await client.query('SELECT add_archive_range(0)');
    await client.query('SET session_replication_role = replica');
    await client.query('UPDATE orders SET archived = true WHERE id % 2 = 0');
  });
}

const stepsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];

test('no page of any list reads more orders than its limit, wherever it begins and however many there are', async () => {
  const [busy, quiet] = [await makeCustomer(api), await makeCustomer(api)];
  // Only the rows matter here.
  await api.database.query(`ALTER TABLE open_orders DISABLE TRIGGER USER`);
  await makeOrders(busy, 60_000);
  await makeOrders(quiet, 20_000);
  await api.database.query(`ALTER TABLE open_orders ENABLE TRIGGER USER`);
  await archiveHalf();
  await api.database.query('ANALYZE orders');
  const values = { all: [], status: ['refunded'], receive_address: [RECEIVERS[0]], reference: ['batch 3'] } as const;
  const indexes = { all: 'time', status: 'status_time', receive_address: 'receiver', reference: 'reference' } as const;
  const ranges = [
    ['-infinity', 'infinity'],
    ['2026-01-10', 'infinity'],
    ['-infinity', '2026-01-10'],
    ['-infinity', '2026-01-02'],
    ['2026-01-10T12:00:00Z', '2026-01-10T18:00:00Z'],
    ['2025-01-01', '2025-02-01'],
  ] as const;
  for (const isGeneric of [false, true]) {
    const source = api.database;
    await source.transaction(async (tx) => {
      if (isGeneric) await tx.query(`SET LOCAL plan_cache_mode = force_generic_plan`);
      for (const name of ['all', 'status', 'receive_address', 'reference'] as const) {
        const types = ['uuid', 'timestamptz', 'bigint', 'timestamptz', 'bigint', ...values[name].map(() => 'text')];
        const { text } = ORDER_LISTS[name];
        await tx.query(`PREPARE listed_${name}${isGeneric ? '_generic' : ''} (${types.join(', ')}) AS ${text}`);
        for (const { merchant } of [busy, quiet]) {
          for (const [from, before] of ranges) {
            const given = [merchant, before, '0', from, '21', ...values[name]].map((value) => `'${value}'`).join(', ');
            const [row] = await tx.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
              `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE listed_${name}${isGeneric ? '_generic' : ''} (${given})`,
            );
            const steps = stepsOf(row!['QUERY PLAN'][0]!.Plan);
            const onOrders = steps.filter((step) => step['Relation Name']?.includes('orders'));
            const indexOf = new Map(onOrders.map((step) => [step['Relation Name'], step['Index Name']]));
            expect([name, from, before, [...indexOf.keys()].sort()]).toEqual([name, from, before, TABLES]);
            expect([name, from, before, indexOf.get('open_orders')]).toEqual([
              ...[name, from, before, `orders_${indexes[name]}`],
            ]);
            const read = Math.max(
              ...onOrders.map((step) => step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)),
            );
            expect(read).toBeLessThanOrEqual(21);
          }
        }
      }
    });
  }
});
