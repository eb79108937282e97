// A server, database or role with unusual session settings: values are still read and written correctly.
import { Sealers } from '../../../src/platform/support/sealers.js';
import type { DatabaseSettings } from '../../../src/platform/config/settings.js';
import { Database } from '../../../src/platform/database/database.js';
import { openDatabase } from '../../../src/platform/database/open-database.js';
import { openLog } from '../../support/log.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { isThroughPooler, servedUrl } from '../../setup/pooler.js';
import { asRole } from '../../setup/roles.js';

const sealers = new Sealers({ sealKeys: new Map() });
/** PgBouncer passes on these settings of a process and no others. */
const TRACKED = { datestyle: 'German, DMY', timezone: 'Asia/Kathmandu', standard_conforming_strings: 'off' };
const OTHERS = {
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  default_transaction_isolation: 'serializable',
};

let test_: TestDatabase;

beforeEach(async () => {
  test_ = await createTestDatabase();
});

afterEach(() => test_.drop());

/** Applies to every later session of the database. */
const set = (settings: Readonly<Record<string, string>>): Promise<void> =>
  asAdmin(test_.url, async (client) => {
    const name = new URL(test_.url).pathname.slice(1);
    for (const [setting, value] of Object.entries(settings)) {
      await client.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    }
  });

async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const settings: DatabaseSettings = {
    ...{ url: servedUrl(asRole(test_.url, 'worker')), directUrl: undefined, readUrl: undefined, readLagMaxSec: 10 },
    ...{ namedStatements: isThroughPooler() ? 'off' : 'on', poolMax: 2 },
  };
  const source = await openDatabase(settings, { role: 'worker', sealers, log: openLog('silent') });
  try {
    return await work(new Database(source));
  } finally {
    await source.destroy();
  }
}

const READ = `SELECT '2026-03-04 05:06:07.5+00'::timestamptz AS at, '2026-03-04 05:06:07+00'::timestamptz::text AS at_text,
  '\\x00ff10'::bytea AS bytes, 0.1::float8 + 0.2::float8 AS sum, (interval '1 day 2 hours')::text AS lasting,
  'a\\b' AS backslash, current_setting('transaction_isolation') AS isolation`;

const RIGHT = {
  at: new Date('2026-03-04T05:06:07.500Z'),
  at_text: '2026-03-04 05:06:07+00',
  bytes: Buffer.from('00ff10', 'hex'),
  sum: 0.1 + 0.2,
  lasting: '1 day 02:00:00',
  backslash: 'a\\b',
  isolation: 'read committed',
};

test('an unusual DateStyle, time zone and string syntax change no value', async () => {
  await set(TRACKED);
  const rows = await withDatabase((database) => database.query(READ));
  expect(rows).toEqual([RIGHT]);
});

test('unusual settings that a pooler keeps change no value, or prevent the start', async () => {
  await set(OTHERS);
  if (isThroughPooler()) {
    await expect(withDatabase((database) => database.query(READ))).rejects.toThrow(
      /IntervalStyle is sql_standard, bytea_output is escape.*ALTER ROLE … SET: .*bytea_output = 'hex'/,
    );
    return;
  }
  expect(await withDatabase((database) => database.query(READ))).toEqual([RIGHT]);
});
