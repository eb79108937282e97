/** Brings a database to the schema and the rights of this version, and back. Two at once wait for each other. */
import { MigrationExecutor, type DataSource, type QueryRunner } from 'typeorm';
import { monotonicMs, sleep } from '../base/clock.js';
import { adoptBaseline, isOfChain } from './adopt-baseline.js';
import { createDataSource, START_CONNECT_LIMIT_MS, type MigrationClass } from './data-source.js';
import { Database, sqlStateOf, type Queryable } from './database.js';
import { type HeldSealers } from '../base/sealers.js';
import { writeCanaries } from './key-canaries.js';
import { OWNER, planGrants, planRoles, usesRoles, type Login } from './roles.js';
import { planPolicies } from './row-policies.js';

/** Any constant; every migrating process of ours takes the same one. */
const MIGRATION_LOCK = 7_246_083;
const APPLICATION = 'energy-migrate';
const OBJECT_IN_USE = '55006';
const POOLER_SILENCE_MS = 20_000;
const POOLER_LOOK_MS = 1000;

/** `later`: migrations after those of this version, for tests. */
interface Later {
  readonly later?: readonly MigrationClass[];
}

const open = async (
  databaseUrl: string,
  { actsAs, later = [] }: Later & { readonly actsAs?: string },
): Promise<DataSource> =>
  createDataSource({
    later,
    url: databaseUrl,
    connectLimitMs: START_CONNECT_LIMIT_MS,
    poolMax: 2,
    applicationName: APPLICATION,
    statementTimeoutMs: 0,
    ...(actsAs !== undefined && { actsAs }),
  }).initialize();

