// The pool under loss: a connection that goes away at the worst moment is one failed transaction, never a dead process.
import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/store/data-source.js';
import { Database, isConnectionFault } from '../../src/store/database.js';
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
