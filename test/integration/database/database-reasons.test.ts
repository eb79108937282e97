// A database that refuses a command: the command and the doctor name cause and remedy.
import { chown, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../packages/local/src/ports.js';
import { startPostgres, type Postgres } from '../../../packages/local/src/postgres.js';
import { serverUser } from '../../../packages/local/src/postgres-binaries.js';
import { until } from '../../../packages/local/src/wait.js';
import { checkDatabase } from '../../../src/modules/diagnostics/doctor-stores.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { newAuthority } from '../../support/certificates.js';
import { cliWith, settings } from '../../support/cli.js';
import { asAdmin } from '../../setup/admin.js';

const LIMIT_MS = 30_000;

let postgres: Postgres;
let silent: Server;
let silentPort: number;
let refusedPort: number;
const authority = newAuthority();
const caFile = join(tmpdir(), `energy-ca-${process.pid.toString()}.pem`);

beforeAll(async () => {
  postgres = await startPostgres({ durable: false });
  const { key, cert } = authority.issue(['localhost']);
  await writeFile(caFile, authority.ca);
  await asAdmin(postgres.url, async (client) => {
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    const directory = rows[0]!.data_directory;
    const user = await serverUser();
    for (const [name, text] of [
      ['server.key', key],
      ['server.crt', cert],
    ] as const) {
      const file = join(directory, name);
      await writeFile(file, text, { mode: 0o600 });
      if (user) await chown(file, user.uid, user.gid);
    }
    await client.query('ALTER SYSTEM SET ssl = on');
    await client.query('SELECT pg_reload_conf()');
    const isOn = async () =>
      (await client.query<{ ssl: string }>('SHOW ssl')).rows[0]?.ssl === 'on' ? true : undefined;
    await until(isOn, LIMIT_MS, 'TLS being on');
  });
  silent = createServer((socket) => socket.on('error', () => undefined).resume());
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
  silentPort = (silent.address() as AddressInfo).port;
  refusedPort = await freePort();
});

afterAll(async () => {
  await new Promise((done) => silent.close(done));
  await postgres.stop();
});

/** Returns the server's URL after `change`. */
function urlWith(change: (url: URL) => void): string {
  const url = new URL(postgres.url);
  url.hostname = 'localhost';
  change(url);
  return url.href;
}

const CASES: readonly (readonly [string, () => string, RegExp])[] = [
  [
    'a certificate of an unknown authority',
    () => urlWith((url) => url.searchParams.set('sslmode', 'verify-full')),
    /presents a certificate of an unknown authority.*sslrootcert=/,
  ],
  ['a wrong password', () => urlWith((url) => (url.password = 'wrong')), /refuses the password.*user and password/],
  [
    'a database that is not there',
    () => urlWith((url) => (url.pathname = '/none')),
    /does not exist on that server.*create it/,
  ],
  [
    'a server that is not there',
    () => urlWith((url) => (url.port = refusedPort.toString())),
    /is unreachable \(.*ECONNREFUSED.*start it, or correct DATABASE_URL/,
  ],
  [
    'a server that does not answer',
    () => urlWith((url) => Object.assign(url, { hostname: '127.0.0.1', port: silentPort.toString() })),
    /did not answer in time: it, this machine or the network is overloaded/,
  ],
];

test.each(CASES)('command and doctor name %s', async (_name, url, says) => {
  const env = settings(url());
  const { code, err } = await cliWith(env)('price', 'list');
  expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(says) as string });
  const [finding] = await checkDatabase(readConfig(env));
  expect(`${finding!.says} ${finding!.todo ?? ''}`).toMatch(new RegExp(says.source, 'i'));
});

test('connects once the authority is named', async () => {
  const url = urlWith((each) => {
    each.searchParams.set('sslmode', 'verify-full');
    each.searchParams.set('sslrootcert', caFile);
  });
  expect((await cliWith(settings(url))('price', 'list')).err).toMatch(/migrate/);
});
