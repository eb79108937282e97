// The statements of an order's life are planned over open orders, regardless of the number of archive ranges.
import 'reflect-metadata';
import pg from 'pg';
import { ORDER_CSV_DETAILS } from '../../../src/modules/console/order-csv.js';
import { TRANSACTIONS } from '../../../src/modules/console/order-records.js';
import { LEDGER_PAGE } from '../../../src/modules/statements/ledger-list.js';
import { archive, orderInTheEnd } from '../../support/worker/archive-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import {
  clearFixture,
  closeFixture,
  customer,
  SteppedWorker,
  openFixture,
  orderOf,
  receivers,
  fixtureDatabaseUrl,
  START_LIMIT_MS,
} from '../../support/worker/fulfilment-fixture.js';

interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Every named statement of this process, with its latest parameters. */
const asked = new Map<string, Asked>();
const { query } = pg.Client.prototype as unknown as { query: (this: unknown, ...args: unknown[]) => unknown };

beforeAll(async () => {
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first] = args as [{ name?: string; text?: string; values?: readonly unknown[] } | undefined];
    if (first?.name !== undefined && first.text !== undefined) {
      asked.set(first.name, { text: first.text, values: first.values ?? [] });
    }
    return query.apply(this, args);
  } as typeof pg.Client.prototype.query;
  await openFixture();
}, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(async () => {
  pg.Client.prototype.query = query as typeof pg.Client.prototype.query;
  await closeFixture();
}, START_LIMIT_MS);

/**
 * Returns the tables of orders, legs and transactions in a plan, each once. An executed plan counts only the tables it
 * read.
 */
function tablesIn(plan: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(plan, (_, node: unknown) => {
    if (typeof node !== 'object' || node === null || !('Relation Name' in node)) return node;
    const isRead = !('Actual Loops' in node) || node['Actual Loops'] !== 0;
    const name = String(node['Relation Name']);
    if (isRead && /^(open|archived)_(orders|leg|chain_tx)/.test(name)) found.push(name);
    return node;
  });
  return [...new Set(found)];
}

/**
 * Returns, per statement, the largest number of partitions of one table in the generic plan, or in an executed plan the
 * number it read.
 */
async function partitionsOf(
  statements: ReadonlyMap<string, Asked>,
  options: 'FORMAT JSON' | 'ANALYZE, FORMAT JSON',
): Promise<Map<string, number>> {
  return asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('SET plan_cache_mode = force_generic_plan');
    const counts = new Map<string, number>();
    for (const [name, { text, values }] of statements) {
      const literals = values.map((value) => literalOf(client, value));
      await client.query(`PREPARE planned AS ${text}`);
      const call = literals.length === 0 ? '' : `(${literals.join(', ')})`;
      const { rows } = await client.query<{ 'QUERY PLAN': unknown }>(`EXPLAIN (${options}) EXECUTE planned${call}`);
      await client.query('DEALLOCATE planned');
      const tables = tablesIn(rows[0]?.['QUERY PLAN']);
      const most = ['orders', 'leg', 'chain_tx'].map(
        (kind) => tables.filter((table) => table.includes(`_${kind}`)).length,
      );
      counts.set(name, Math.max(...most));
    }
    return counts;
  });
}

/** Untyped literals, so that the statement's own casts decide the type. */
function literalOf(client: pg.Client, value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  return client.escapeLiteral(textOf(value));
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`;
  return typeof value === 'object' ? JSON.stringify(value) : (value as string | number | bigint | boolean).toString();
}

function elementOf(value: unknown): string {
  return value === null || value === undefined ? 'NULL' : JSON.stringify(textOf(value));
}

/** Lists read the open orders and each range from its newest row, and stop at the page size. */
const LISTS = ['order-list', 'order-list-receiver', 'order-list-status'];
/** Their ranges are known once the key or the receiver's reclaim usage was read. */
const KEYED = ['archived-orders-by-key', 'reclaims_of_receivers'];

it('no statement of an order’s life reads more than two partitions, however many there are', async () => {
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    for (const range of [0, 1, 2, 3]) await client.query('SELECT add_archive_range($1)', [range * 1_000_000]);
  });
  const worker = await SteppedWorker.open();
  const key = await orderInTheEnd(worker);
  await customer.get(`/v1/orders/${key}`);
  await customer.get('/v1/orders?limit=10');
  await customer.get('/v1/orders?status=delivered');
  await customer.get(`/v1/orders?receive_address=${receivers[0]!}`);
  await worker.search();
  await worker.poolSync().syncWallet('nobody');
  expect(await archive()).toBe(1);
  expect((await customer.get(`/v1/orders/${key}`)).status).toBe(200);

  const planned = await partitionsOf(asked, 'FORMAT JSON');
  expect([...planned].flatMap(([name, count]) => (count > 2 ? [name] : [])).sort()).toEqual(
    [...KEYED, ...LISTS].sort(),
  );
  const keyed = new Map(KEYED.map((name) => [name, asked.get(name)!] as const));
  const read = await partitionsOf(keyed, 'ANALYZE, FORMAT JSON');
  expect([read.get(KEYED[0]!), read.get(KEYED[1]!)! <= 1]).toEqual([1, true]);
  // Guards the test itself: these statements were recorded.
  const expected = ['claim_due', 'orders-by-key', 'record_built', 'mark_solid'];
  expect(expected.filter((name) => !planned.has(name))).toEqual([]);
});

it('reads one range of the archive for the transactions of an archived order', async () => {
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    for (const range of [0, 1, 2, 3]) await client.query('SELECT add_archive_range($1)', [range * 1_000_000]);
  });
  const key = await orderInTheEnd(await SteppedWorker.open());
  const { id } = await orderOf(key);
  expect(await archive()).toBe(1);
  const values = [customer.merchant, '-infinity', 'infinity', 0, 100];
  const csv = `SELECT o.id${ORDER_CSV_DETAILS.columns} FROM orders o ${ORDER_CSV_DETAILS.joins} WHERE o.id = $1 AND o.archived`;
  const read = await partitionsOf(
    new Map([
      ['ledger', { text: LEDGER_PAGE.text, values }],
      ['csv', { text: csv, values: [id] }],
      ['transactions', { text: TRANSACTIONS, values: [id] }],
    ]),
    'ANALYZE, FORMAT JSON',
  );
  // The open rows, and the order's range.
  expect([...read]).toEqual([...read.keys()].map((name) => [name, 2]));
});
