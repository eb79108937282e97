// The deposits of a decided sum are settled in batches. A batch reads about as many rows as it settles, however many of
// the sum are settled already, and whatever the statistics say.
import type { DataSource } from 'typeorm';
import { randomUUID } from 'node:crypto';
import { MARK_SETTLED, SETTLE_HELD, SETTLE_SUMMED } from '../../../src/modules/deposits/small-sums-sql.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database, type Transaction } from '../../../src/platform/database/database.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

/** Deposits of the sum that are settled already, and deposits that are not. */
const EACH = 10_000;
const BATCH = 100;

let store: TestDatabase;
let source: DataSource;
let database: Database;

beforeAll(async () => {
  store = await createTestDatabase();
  source = createDataSource({ url: store.url, poolMax: 1, applicationName: 'energy-sums' });
  await source.initialize();
  database = new Database(source);
});

afterAll(async () => {
  await source.destroy();
  await store.drop();
});

const rowsRead = async (tx: Transaction): Promise<number> => {
  const [row] = await tx.query<{ rows: number }>(
    `SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer AS rows FROM pg_stat_xact_user_tables WHERE relname = 'deposit'`,
  );
  return row!.rows;
};

/** Without the triggers, which guard the deposits of real projects. */
const bare = async <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
  database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    return work(tx);
  });

it.each([
  ['deposits of a sum', SETTLE_SUMMED, null],
  ['deposits that were held with their sum', SETTLE_HELD, 'deposit:held'],
])('settles %s in the order of their arrival, and reads only these', async (_kind, statement, entryKey) => {
  const { sumId, ids } = await bare(async (tx) => {
    await tx.query(`TRUNCATE deposit, deposit_sum CASCADE`);
    const [sum] = await tx.query<{ id: bigint }>(
      `INSERT INTO deposit_sum (project_id, asset, wait_reason, entry_key, decision, reason)
       VALUES ($1, 'TRX', 'below_minimum', coalesce($2, 'deposit:other'), 'ignored', 'refused') RETURNING id`,
      [randomUUID(), entryKey],
    );
    const add = (status: string, number: number) =>
      tx.query<{ id: bigint }>(
        `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id,
            block_at, status, reason, rate_e8, sum_id, entry_key)
         SELECT sha256(convert_to($1 || n, 'UTF8')), 'native', 0, $2, 'T', 'T', 'TRX', 1, 7, sha256('b'), now(), $1, 'amount',
            30000000, $3, $4 FROM generate_series(1, $5::integer) n RETURNING id`,
        [status, randomUUID(), sum!.id, entryKey, number],
      );
    await add('ignored', EACH);
    return { sumId: sum!.id, ids: (await add('pending', EACH)).map(({ id }) => id) };
  });
  await database.query('ANALYZE deposit, deposit_sum');
  await bare(async (tx) => {
    const before = await rowsRead(tx);
    const settled = await tx.query<{ id: bigint }>(statement, [BATCH]);
    const settling = (await rowsRead(tx)) - before;
    await tx.query(MARK_SETTLED, [[sumId]]);
    const marking = (await rowsRead(tx)) - before - settling;
    const inOrder = settled.map(({ id }) => id).sort((one, other) => Number(one - other));
    expect(inOrder).toEqual(ids.slice(0, BATCH));
    // Each is read to be chosen, and again to be changed. Those that were changed here are read again once.
    expect(settling).toBeLessThanOrEqual(3 * BATCH);
    expect(marking).toBeLessThanOrEqual(2 * BATCH);
  });
});
