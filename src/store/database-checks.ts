/**
 * Whether a process can work on its database: it takes writes, has the schema of this version (every migration of ours,
 * and maybe newer ones), and was sealed under the keys that the process holds.
 */
import { StartError } from '../domain/errors.js';
import { MIGRATION_NAMES } from './data-source.js';
import { sqlStateOf, type Database, type Queryable } from './database.js';
import { type HeldSealers } from '../base/sealers.js';
import { checkKeys } from './key-canaries.js';

const UNDEFINED_TABLE = '42P01';

/** For `/ready`: throws what is wrong first, with what to do about it. */
export async function checkUsable(database: Database, held: HeldSealers): Promise<void> {
  await database.checkWritable();
  await checkSchema(database);
  await checkKeys(database, held);
}

/** The names of this version's migrations that the database has not run; empty = current. Reads only. */
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
    `The database has an older schema than this version (it lacks ${pending.join(', ')}): run \`npm run -s cli -- migrate\` first.`,
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
