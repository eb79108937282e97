// Rows of many orders updated in one transaction: a locked row skips only that order, a locked table stops all of them.
import type { DataSource } from 'typeorm';
import { allOrEach } from '../../../src/platform/database/all-or-each.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database, isLockTimeout } from '../../../src/platform/database/database.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

let store: TestDatabase;
let source: DataSource;
let database: Database;

beforeAll(async () => {
  store = await createTestDatabase();
  source = createDataSource({ url: store.url, poolMax: 2, applicationName: 'energy-orders', lockTimeoutMs: 200 });
  await source.initialize();
  database = new Database(source);
  await database.query(
    'CREATE TABLE thing (id bigint PRIMARY KEY, moved integer NOT NULL CHECK (id <> 3 OR moved = 0))',
  );
});

afterAll(async () => {
  await source.destroy();
  await store.drop();
});

beforeEach(async () => {
  await database.query('TRUNCATE thing');
  await database.query('INSERT INTO thing SELECT n, 0 FROM generate_series(1, 5) n');
});

let asked = 0;

const moveAll = async (ids: readonly bigint[]) => {
  asked = 0;
  return allOrEach(
    ids,
    (id) => id,
    async (some) => {
      asked += 1;
      await database.query('UPDATE thing SET moved = moved + 1 WHERE id = ANY ($1::bigint[])', [some]);
    },
  );
};

const moved = async (): Promise<number[]> => {
  const rows = await database.query<{ id: bigint }>('SELECT id FROM thing WHERE moved = 1 ORDER BY id');
  return rows.map(({ id }) => Number(id));
};

async function whileHeld<T>(lock: string, work: () => Promise<T>): Promise<T> {
  return asAdmin(store.url, async (client) => {
    await client.query('BEGIN');
    await client.query(lock);
    const result = await work();
    await client.query('ROLLBACK');
    return result;
  });
}

it('handles all together if nothing blocks it', async () => {
  expect(await moveAll([1n, 2n, 4n])).toEqual([]);
  expect([asked, await moved()]).toEqual([1, [1, 2, 4]]);
});

it('a row that its rules keep and a row that another session holds fail alone', async () => {
  const failed = await whileHeld('SELECT FROM thing WHERE id = 2 FOR UPDATE', () => moveAll([1n, 2n, 3n, 4n, 5n]));
  expect(failed.map(({ order }) => order)).toEqual([2n, 3n]);
  expect(await moved()).toEqual([1, 4, 5]);
});

it('waits a few times for a table that another session holds, not once for each order', async () => {
  await whileHeld('LOCK TABLE thing', async () => {
    expect(isLockTimeout(await moveAll([1n, 2n, 4n, 5n]).catch((error: unknown) => error))).toBe(true);
    expect(asked).toBe(4);
    expect(isLockTimeout(await moveAll([1n]).catch((error: unknown) => error))).toBe(true);
    expect(asked).toBe(1);
  });
  expect(await moved()).toEqual([]);
});
