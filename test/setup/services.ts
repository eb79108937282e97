// Postgres and Redis for all tests of a run. The set-up starts them, or uses the servers of DATABASE_URL and REDIS_URL.
// Jest passes their addresses to its workers in TEST_* variables.
import { existsSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { startPostgres } from '../../packages/local/src/postgres.js';
import { startRedis } from '../../packages/local/src/redis.js';
import { limited } from '../../packages/local/src/wait.js';
import type * as migrations from '../../src/platform/database/migrate.js';
import { asAdmin, databaseUrl } from './admin.js';
import { beginSearch, endSearch } from './canary.js';
import { isThroughPooler, startCrowdedPooler } from './pooler.js';
import { dropLogins, loginPasswords, makeLogins } from './roles.js';

const MIGRATE_LIMIT_MS = 60_000;

const stops: (() => Promise<void>)[] = [];

export async function startServices(): Promise<void> {
  await beginSearch();
  try {
    const redisUrl = await findRedis();
    const adminUrl = await findPostgres();
    const prefix = `energy_test_${randomBytes(5).toString('hex')}`;
    process.env['TEST_DATABASE_URL'] = adminUrl;
    process.env['TEST_DATABASE_PREFIX'] = prefix;
    process.env['TEST_REDIS_URL'] = redisUrl;
    await makeTemplate(adminUrl, prefix);
    if (isThroughPooler()) {
      const pooler = await startCrowdedPooler(adminUrl, loginPasswords(prefix));
      stops.push(() => pooler.stop());
      process.env['TEST_POOLER_PORT'] = pooler.port.toString();
    }
  } catch (error) {
    await stopServices();
    throw error;
  }
}

/** Stops in reverse order of the start. Tries every step, then throws the first failure. */
export async function stopServices(): Promise<void> {
  const failures: unknown[] = [];
  for (const stop of stops.splice(0).reverse()) {
    await stop().catch((error: unknown) => failures.push(error));
  }
  await endSearch().then(
    (summary) => {
      console.log(summary);
    },
    (error: unknown) => failures.unshift(error),
  );
  if (failures.length > 0) throw failures[0];
}

async function findPostgres(): Promise<string> {
  const given = process.env['DATABASE_URL']?.trim() ?? '';
  if (given !== '') {
    await asAdmin(given, (client) => client.query('SELECT 1')).catch((error: unknown) => {
      throw new Error(`the server that DATABASE_URL names: ${(error as Error).message}`, { cause: error });
    });
    return given;
  }
  const postgres = await startPostgres({ durable: false, inMemory: true });
  stops.push(() => postgres.stop());
  return postgres.url;
}

async function findRedis(): Promise<string> {
  const redis = await startRedis({ redisUrl: process.env['REDIS_URL'] });
  stops.push(() => redis.stop());
  return redis.url;
}

/** Creates a migrated database with the roles' grants. Each test file gets a copy of it, grants included. */
async function makeTemplate(adminUrl: string, prefix: string): Promise<void> {
  const template = `${prefix}_template`;
  await asAdmin(adminUrl, (client) => client.query(`CREATE DATABASE ${template}`));
  stops.push(async () => {
    await dropAll(adminUrl, prefix);
    await dropLogins(adminUrl, prefix);
  });
  // The import is dynamic so that the set-up also serves a tree without a store.
  const store = new URL('../../src/platform/database/migrate.ts', import.meta.url);
  if (existsSync(store)) {
    const { giveRoles, migrateUp } = (await import(store.href)) as Pick<typeof migrations, 'giveRoles' | 'migrateUp'>;
    const url = databaseUrl(adminUrl, template);
    await limited(migrateUp(url), MIGRATE_LIMIT_MS, 'running the migrations');
    await limited(giveRoles(url, []), MIGRATE_LIMIT_MS, 'making the roles');
    const password = randomBytes(16).toString('hex');
    process.env['TEST_ROLE_PASSWORD'] = password;
    await makeLogins(adminUrl, prefix, password);
  }
  // Postgres refuses to copy a template that has a connection, so this forbids connections to it.
  await asAdmin(adminUrl, (client) => client.query(`ALTER DATABASE ${template} ALLOW_CONNECTIONS false`));
}

/** Also drops databases that a crashed test file left behind. */
async function dropAll(adminUrl: string, prefix: string): Promise<void> {
  await asAdmin(adminUrl, async (client) => {
    const found = await client.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [`${prefix}_`],
    );
    for (const { datname } of found.rows) await client.query(`DROP DATABASE ${datname} WITH (FORCE)`);
  });
}
