/** Applies and undoes this version's schema and rights. Concurrent processes wait for each other. */
import { MigrationExecutor, type DataSource, type QueryRunner } from 'typeorm';
import { monotonicMs, sleep } from '../support/clock.js';
import { adoptBaseline, isOfChain } from './adopt-baseline.js';
import { createDataSource, START_CONNECT_LIMIT_MS, type MigrationClass } from './data-source.js';
import { Database, sqlStateOf, type Queryable } from './database.js';
import { type HeldSealers } from '../support/sealers.js';
import { writeCanaries } from './key-canaries.js';
import { assertOwnSessions, SESSION_ID } from './own-sessions.js';
import { OWNER, planGrants, planRoles, usesRoles, type Login } from './roles.js';
import { planPolicies } from './row-policies.js';

/** An arbitrary constant that all migrating processes share. */
const MIGRATION_LOCK = 7_246_083;
const APPLICATION = 'energy-migrate';
const OBJECT_IN_USE = '55006';
const DEADLOCK = '40P01';
const DEADLOCKS_MAX = 10;
const POOLER_SILENCE_MS = 20_000;
const POOLER_LOOK_MS = 1000;

/** `later`: additional newer migrations, for tests. */
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
    withEntities: false,
    statementTimeoutMs: 0,
    ...(actsAs !== undefined && { actsAs }),
  }).initialize();

/** `asOwner`: if the database uses roles, the owner's role owns all created objects. */
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
  const beside = source.createQueryRunner();
  try {
    const asks = [lock, beside].map((runner) => async () => {
      const [row] = (await runner.query(SESSION_ID)) as { pid: number }[];
      return row?.pid ?? 0;
    });
    try {
      await assertOwnSessions(asks, 'migrations need');
    } finally {
      await beside.release();
    }
    await lock.query('SET lock_timeout = 0');
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    return await work(source);
  } finally {
    await lock.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
    await lock.release();
    await source.destroy();
  }
}

/** Runs pending migrations and grants the rights on their objects; returns the names of the migrations that ran. */
export async function migrateUp(databaseUrl: string, later: Later = {}): Promise<string[]> {
  return withMigrations(databaseUrl, { asOwner: true, ...later }, async (source) => {
    const before = await migrationsIn(source);
    if (isOfChain(before)) {
      throw new MigrationKeptError(
        'This database has the migrations of an unreleased version. Run `npm run -s cli -- migrate adopt-baseline` once, then this command again. Nothing was done.',
      );
    }
    await runPending(source);
    await new Database(source).transaction(grantAll);
    return (await migrationsIn(source)).slice(before.length);
  });
}

/**
 * Runs the pending migrations, one transaction each, so that the locks of one are released before a long read of the
 * next. A migration locks tables in its own order while the version before is running: a deadlock undoes it whole, and
 * it is repeated.
 */
async function runPending(source: DataSource): Promise<void> {
  for (let deadlocks = 0; ;) {
    try {
      await source.runMigrations({ transaction: 'each' });
      return;
    } catch (error) {
      deadlocks += 1;
      if (sqlStateOf(error) !== DEADLOCK || deadlocks >= DEADLOCKS_MAX) throw error;
    }
  }
}

/**
 * Moves a database of the unreleased versions onto the baseline and grants the rights on its objects; throws
 * AdoptionRefusedError if it is not theirs.
 */
export async function adopt(databaseUrl: string): Promise<void> {
  await withMigrations(databaseUrl, { asOwner: true }, (source) =>
    new Database(source).transaction(async (tx) => {
      await adoptBaseline(tx);
      await grantAll(tx);
    }),
  );
}

async function grantAll(tx: Queryable): Promise<void> {
  const withRoles = await usesRoles(tx);
  await runAll(tx, [...(await planGrants(tx, withRoles)), ...(await planPolicies(tx, withRoles))]);
}

async function runAll(tx: Queryable, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await tx.query(statement);
}

/** Returns the statements that `giveRoles` would run now, except for passwords. */
export async function rolesPlan(databaseUrl: string): Promise<string[]> {
  return withMigrations(databaseUrl, { asOwner: false }, async (source) => planRoles(new Database(source), []));
}

/** Thrown if the database user lacks a right. Nothing was done. */
export class RolesRefusedError extends Error {
  override readonly name = 'RolesRefusedError';
}

