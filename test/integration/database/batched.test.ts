// Batched reads: every caller gets its own row, read after its request, over few connections.
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { BatchLoader } from '../../../src/platform/support/batch-loader.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database } from '../../../src/platform/database/database.js';
import { rowsByKey } from '../../../src/platform/database/rows-by-key.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

interface Thing {
  readonly owner: string;
  readonly name: string;
  readonly version: number;
  readonly asked: string;
}

const FIND = {
  name: 'test-things',
  text: `SELECT wanted.place::int, found.*, statement_timestamp()::text AS asked,
                CASE WHEN wanted.name = 'broken' THEN 1 / (wanted.place - wanted.place) END AS fault
           FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (owner, name, place)
           LEFT JOIN LATERAL (SELECT * FROM thing WHERE owner = wanted.owner AND name = wanted.name) found ON true
          WHERE found.name IS NOT NULL OR wanted.name = 'broken'`,
};

let database: TestDatabase;
let source: DataSource;
let pool: Database;
let things: BatchLoader<Thing>;

beforeAll(async () => {
  database = await createTestDatabase();
  source = createDataSource({ url: database.url, poolMax: 16, applicationName: 'energy-batches' });
  await source.initialize();
  pool = new Database(source);
  await pool.query(
    'CREATE TABLE thing (owner text, name text, version integer NOT NULL DEFAULT 0, UNIQUE (owner, name))',
  );
  await pool.query(
    `INSERT INTO thing SELECT 'o' || o, 'n' || n FROM generate_series(1, 30) o, generate_series(1, 10) n`,
  );
});

beforeEach(() => {
  things = rowsByKey<Thing>(pool, FIND);
});

afterAll(async () => {
  await source.destroy();
  await database.drop();
});

test('every caller gets its own row, and none for a missing key', async () => {
  const keys = Array.from({ length: 700 }, (_, index) => ({
    owner: `o${((index * 7) % 35).toString()}`,
    name: `n${((index * 3) % 13).toString()}`,
  }));
  const found = await Promise.all(keys.map(({ owner, name }) => things.load(owner, name)));
  const exists = (owner: string, name: string) => /^o([1-9]|[12]\d|30)$/.test(owner) && /^n([1-9]|10)$/.test(name);
  const expected = keys.map(({ owner, name }) => (exists(owner, name) ? `${owner} ${name}` : undefined));
  expect(found.map((row) => row && `${row.owner} ${row.name}`)).toEqual(expected);
  expect(expected).toContain(undefined);
});

test('requests during running statements wait for a turn and then travel together', async () => {
  const asked: Promise<Thing | undefined>[] = [];
  await pool.transaction(async (tx) => {
    await tx.query('LOCK TABLE thing IN ACCESS EXCLUSIVE MODE');
    for (let index = 0; index < 100; index += 1) {
      asked.push(things.load(`o${(1 + (index % 30)).toString()}`, `n${(1 + (index % 10)).toString()}`));
      await turn();
      await turn();
    }
    await until(async () => (await running()) >= 4);
    expect(await running()).toBe(4);
  });
  const rows = await Promise.all(asked);
  expect(rows.map((row) => row?.owner)).toEqual(rows.map((_, index) => `o${(1 + (index % 30)).toString()}`));
  expect(new Set(rows.map((row) => row?.asked)).size).toBeLessThanOrEqual(6);
});

test('reads a row after its request, whatever other requests there are', async () => {
  let isOver = false;
  const others = Array.from({ length: 8 }, async () => {
    while (!isOver) await things.load('o1', 'n1');
  });
  try {
    for (let version = 1; version <= 200; version += 1) {
      await pool.query(`UPDATE thing SET version = $1 WHERE owner = 'o1' AND name = 'n1'`, [version]);
      expect((await things.load('o1', 'n1'))?.version).toBe(version);
    }
  } finally {
    isOver = true;
    await Promise.all(others);
  }
});

test('a failing statement fails for its callers, and releases its turn', async () => {
  for (let round = 0; round < 6; round += 1) {
    const together = await Promise.allSettled([things.load('o1', 'broken'), things.load('o2', 'n2')]);
    expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  }
  expect((await things.load('o2', 'n2'))?.owner).toBe('o2');
});

test('rejects a request that waited too long for a turn, and not the next one', async () => {
  const slow = new BatchLoader<string>({ concurrent: 1, size: 10, waitMs: 50 }, async (keys) => {
    await delay(300);
    return keys.map(([name]) => name);
  });
  const first = slow.load('first');
  await turn();
  await turn();
  const late = slow.load('late').catch((error: unknown) => error);
  expect(await first).toBe('first');
  expect(await late).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(await slow.load('next')).toBe('next');
  expect(await slow.load('late')).toBe('late');
});

/** Returns how many batched statements Postgres is executing. */
async function running(): Promise<number> {
  const [row] = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE application_name = 'energy-batches' AND state = 'active' AND query LIKE '%wanted%' AND pid <> pg_backend_pid()`,
  );
  return row?.count ?? 0;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < 100; look += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('it did not come to it within two seconds');
}
