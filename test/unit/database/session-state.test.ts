// Session state is lost behind a pooler in transaction mode, which may give each transaction another connection. Only
// connections that bypass the pooler (DATABASE_DIRECT_URL) may use it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../../../src', import.meta.url));

const STATE: Readonly<Record<string, RegExp>> = {
  'SET of the session': /[`'"] *(?:RE)?SET (?!LOCAL |TRANSACTION )[a-z]/,
  'set_config of the session': /set_config\((?:[^()]|\([^()]*\))*,\s*false\s*\)/,
  LISTEN: /[`'"]\s*(?:UN)?LISTEN /,
  'advisory lock of the session': /pg_(?:try_)?advisory_(?:lock|unlock)/,
  'temporary table': /CREATE (?:LOCAL |GLOBAL )?TEMP/i,
  'statement or cursor by name': /[`'"]\s*(?:PREPARE|EXECUTE|DECLARE|DEALLOCATE|DISCARD) /,
  'last value of a sequence': /\b(?:currval|lastval)\(/,
};

function found(): Record<string, string[]> {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const all = files.sort().map((file) => {
    const text = readFileSync(join(SRC, file), 'utf8');
    return [file, Object.keys(STATE).filter((name) => STATE[name]!.test(text))] as const;
  });
  return Object.fromEntries(all.filter(([, names]) => names.length > 0).map(([file, names]) => [file, [...names]]));
}

test('only listening connections and migrations keep session state, and they bypass a pooler', () => {
  expect(found()).toEqual({
    'platform/database/listening-connection.ts': ['LISTEN'],
    'platform/database/migrate.ts': ['SET of the session', 'advisory lock of the session'],
  });
});

test.each([
  ['SET of the session', '`SET lock_timeout = 0`'],
  ['set_config of the session', `set_config('lock_timeout', concat('1', 's'), false)`],
  ['LISTEN', '`LISTEN ${CHANNEL}`'],
  ['advisory lock of the session', 'SELECT pg_try_advisory_lock(1)'],
  ['temporary table', 'CREATE TEMP TABLE t ()'],
  ['statement or cursor by name', "'DECLARE c CURSOR FOR SELECT 1'"],
  ['last value of a sequence', `currval('s')`],
])('%s is recognised', (name, text) => {
  expect(STATE[name]!.test(text)).toBe(true);
});

test.each(['SET LOCAL jit = off', `set_config('a', 'b', true)`, 'pg_advisory_xact_lock(1)', 'UPDATE a SET b = 1'])(
  '%s affects its transaction only',
  (text) => {
    expect(Object.values(STATE).some((state) => state.test(`'${text}'`))).toBe(false);
  },
);
