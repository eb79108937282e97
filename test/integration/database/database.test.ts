// The pool under connection loss: a connection lost at the worst moment fails one transaction and never the process.
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import type { DataSource, Repository } from 'typeorm';
import { until } from '../../../packages/local/src/wait.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import {
  Database,
  isConnectionFault,
  isRowFault,
  isServerUnable,
  sqlStateOf,
} from '../../../src/platform/database/database.js';
import { watchDatabase } from '../../../src/platform/database/database-gauges.js';
import { PriceRow } from '../../../src/platform/database/entities/price-row.entity.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { OF_THIS_DATABASE } from '../../setup/waiting.js';

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

test('a connection lost between two statements of a transaction fails only the transaction', async () => {
  const thrown: unknown = await pool
    .transaction(async (tx) => {
      const [mine] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await pool.query('SELECT pg_terminate_backend($1)', [mine?.pid]);
      // Long enough for the client to notice; no query is pending meanwhile.
      await delay(300);
      await tx.query('SELECT 1');
    })
    .catch((error: unknown) => error);
  expect(isConnectionFault(thrown)).toBe(true);
  expect(await pool.transaction(async (tx) => tx.query('SELECT 2 AS two'))).toEqual([{ two: 2 }]);
});

test('a single statement that loses a deadlock is repeated', async () => {
  await asAdmin(database.url, async (other) => {
    await other.query('BEGIN');
    await other.query('SELECT pg_advisory_xact_lock(71)');
    // It waits first, so Postgres ends it, and not the other session.
    const both = pool.query('SELECT pg_advisory_xact_lock(72), pg_advisory_xact_lock(71), 1 AS done').catch(sqlStateOf);
    const isWaiting = async (): Promise<true | undefined> =>
      (await other.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND ${OF_THIS_DATABASE}`))
        .rowCount === 1 || undefined;
    await until(isWaiting, 10_000, 'the statement waiting for a lock');
    await other.query('SELECT pg_advisory_xact_lock(72)');
    await other.query('COMMIT');
    expect(await both).toMatchObject([{ done: 1 }]);
  });
});

const PID = 'SELECT pg_backend_pid() AS pid';
const pidNow = async (): Promise<number> => {
  const [row] = await pool.query<{ pid: number }>(PID);
  return row!.pid;
};

describe('a repository within a transaction', () => {
  const ROW = { durationMaxSec: 77, sunPerEnergy: 9_007_199_254_740_993n };

  test('sees the statements’ effects, and the statements see and undo its own', async () => {
    const work = pool.transaction(async (tx) => {
      await tx.repository(PriceRow).insert(ROW);
      expect(await tx.query('SELECT sun_per_energy FROM price_row WHERE duration_max_sec = 77')).toEqual([
        { sun_per_energy: ROW.sunPerEnergy },
      ]);
      await tx.query('UPDATE price_row SET sun_per_energy = 5 WHERE duration_max_sec = 77');
      const lock = { mode: 'pessimistic_write' } as const;
      expect(await tx.repository(PriceRow).findOne({ where: { durationMaxSec: 77 }, lock })).toMatchObject({
        sunPerEnergy: 5n,
      });
      throw new Error('undo it');
    });
    await expect(work).rejects.toThrow('undo it');
    expect(await source.getRepository(PriceRow).countBy({ durationMaxSec: 77 })).toBe(0);
  });

  const failed = (prepare: string): Promise<unknown> =>
    pool
      .transaction(async (tx) => {
        await tx.query(prepare);
        await tx.repository(PriceRow).insert(ROW);
      })
      .catch((error: unknown) => error);

  test('fails like any other statement: by its row, on a read-only server, on a lost connection', async () => {
    const before = await pidNow();
    const taken = await failed('INSERT INTO price_row (duration_max_sec, sun_per_energy) VALUES (77, 1)');
    expect([sqlStateOf(taken), isRowFault(taken)]).toEqual(['23505', true]);
    expect(await pidNow()).toBe(before);
    expect(isServerUnable(await failed('SET TRANSACTION READ ONLY'))).toBe(true);
    expect(await pidNow()).not.toBe(before);
    const gone = await failed('SELECT pg_terminate_backend(pg_backend_pid())');
    expect(isConnectionFault(gone)).toBe(true);
    const lost: unknown = await pool
      .transaction(async (tx) => {
        await pool.query('SELECT pg_terminate_backend($1)', [(await tx.query<{ pid: number }>(PID))[0]?.pid]);
        await tx.repository(PriceRow).find();
      })
      .catch((error: unknown) => error);
    expect(isConnectionFault(lost)).toBe(true);
  });
});

describe('the metric of faults', () => {
  /** Returns the faults counted while `work` fails. */
  const faultsOf = async (watched: Database, work: () => Promise<unknown>): Promise<Record<string, number>> => {
    const registry = new Registry();
    watchDatabase(registry, watched);
    await expect(work()).rejects.toThrow();
    watched.onFault = undefined;
    const { values } = await registry.getSingleMetric('pg_faults_total')!.get();
    return Object.fromEntries(values.flatMap(({ labels, value }) => (value > 0 ? [[labels['fault'], value]] : [])));
  };
  let short: DataSource;
  let counted: Database;

  beforeAll(async () => {
    const options = { url: database.url, poolMax: 1, applicationName: 'energy-test', statementTimeoutMs: 50 };
    short = createDataSource(options);
    await short.initialize();
    counted = new Database(short);
  });

  afterAll(() => short.destroy());

  test('counts each failed statement once, also of a repository, with and without a transaction', async () => {
    const slowly = (rows: Repository<PriceRow>) => rows.createQueryBuilder().select('pg_sleep(1)').getRawOne();
    const works = [
      () => slowly(short.getRepository(PriceRow)),
      () => counted.transaction((tx) => slowly(tx.repository(PriceRow))),
      () => counted.query('SELECT pg_sleep(1)'),
      () => counted.transaction((tx) => tx.query('SELECT pg_sleep(1)')),
    ];
    for (const work of works) expect(await faultsOf(counted, work)).toEqual({ statement_timeout: 1 });
  });

  test('counts a repository, and a statement, that get no connection', async () => {
    await counted.transaction(async (tx) => {
      await tx.query('SELECT 1');
      for (const work of [() => short.getRepository(PriceRow).find(), () => counted.query('SELECT 1')]) {
        expect(await faultsOf(counted, work)).toEqual({ connection: 1 });
      }
    });
  });
});

describe('connections after a failed statement', () => {
  const failWith = async (state: string): Promise<unknown> =>
    pool.query(`DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`).then(
      () => undefined,
      (error: unknown) => sqlStateOf(error),
    );

  test.each([
    ['a refusal of our own functions', 'ER001'],
    ['a broken constraint', '23514'],
    ['a deadlock', '40P01'],
    ['a lock time-out', '55P03'],
  ])('%s closes none', async (_, state) => {
    const before = await pidNow();
    for (let count = 0; count < 5; count += 1) expect(await failWith(state)).toBe(state);
    expect(await pidNow()).toBe(before);
  });

  test.each([
    ['a plan that no longer fits the tables', '0A000'],
    ['a read-only server', '25006'],
    ['an internal error of the server', 'XX000'],
  ])('%s closes it', async (_, state) => {
    const before = await pidNow();
    expect(await failWith(state)).toBe(state);
    expect(await pidNow()).not.toBe(before);
  });

  test('a failed statement leaves no settings or locks on a connection that is kept', async () => {
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
      (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks`);
    expect(left).toEqual([{ timeout: '12s', locks: 0 }]);
    expect(await pidNow()).toBe(before);
  });
});