/** `asOwner`: what is made belongs to the owner's role, where the database uses roles. */
async function withMigrations<T>(
  databaseUrl: string,
  { asOwner, ...later }: Later & { readonly asOwner: boolean },
  work: (source: DataSource) => Promise<T>,
): Promise<T> {
  let source = await open(databaseUrl, later);
  if (asOwner && (await usesRoles(new Database(source)))) {
    await source.destroy();
    source = await open(databaseUrl, { ...later, actsAs: OWNER });
  }
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

/** Runs what is pending, and grants what it brought with it; returns the names run. */
export async function migrateUp(databaseUrl: string, later: Later = {}): Promise<string[]> {
  return withMigrations(databaseUrl, { asOwner: true, ...later }, async (source) => {
    if (isOfChain(await migrationsIn(source))) {
      throw new MigrationKeptError(
        'This database has the migrations of an unreleased version. Run `npm run -s cli -- migrate adopt-baseline` once, then this command again. Nothing was done.',
      );
    }
    // One by one: what one of them locks is free before the next one reads long.
    const done = await source.runMigrations({ transaction: 'each' });
    await new Database(source).transaction(async (tx) => {
      const withRoles = await usesRoles(tx);
      await runAll(tx, [...(await planGrants(tx, withRoles)), ...(await planPolicies(tx, withRoles))]);
    });
    return done.map(({ name }) => name);
  });
}

/** Moves a database of the unreleased versions onto the baseline; throws AdoptionRefusedError if it is not theirs. */
export async function adopt(databaseUrl: string): Promise<void> {
  await withMigrations(databaseUrl, { asOwner: true }, (source) => new Database(source).transaction(adoptBaseline));
}

async function runAll(tx: Queryable, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await tx.query(statement);
}

/** The statements that `giveRoles` would run now, but for passwords. */
export async function rolesPlan(databaseUrl: string): Promise<string[]> {
  return withMigrations(databaseUrl, { asOwner: false }, async (source) => planRoles(new Database(source), []));
}

/** This user may not do it; nothing was done. */
export class RolesRefusedError extends Error {
  override readonly name = 'RolesRefusedError';
}

/**
 * Makes the roles, hands this database to them, and makes the logins: all of it or nothing. Returns how many statements
 * it took, 0 when all was so. Throws RolesRefusedError when the user of `databaseUrl` lacks the right to.
 */
export async function giveRoles(databaseUrl: string, logins: readonly Login[]): Promise<number> {
  return withMigrations(databaseUrl, { asOwner: false }, async (source) => {
    try {
      return await new Database(source).transaction(async (tx) => {
        const plan = await planRoles(tx, logins);
        await runAll(tx, plan);
        return plan.length;
      });
    } catch (error) {
      if (sqlStateOf(error) !== '42501') throw error;
      throw new RolesRefusedError((error as Error).message, { cause: error });
    }
  });
}

/** Writes the canaries that are missing of the keys in `held`; throws StartError when a key is not the right one. */
export async function seedCanaries(databaseUrl: string, held: HeldSealers): Promise<void> {
  await withMigrations(databaseUrl, { asOwner: true }, (source) => writeCanaries(new Database(source), held));
}

/** The migrations stay as they are; the message has the reason and the remedy. */
export class MigrationKeptError extends Error {
  override readonly name = 'MigrationKeptError';
}

interface Undone {
  readonly undone: string;
  /** What the database still has, oldest first. */
  readonly remaining: readonly string[];
}

/**
 * Undoes the newest migration of the database named `database` and no other. Throws MigrationKeptError on another
 * database, when there is none to undo, while processes of the service are connected, and while anything is open:
 * delegations, unfinished orders, balances. What is judged cannot change before the end. `isPooled`: processes of the
 * service reach it through a pooler.
 */
export async function migrateDown(
  databaseUrl: string,
  { database, isPooled, ...later }: Later & { readonly database: string; readonly isPooled: boolean },
): Promise<Undone> {
  return withMigrations(databaseUrl, { asOwner: true, ...later }, async (source) => {
    const runner = source.createQueryRunner();
    try {
      await runner.startTransaction();
      const names = await migrationsIn(runner);
      const newest = names.at(-1);
      await refuseAnother(runner, database);
      if (newest === undefined) throw new MigrationKeptError('There is no migration to undo.');
      await refuseWhileRunning(runner, isPooled);
      await refuseWhileOpen(runner);
      await new MigrationExecutor(source, runner).undoLastMigration();
      const remaining = await migrationsIn(runner);
      if (remaining.length !== names.length - 1) throw new Error('the migration was not undone');
      await runner.commitTransaction();
      return { undone: newest, remaining };
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      // The migration's own reason to stay.
      if (sqlStateOf(error) === OBJECT_IN_USE) {
        throw new MigrationKeptError(`${(error as Error).message}. Nothing was done.`, { cause: error });
      }
      throw error;
    } finally {
      await runner.release();
    }
  });
}

/** The names of this version's migrations that the database has not run; empty = current. */
export async function pendingMigrations(databaseUrl: string): Promise<string[]> {
  return withMigrations(databaseUrl, { asOwner: false }, async (source) => {
    const names = new Set(await migrationsIn(source));
    return source.migrations
      .map((migration) => migration.name ?? migration.constructor.name)
      .filter((name) => !names.has(name));
  });
}

async function migrationsIn(source: DataSource | QueryRunner): Promise<string[]> {
  if (!(await hasTable(source, 'migrations'))) return [];
  const rows = (await source.query(`SELECT name FROM migrations ORDER BY timestamp, id`)) as { name: string }[];
  return rows.map((row) => row.name);
}

async function hasTable(source: DataSource | QueryRunner, name: string): Promise<boolean> {
  const rows = (await source.query(`SELECT to_regclass($1) IS NOT NULL AS found`, [name])) as { found: boolean }[];
  return rows[0]?.found === true;
}

async function refuseAnother(runner: QueryRunner, wanted: string): Promise<void> {
  const rows = (await runner.query(`SELECT current_database() AS name`)) as { name: string }[];
  const actual = rows[0]?.name ?? '';
  if (actual === wanted) return;
  throw new MigrationKeptError(`DATABASE_URL leads to the database ${actual}, not to ${wanted}; nothing was done.`);
}

/** What must not lose its tables. Each read has a row with a count when there is some of it. */
const OPEN = [
  [
    'leg',
    'LOCK TABLE leg IN SHARE MODE',
    'delegations not reclaimed',
    `SELECT count(*) AS count FROM leg l JOIN orders o ON o.id = l.order_id
    WHERE l.status NOT IN ('reclaimed', 'released') AND NOT (o.kind = 'activation' AND o.settled)`,
  ],
  [
    'orders',
    'LOCK TABLE orders IN SHARE MODE',
    'unfinished orders',
    `SELECT count(*) AS count FROM orders
    WHERE NOT settled OR next_run_at IS NOT NULL
       OR (kind = 'rental' AND status = 'delivered' AND reclaimed_at IS NULL)`,
  ],
  [
    'chain_tx',
    'LOCK TABLE chain_tx IN SHARE MODE',
    'transactions on their way',
    `SELECT count(*) AS count FROM chain_tx
    WHERE status IN ('built', 'signed', 'sending', 'included')`,
  ],
  [
    'orphan_tx',
    'LOCK TABLE orphan_tx IN SHARE MODE',
    'unrecorded transactions',
    `SELECT count(*) AS count FROM orphan_tx WHERE gone_at IS NULL AND type = 57`,
  ],
  [
    'credit_account',
    'LOCK TABLE credit_account IN SHARE MODE',
    'projects with a balance or a debt',
    `SELECT count(*) AS count FROM credit_account
    WHERE balance_credits <> 0`,
  ],
] as const;

interface Session {
  readonly pid: number;
  readonly name: string;
  /** null where this login may not know it. */
  readonly used_at: string | null;
}

/** Read afresh: within a transaction Postgres repeats what it said first. */
async function sessionsOfService(runner: QueryRunner): Promise<readonly Session[]> {
  const [before] = (await runner.query(`SELECT current_setting('role') AS role`)) as { role: string }[];
  // As the login itself, which may know more of others than the owner's role does.
  await runner.query(`SELECT pg_stat_clear_snapshot(), set_config('role', 'none', true)`);
  const sessions = (await runner.query(
    `SELECT pid, application_name AS name, state_change::text AS used_at FROM pg_stat_activity
      WHERE datname = current_database() AND starts_with(application_name, 'energy-') AND application_name <> $1
      ORDER BY 2, 1`,
    [APPLICATION],
  )) as Session[];
  await runner.query(`SELECT set_config('role', $1, true)`, [before?.role ?? 'none']);
  return sessions;
}

/**
 * Throws while a process of the service is connected. A pooler keeps connections to the server under the name of their last
 * client, for minutes after its end. Every running process uses its connections each few seconds, so connections that
 * nobody used throughout a longer silence are left over.
 */
async function refuseWhileRunning(runner: QueryRunner, isPooled: boolean): Promise<void> {
  const sessions = await sessionsOfService(runner);
  const inUse = isPooled && sessions.length > 0 ? await usedMeanwhile(runner, sessions) : sessions;
  if (inUse.length === 0) return;
  const names = [...new Set(inUse.map(({ name }) => name))].join(', ');
  throw new MigrationKeptError(`The service is running (${names}): stop it first. Nothing was done.`);
}

/** The sessions that were used, or that began, within the silence after `before`. */
async function usedMeanwhile(runner: QueryRunner, before: readonly Session[]): Promise<readonly Session[]> {
  const known = new Map(before.map(({ pid, used_at: usedAt }) => [pid, usedAt]));
  const endMs = monotonicMs() + POOLER_SILENCE_MS;
  while (monotonicMs() < endMs) {
    // Shorter than a transaction may be idle.
    await sleep(POOLER_LOOK_MS);
    const inUse = (await sessionsOfService(runner)).filter(
      ({ pid, used_at: usedAt }) => usedAt === null || known.get(pid) !== usedAt,
    );
    if (inUse.length > 0) return inUse;
  }
  return [];
}

async function refuseWhileOpen(runner: QueryRunner): Promise<void> {
  const open: string[] = [];
  for (const [table, lock, what, text] of OPEN) {
    if (!(await hasTable(runner, table))) continue;
    // Until the commit nobody adds to what is counted here.
    await runner.query(lock);
    const [row] = (await runner.query(text)) as { count: string }[];
    if (row !== undefined && row.count !== '0') open.push(`${row.count} ${what}`);
  }
  if (open.length > 0) {
    throw new MigrationKeptError(
      `This database is in use: ${open.join(', ')}. Older code runs on a newer schema, so going back needs no \`migrate down\`. Nothing was done.`,
    );
  }
}
