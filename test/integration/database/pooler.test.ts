// Named statements and migrations behind PgBouncer: refused where the pooler would lose the session's state.
import { spawnSync } from 'node:child_process';
import type { DatabaseSettings } from '../../../src/platform/config/settings.js';
import { Database } from '../../../src/platform/database/database.js';
import { openDatabase } from '../../../src/platform/database/open-database.js';
import { Sealers } from '../../../src/platform/support/sealers.js';
import { fromSetup } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { startPooler } from '../../setup/pooler.js';
import { asRole, loginPasswords } from '../../setup/roles.js';
import { cliWith, settings, type CliResult } from '../../support/cli.js';
import { openLog } from '../../support/log.js';

const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`;
const isThere = spawnSync('pgbouncer', ['--version'], { env: { PATH } }).status === 0;

let database: TestDatabase;
let adminUrl: string;

beforeAll(async () => {
  adminUrl = fromSetup('TEST_DATABASE_URL');
  database = await createTestDatabase();
});

afterAll(() => database.drop());

async function ask(port: number, namedStatements: 'on' | 'off', isBypassed = true): Promise<unknown> {
  const url = new URL(asRole(database.url, 'worker'));
  url.host = new URL(adminUrl).host;
  const directUrl = url.href;
  url.port = port.toString();
  const terms: DatabaseSettings = {
    url: url.href,
    directUrl: isBypassed ? directUrl : undefined,
    readUrl: undefined,
    readLagMaxSec: 10,
    namedStatements,
    poolMax: 1,
  };
  const sealers = new Sealers({ sealKeys: new Map() });
  const source = await openDatabase(terms, { role: 'worker', sealers, log: openLog('silent') });
  try {
    return await new Database(source).query('SELECT 1 AS one');
  } finally {
    await source.destroy();
  }
}

/** Runs a command that reaches the database only through the pooler. */
async function run(port: number, ...command: string[]): Promise<CliResult> {
  const url = new URL(database.url);
  url.host = new URL(adminUrl).host;
  url.port = port.toString();
  const env = {
    ...settings(database.url),
    DATABASE_URL: url.href,
    DATABASE_DIRECT_URL: '',
    PG_NAMED_STATEMENTS: 'off',
  };
  return cliWith(env)('--json', ...command);
}

(isThere ? describe : describe.skip)('PgBouncer', () => {
  const logins = () => loginPasswords(fromSetup('TEST_DATABASE_PREFIX'));

  test('in transaction mode prevents a start that names statements, and names the settings', async () => {
    const pooler = await startPooler(adminUrl, logins());
    try {
      await expect(ask(pooler.port, 'on')).rejects.toMatchObject({
        code: 'DATABASE_SETTINGS',
        message: expect.stringMatching(
          /^A pooler in transaction mode .* Set PG_NAMED_STATEMENTS=off, and DATABASE_DIRECT_URL/,
        ),
      });
      expect(await ask(pooler.port, 'off')).toEqual([{ one: 1 }]);
    } finally {
      await pooler.stop();
    }
  });

  test('in transaction mode prevents a start that nothing bypasses, since announcements would be lost', async () => {
    const pooler = await startPooler(adminUrl, logins());
    try {
      await expect(ask(pooler.port, 'off', false)).rejects.toMatchObject({
        code: 'DATABASE_SETTINGS',
        message: expect.stringMatching(/^A pooler in transaction mode .* announcements .* Set DATABASE_DIRECT_URL /),
      });
    } finally {
      await pooler.stop();
    }
  });

  test('in transaction mode prevents migrations, which hold a lock of the session', async () => {
    const pooler = await startPooler(adminUrl, logins());
    try {
      const result = await run(pooler.port, 'migrate');
      expect([result.code, result.out]).toEqual([1, '']);
      expect(JSON.parse(result.err)).toEqual({
        ok: false,
        error: 'DATABASE_SETTINGS',
        msg: expect.stringMatching(/^A pooler in transaction mode .* Set DATABASE_DIRECT_URL .* Nothing was done\.$/),
      });
    } finally {
      await pooler.stop();
    }
  });

  test('in transaction mode is a finding of the doctor until something bypasses it', async () => {
    const pooler = await startPooler(adminUrl, logins());
    try {
      const { findings } = (await run(pooler.port, 'doctor', '--patience', '1')).json() as { findings: unknown[] };
      expect(findings).toContainEqual({
        check: 'pooler',
        state: 'fault',
        says: expect.stringMatching(/^A pooler in transaction mode serves DATABASE_URL/),
        todo: expect.stringMatching(/^Set DATABASE_DIRECT_URL /),
      });
    } finally {
      await pooler.stop();
    }
  });

  test('in session mode lets migrations run', async () => {
    const pooler = await startPooler(adminUrl, logins(), 'session');
    try {
      expect(await run(pooler.port, 'migrate')).toMatchObject({ code: 0, err: '' });
    } finally {
      await pooler.stop();
    }
  });

  test('in session mode keeps named statements', async () => {
    const pooler = await startPooler(adminUrl, logins(), 'session');
    try {
      expect(await ask(pooler.port, 'on')).toEqual([{ one: 1 }]);
      expect(await ask(pooler.port, 'off', false)).toEqual([{ one: 1 }]);
    } finally {
      await pooler.stop();
    }
  });
});

test('Postgres itself keeps named statements, also for a pool of one connection', async () => {
  expect(await ask(Number(new URL(adminUrl).port), 'on')).toEqual([{ one: 1 }]);
});
