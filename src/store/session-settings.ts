/**
 * What this code needs of every session, whatever its server, database and role set. The options of a connection win over
 * all three; a pooler drops most of them, so a start also reads what came of it.
 */
import { StartError } from '../domain/errors.js';
import type { Queryable } from './database.js';

/** How values are written and read, and what a transaction without further words is. */
const PINNED: Readonly<Record<string, string>> = {
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  default_transaction_isolation: 'read committed',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
};

/** The part of them that PgBouncer takes from a client and applies to whatever server connection it uses. */
export const STARTUP_PARAMETERS: Readonly<Record<string, string>> = {
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  standard_conforming_strings: 'on',
};

/** As parts of the startup option `options`, where a space is escaped. */
export const PINNED_OPTIONS: readonly string[] = Object.entries(PINNED).map(
  ([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`,
);

const READ = {
  name: 'read_session_settings',
  text: `SELECT name, setting FROM pg_settings WHERE name = ANY ($1) ORDER BY name`,
};

/** Throws StartError if a session of this database differs: values would be misread. */
export async function checkSession(database: Queryable): Promise<void> {
  const rows = await database.query<{ name: string; setting: string }>(READ, [Object.keys(PINNED)]);
  const wrong = rows.filter(({ name, setting }) => !isRight(name, setting));
  if (wrong.length === 0) return;
  const found = wrong.map(({ name, setting }) => `${name} is ${setting}`).join(', ');
  const wanted = wrong.map(({ name }) => `${name} = '${PINNED[name] ?? ''}'`).join(', ');
  throw new StartError(
    'DATABASE_SETTINGS',
    `Sessions of DATABASE_URL are set differently (${found}), and a pooler keeps the process from setting them. ` +
      `Set them for its user by ALTER ROLE … SET: ${wanted}.`,
  );
}

function isRight(name: string, setting: string): boolean {
  // 1 to 3 write every number exactly.
  if (name === 'extra_float_digits') return Number(setting) >= 1;
  // The order of day and month matters for input alone, which is always written as ISO.
  if (name === 'DateStyle') return setting.startsWith('ISO');
  if (name === 'TimeZone') return ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT'].includes(setting);
  return setting === PINNED[name];
}