/**
 * Creates the roles and logins and hands this database to the roles, in one transaction. Returns the number of
 * statements, 0 if nothing was missing. Throws RolesRefusedError if the user of `databaseUrl` lacks the right.
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

/** Writes the missing canaries of the keys in `held`; throws StartError if a key is wrong. */
export async function seedCanaries(databaseUrl: string, held: HeldSealers): Promise<void> {
  await withMigrations(databaseUrl, { asOwner: true }, (source) => writeCanaries(new Database(source), held));
}

/** Thrown if the migrations were left unchanged. The message has the reason and the remedy. */
export class MigrationKeptError extends Error {
  override readonly name = 'MigrationKeptError';
}

interface Undone {
  readonly undone: string;
  /** The migrations that the database still has, oldest first. */
  readonly remaining: readonly string[];
}

/**
 * Undoes the newest migration of the database named `database` and no other. Throws MigrationKeptError on another
 * database, if there is none to undo, while processes of the service are connected, and while anything is open:
 * delegations, unfinished orders, balances. Locks keep the checked tables unchanged until the end. `isPooled`:
 * processes of the service connect through a pooler.
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
      if (newest === undefined) throw new MigrationKeptError('There is no migration to revert.');
      await refuseWhileRunning(runner, isPooled);
      await refuseWhileOpen(runner);
      await new MigrationExecutor(source, runner).undoLastMigration();
      const remaining = await migrationsIn(runner);
      if (remaining.length !== names.length - 1) throw new Error('the migration was not reverted');
      await runner.commitTransaction();
      return { undone: newest, remaining };
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      // The migration itself refuses to be undone.
      if (sqlStateOf(error) === OBJECT_IN_USE) {
        throw new MigrationKeptError(`${(error as Error).message}. Nothing was done.`, { cause: error });
      }
      throw error;
    } finally {
      await runner.release();
    }
  });
}

/** Returns the names of this version's migrations that the database has not run; empty if it is current. */
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
  throw new MigrationKeptError(`DATABASE_URL leads to the database ${actual}, not to ${wanted}. Nothing was done.`);
}

/**
 * Tables that must not be dropped while they hold open rows: table, lock, name for the operator, and count of open
 * rows.
 */
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
  /** null if this login may not read it. */
  readonly used_at: string | null;
}

/** Clears the statistics snapshot first: within a transaction Postgres repeats its first answer. */
async function sessionsOfService(runner: QueryRunner): Promise<readonly Session[]> {
  const [before] = (await runner.query(`SELECT current_setting('role') AS role`)) as { role: string }[];
  // Reads as the login itself, which may see more of other sessions than the owner's role.
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
 * Throws while a process of the service is connected. A pooler keeps server connections for minutes after its last
 * client ended, under that client's name. Every running process uses its connections every few seconds. So connections
 * that stay unused for the longer POOLER_SILENCE_MS are left over.
 */
async function refuseWhileRunning(runner: QueryRunner, isPooled: boolean): Promise<void> {
  const sessions = await sessionsOfService(runner);
  const inUse = isPooled && sessions.length > 0 ? await usedMeanwhile(runner, sessions) : sessions;
  if (inUse.length === 0) return;
  const names = [...new Set(inUse.map(({ name }) => name))].join(', ');
  throw new MigrationKeptError(`The service is running (${names}). Stop it first. Nothing was done.`);
}

/** Returns the sessions that were used, or that began, within the silence after `before`. */
async function usedMeanwhile(runner: QueryRunner, before: readonly Session[]): Promise<readonly Session[]> {
  const known = new Map(before.map(({ pid, used_at: usedAt }) => [pid, usedAt]));
  const endMs = monotonicMs() + POOLER_SILENCE_MS;
  while (monotonicMs() < endMs) {
    // Shorter than the idle limit of a transaction.
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
    // The lock keeps the counted rows unchanged until the commit.
    await runner.query(lock);
    const [row] = (await runner.query(text)) as { count: string }[];
    if (row !== undefined && row.count !== '0') open.push(`${row.count} ${what}`);
  }
  if (open.length > 0) {
    throw new MigrationKeptError(
      `The database is in use: ${open.join(', ')}. Nothing was done. Older code runs on a newer schema, so a downgrade needs no \`migrate down\`.`,
    );
  }
}
