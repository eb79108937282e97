// A reachable database that refuses connections: how long a start waits, and the operator's message.
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Sealers } from '../../../src/platform/support/sealers.js';
import type { DatabaseSettings } from '../../../src/platform/config/settings.js';
import { checkDatabase } from '../../../src/modules/diagnostics/doctor-stores.js';
import type { Config } from '../../../src/platform/config/config.js';
import { failureOf } from '../../../src/modules/operator/cli-failure.js';
import { migrateUp } from '../../../src/platform/database/migrate.js';
import { openDatabase } from '../../../src/platform/database/open-database.js';
import { openLog } from '../../support/log.js';
import { asAdmin, fromSetup } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { asRole } from '../../setup/roles.js';

const STARTED_WRONG = /start it|Start Postgres|correct DATABASE_URL/;
const sealers = new Sealers({ sealKeys: new Map() });

let database: TestDatabase;
const servers: Server[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

afterAll(() => database.drop());

const settingsOf = (url: string): DatabaseSettings => ({
  ...{ url, directUrl: undefined, readUrl: undefined, readLagMaxSec: 10, namedStatements: 'on', poolMax: 2 },
});

const open = (url: string, busyLimitMs: number, onLine?: (line: string) => void) =>
  openDatabase(settingsOf(url), { role: 'api', sealers, log: openLog('silent', onLine), busyLimitMs });

/** Limits the connections of everyone but superusers, as if all were taken. */
const allow = (connections: number): Promise<unknown> =>
  asAdmin(fromSetup('TEST_DATABASE_URL'), (client) =>
    client.query(
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} CONNECTION LIMIT ${connections.toString()}`,
    ),
  );

/** Starts a server that refuses every connection with an ErrorResponse, as Postgres or a pooler does. */
async function refusing(state: string, message: string): Promise<string> {
  const fields = [`SFATAL`, `VFATAL`, `C${state}`, `M${message}`].map((field) => `${field}\0`).join('');
  const body = Buffer.from(`${fields}\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(body.length + 4, 1);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([head, body])));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `postgres://energy:secret@127.0.0.1:${(server.address() as AddressInfo).port.toString()}/energy`;
}

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => new Error('it opened'),
    (thrown: unknown) => thrown,
  );

it('a process starts as soon as a connection is free', async () => {
  await allow(0);
  let isFreed: Promise<unknown> | undefined;
  const source = await open(asRole(database.url, 'api'), 120_000, () => {
    isFreed ??= allow(-1);
  });
  expect(isFreed).toBeDefined();
  await isFreed;
  await source.destroy();
});

it('a process that gets no connection in time reports that all are taken', async () => {
  await allow(0);
  const thrown = await thrownBy(open(asRole(database.url, 'api'), 0));
  await allow(-1);
  expect(thrown).toMatchObject({ code: 'DATABASE_BUSY' });
  expect((thrown as Error).message).toMatch(/^All connections of the database of DATABASE_URL are in use \(too many/);
  expect((thrown as Error).message).not.toMatch(STARTED_WRONG);
});

it.each([
  ['53300', 'sorry, too many clients already', /are in use/],
  ['53300', 'remaining connection slots are reserved for roles with the SUPERUSER attribute', /are in use/],
  ['08P01', 'no more connections allowed (max_client_conn)', /are in use/],
  ['08P01', 'query_wait_timeout', /are in use/],
  ['XX000', 'MaxClientsInSessionMode: max clients reached', /are in use/],
  ['57P03', 'the database system is starting up', /accepts no connections/],
  ['57P03', 'the database system is in recovery mode', /accepts no connections/],
  ['08P01', 'server login has been failing, try again later (server_login_retry)', /accepts no connections/],
])('process, command, migration and doctor report the truth of %s: %s', async (state, message, truth) => {
  const url = await refusing(state, message);
  const started = await thrownBy(open(url, 0));
  const migrated = await thrownBy(migrateUp(url));
  const [found] = await checkDatabase({ database: settingsOf(url) } as Config);
  const reports = [failureOf(started).message, failureOf(migrated).message, `${found!.says} ${found!.todo ?? ''}`];
  for (const each of reports) {
    expect(each).toMatch(truth);
    expect(each).toContain(message);
    expect(each).not.toMatch(STARTED_WRONG);
  }
  expect([failureOf(started), failureOf(migrated)]).toMatchObject([
    { exitCode: 1, code: 'DATABASE_BUSY' },
    { exitCode: 1, code: 'DATABASE_BUSY' },
  ]);
});

it('an unreachable database is still reported as such, immediately', async () => {
  const lines: string[] = [];
  const thrown = await thrownBy(
    open('postgres://energy:secret@127.0.0.1:1/energy', 120_000, (line) => lines.push(line)),
  );
  expect(thrown).toMatchObject({ code: 'DATABASE_UNAVAILABLE', message: expect.stringMatching(STARTED_WRONG) });
  expect(lines).toEqual([]);
});
