/** Checks at a start that sessions have the settings that the code needs. A pooler may have dropped them. */
import { StartError } from '../../domain/errors.js';
import type { Queryable } from './database.js';
import { PINNED } from './session-settings.js';

const READ = {
  name: 'read_session_settings',
  text: `SELECT name, setting FROM pg_settings WHERE name = ANY ($1) ORDER BY name`,
};

/** Throws StartError if a session has other settings, because values would be misread. */
export async function checkSession(database: Queryable): Promise<void> {
  const rows = await database.query<{ name: string; setting: string }>(READ, [Object.keys(PINNED)]);
  const wrong = rows.filter(({ name, setting }) => !isRight(name, setting));
  if (wrong.length === 0) return;
  const found = wrong.map(({ name, setting }) => `${name} is ${setting}`).join(', ');
  const wanted = wrong.map(({ name }) => `${name} = '${PINNED[name] ?? ''}'`).join(', ');
  throw new StartError(
    'DATABASE_SETTINGS',
    `Sessions of DATABASE_URL have other settings (${found}), and a pooler prevents the process from changing them. ` +
      `Set them for its user with ALTER ROLE … SET: ${wanted}.`,
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
