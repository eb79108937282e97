/** Brings a database to the schema of this version and back. Two at once wait for each other. */
import type { DataSource } from 'typeorm';
import { createDataSource } from './data-source.js';

/** Any constant; every migrating process of ours takes the same one. */
const MIGRATION_LOCK = 7_246_083;

async function withMigrations<T>(databaseUrl: string, work: (source: DataSource) => Promise<T>): Promise<T> {
  const source = createDataSource({
    url: databaseUrl,
    poolMax: 2,
    applicationName: 'energy-migrate',
    statementTimeoutMs: 0,
  });
  await source.initialize();
  const lock = source.createQueryRunner();
  try {
    await lock.query('SET lock_timeout = 0');
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    return await work(source);
  } finally {
    await lock.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
    await lock.release();
    await source.destroy();
  }
}

/** Runs what is pending; returns the names run. */
export async function migrateUp(databaseUrl: string): Promise<string[]> {
  return withMigrations(databaseUrl, async (source) => (await source.runMigrations()).map((done) => done.name));
}

/** Takes the newest migration back. */
export async function migrateDown(databaseUrl: string): Promise<void> {
  await withMigrations(databaseUrl, async (source) => source.undoLastMigration());
}

/** The names of this version's migrations that the database has not run; empty = current. */
export async function pendingMigrations(databaseUrl: string): Promise<string[]> {
  return withMigrations(databaseUrl, async (source) => {
    const [table] = await source.query<{ found: boolean }[]>(`SELECT to_regclass('migrations') IS NOT NULL AS found`);
    const done = table?.found === true ? await source.query<{ name: string }[]>(`SELECT name FROM migrations`) : [];
    const names = new Set(done.map((row) => row.name));
    return source.migrations
      .map((migration) => migration.name ?? migration.constructor.name)
      .filter((name) => !names.has(name));
  });
}
