// The pool under loss: a connection that goes away at the worst moment is one failed transaction, never a dead process.
import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/store/data-source.js';
import { Database, isConnectionFault, sqlStateOf } from '../../src/store/database.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

let database: TestDatabase;
let source: DataSource;
let pool: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  source = createDataSource({ url: database.url, poolMax: 2, applicationName: 'energy-test' });
  await source.initialize();
  pool = new Database(source);
});

afterAll(async () => {
  await source.destroy();
  await database.drop();
});

test('a connection lost between two statements of a transaction fails the transaction and nothing else', async () => {
  const thrown: unknown = await pool
    .transaction(async (tx) => {
      const [mine] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await pool.query('SELECT pg_terminate_backend($1)', [mine?.pid]);
      // Until the client has heard of it; nothing waits for an answer meanwhile.
      await delay(300);
      await tx.query('SELECT 1');
    })
    .catch((error: unknown) => error);
  expect(isConnectionFault(thrown)).toBe(true);
  expect(await pool.transaction(async (tx) => tx.query('SELECT 2 AS two'))).toEqual([{ two: 2 }]);
});

describe('connections after a failed statement', () => {
  const pidNow = async (): Promise<number> => {
    const [row] = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return row!.pid;
  };
  const failWith = async (state: string): Promise<unknown> =>
    pool.query(`DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`).then(
      () => undefined,
      (error: unknown) => sqlStateOf(error),
    );

  test.each([
    ['a refusal of our own functions', 'ER001'],
    ['a broken constraint', '23514'],
    ['a deadlock', '40P01'],
    ['a lock that was not had in time', '55P03'],
  ])('%s closes none', async (_, state) => {
    const before = await pidNow();
    for (let count = 0; count < 5; count += 1) expect(await failWith(state)).toBe(state);
    expect(await pidNow()).toBe(before);
  });

  test.each([
    ['a plan that fits the tables no more', '0A000'],
    ['a server that only reads', '25006'],
    ['a fault within the server', 'XX000'],
  ])('%s closes it', async (_, state) => {
    const before = await pidNow();
    expect(await failWith(state)).toBe(state);
    expect(await pidNow()).not.toBe(before);
  });

  test('a failed statement leaves nothing of its settings or locks on the connection that is kept', async () => {
    const before = await pidNow();
    const cancelled = await pool
      .query(
        `DO $$ BEGIN
           PERFORM set_config('statement_timeout', '1', true), pg_advisory_xact_lock(1);
           RAISE EXCEPTION 'too long' USING ERRCODE = '57014';
         END $$`,
      )
      .catch(sqlStateOf);
    expect(cancelled).toBe('57014');
    const left = await pool.query(`SELECT current_setting('statement_timeout') AS timeout,
      (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory') AS locks`);
    expect(left).toEqual([{ timeout: '12s', locks: 0 }]);
    expect(await pidNow()).toBe(before);
  });
});
