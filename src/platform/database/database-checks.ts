/**
 * Checks that a process can work on its database: it takes writes, has all migrations of this version and maybe newer
 * ones, and was sealed under the keys that the process holds.
 */
import { StartError } from '../../domain/errors.js';
import { MIGRATION_NAMES } from './data-source.js';
import { sqlStateOf, type Database, type Queryable } from './database.js';
import { type HeldSealers } from '../support/sealers.js';
import { checkKeys } from './key-canaries.js';
import { roleNamed } from './roles.js';

const UNDEFINED_TABLE = '42P01';

/** For `/ready`: throws the first problem with its remedy. */
export async function checkUsable(database: Database, held: HeldSealers): Promise<void> {
  await database.checkWritable();
  await checkSchema(database);
  await checkKeys(database, held);
}

/** For `/ready`, with several hosts: the serving host and the state of all. */
export function aboutDatabase({ hosts }: Database): { readonly database?: object } {
  if (!hosts.areSeveral) return {};
  const all = [...hosts.known].map(
    ([name, { state, reason, timeline }]) => [name, { state, reason, timeline }] as const,
  );
  return { database: { serving: hosts.serving ?? null, timeline: hosts.timeline, hosts: Object.fromEntries(all) } };
}

/** Returns the names of this version's migrations that the database has not run; empty if it is current. Reads only. */
async function pendingIn(database: Queryable): Promise<string[]> {
  const names = await migratedIn(database);
  return MIGRATION_NAMES.filter((name) => !names.has(name));
}

/** Throws StartError `NOT_MIGRATED` when a migration is missing. */
export async function checkSchema(database: Queryable): Promise<void> {
  const pending = await pendingIn(database);
  if (pending.length === 0) return;
  throw new StartError(
    'NOT_MIGRATED',
    `The database schema is older than this version (it lacks ${pending.join(', ')}). Run \`npm run -s cli -- migrate\` first.`,
  );
}

/**
 * For a merchants' console: throws StartError `UNSECURED_ROWS` if row-level security does not bind its login. An owner
 * of the tables, a superuser or another process's login would see every project's rows.
 */
export async function checkRowSecurity(database: Queryable): Promise<void> {
  const [row] = await database.query<{ bound: boolean }>(
    `SELECT row_security_active('orders') AND EXISTS (
        SELECT FROM pg_roles WHERE rolname = $1 AND pg_has_role(oid, 'USAGE')) AS bound`,
    [roleNamed('console_merchant')],
  );
  if (row?.bound === true) return;
  throw new StartError(
    'UNSECURED_ROWS',
    'The login of DATABASE_URL can read the rows of every project, which is not allowed for a merchant console. Create its own login with `npm run -s cli -- migrate roles --login` and DATABASE_PASSWORD_CONSOLE_MERCHANT',
  );
}

async function migratedIn(database: Queryable): Promise<ReadonlySet<string>> {
  try {
    const rows = await database.query<{ name: string }>(`SELECT name FROM migrations`);
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    if (sqlStateOf(error) === UNDEFINED_TABLE) return new Set();
    throw error;
  }
}
