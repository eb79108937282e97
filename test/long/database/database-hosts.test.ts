// Several hosts in DATABASE_URL: the writable one serves, an old primary is never used, and errors name the cause.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { DataSource } from 'typeorm';
import { checkDatabase } from '../../../src/modules/diagnostics/doctor-stores.js';
import type { Config } from '../../../src/platform/config/config.js';
import { timelineRecord } from '../../../src/platform/queue/timeline-record.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { aboutDatabase } from '../../../src/platform/database/database-checks.js';
import { DatabaseHosts, type TimelineRecord } from '../../../src/platform/database/database-hosts.js';
import { Database, isDatabaseAway } from '../../../src/platform/database/database.js';
import { HostsClient } from '../../../src/platform/database/hosts-client.js';
import { startPostgres } from '../../../packages/local/src/postgres.js';
import { until } from '../../../packages/local/src/wait.js';
import {
  makeImage,
  promote,
  startPair,
  urlOf,
  type PairImage,
  type ServerPair,
} from '../../support/database/server-pair.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const LIMIT_MS = 30_000;

let image: PairImage;
let pair: ServerPair;
let redis: TestRedis;
const opened: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  redis = await createTestRedis();
  image = await makeImage();
});
afterAll(async () => {
  await image.remove();
  await redis.close();
});
beforeEach(async () => {
  pair = await startPair(image);
  await asAdmin(pair.first.url, (client) => client.query('CREATE TABLE note (text text)'));
  await until(isOnSecond, LIMIT_MS, 'the standby has the table');
});
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
  await pair.close();
});

async function isOnSecond(): Promise<true | undefined> {
  const found = await asAdmin(pair.second.url, (client) => client.query(`SELECT to_regclass('note') AS note`));
  return found.rows[0] !== undefined && (found.rows[0] as { note: unknown }).note !== null ? true : undefined;
}

const nothingHeard: TimelineRecord = {
  read: () => Promise.resolve(new Map()),
  raise: () => Promise.resolve(),
  close: () => undefined,
};

/** Opens a process's connection pool, which selects hosts as a running process does. */
async function open(url: string, record: TimelineRecord = nothingHeard): Promise<Database> {
  const hosts = new DatabaseHosts(url, { record });
  const source: DataSource = createDataSource({ url: hosts, poolMax: 3, applicationName: 'energy-test' });
  opened.push(() => hosts.stop());
  await source.initialize();
  opened.push(() => source.destroy());
  const database = new Database(source);
  database.onApplicationBootstrap();
  return database;
}

const note = (database: Database, text: string): Promise<unknown> =>
  database.query('INSERT INTO note VALUES ($1)', [text]);

async function notesOn(url: string): Promise<string[]> {
  const rows = await asAdmin(url, (client) => client.query<{ text: string }>('SELECT text FROM note ORDER BY text'));
  return rows.rows.map(({ text }) => text);
}

/** Retries until the row is written, as a caller would. */
async function noteAgain(database: Database, text: string): Promise<void> {
  const attempt = async (): Promise<true | undefined> => {
    try {
      await note(database, text);
      return true;
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
      return undefined;
    }
  };
  await until(attempt, LIMIT_MS, `writing ${text}`);
}

const at = (port: number): string => `127.0.0.1:${port.toString()}`;

test('the first host that accepts writes serves, though a standby is listed before it', async () => {
  const database = await open(urlOf([pair.second, pair.first], pair.first));
  await note(database, 'once');
  expect(await notesOn(pair.first.url)).toEqual(['once']);
  expect(aboutDatabase(database)).toEqual({
    database: {
      serving: at(pair.first.port),
      timeline: 1,
      hosts: {
        [at(pair.second.port)]: { state: 'standby', reason: 'is a standby', timeline: 1 },
        [at(pair.first.port)]: { state: 'writable', timeline: 1 },
      },
    },
  });
});

test('a first host that is read-only is passed over', async () => {
  await asAdmin(pair.first.url, async (client) => {
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = on`);
    await client.query('SELECT pg_reload_conf()');
  });
  await promote(pair.second);
  const database = await open(urlOf([pair.first, pair.second], pair.first));
  await note(database, 'here');
  expect(await notesOn(pair.second.url)).toEqual(['here']);
});

test('after a failover the same pool writes to the new primary, and never to the old one that came back', async () => {
  const database = await open(urlOf([pair.first, pair.second], pair.first));
  await note(database, 'before');
  const sent = async (): Promise<true | undefined> =>
    (await notesOn(pair.second.url)).length === 1 ? true : undefined;
  await until(sent, LIMIT_MS, 'the standby has it');
  await pair.stop('first');
  await expect(note(database, 'lost')).rejects.toThrow();
  await promote(pair.second);
  await noteAgain(database, 'after');
  // The old primary is back, first in the list, and writable.
  await pair.restart('first');
  await asAdmin(pair.first.url, (client) => client.query(`INSERT INTO note VALUES ('its own')`));
  await Promise.all(Array.from({ length: 9 }, (_, n) => noteAgain(database, `later ${n.toString()}`)));
  const fresh = await open(urlOf([pair.first, pair.second], pair.first));
  await note(fresh, 'of a new process');
  expect(await notesOn(pair.first.url)).toEqual(['before', 'its own']);
  expect(await notesOn(pair.second.url)).toHaveLength(12);
  expect(fresh.hosts.known.get(at(pair.first.port))).toMatchObject({ state: 'old', timeline: 1 });
});

test.each(['lost its only connection', 'has no connection'])(
  'a process that %s asks all hosts before the next one, though the old primary is back by then',
  async (state) => {
    const hosts = new DatabaseHosts(urlOf([pair.first, pair.second], pair.first));
    const connect = async (): Promise<HostsClient> => {
      const client = new HostsClient({ hosts, connectionTimeoutMillis: LIMIT_MS });
      await client.connect();
      opened.push(async () => client.end().catch(() => undefined));
      return client;
    };
    const before = await connect();
    const over = new Promise((resolve) => before.once('end', resolve));
    if (state === 'has no connection') await before.end();
    await pair.stop('first');
    await over;
    await promote(pair.second);
    await pair.restart('first');
    await (await connect()).query(`INSERT INTO note VALUES ('after')`);
    expect(await notesOn(pair.first.url)).toEqual([]);
    expect(await notesOn(pair.second.url)).toEqual(['after']);
  },
);

test('connections to a primary that still answers are closed when another one has been promoted', async () => {
  const database = await open(urlOf([pair.first, pair.second], pair.first));
  await note(database, 'before');
  await promote(pair.second);
  const moved = (): Promise<true | undefined> =>
    Promise.resolve(database.hosts.serving === at(pair.second.port) ? true : undefined);
  await until(moved, LIMIT_MS, 'the look at all hosts');
  await noteAgain(database, 'after');
  expect(await notesOn(pair.first.url)).toEqual(['before']);
  expect(await notesOn(pair.second.url)).toContain('after');
});

test('a new process that only finds the old primary accepts it on the answers of the others, and logs why', async () => {
  const config = { url: redis.url, prefix: 'energy-hosts' };
  const url = urlOf([pair.first, pair.second], pair.first);
  await promote(pair.second);
  const seen = await open(url, timelineRecord(config));
  await note(seen, 'new');
  const record = timelineRecord(config);
  opened.push(async () => {
    record.close();
    return Promise.resolve();
  });
  const written = async (): Promise<true | undefined> =>
    [...(await record.read()).values()].includes(2) ? true : undefined;
  await until(written, LIMIT_MS, 'the record');
  await pair.stop('second');
  const hosts = new DatabaseHosts(url, { record });
  await expect(hosts.choose()).rejects.toThrow(
    `no host of DATABASE_URL takes writes: ${at(pair.first.port)} is of timeline 1, and 2 was seen: an old primary, ` +
      `${at(pair.second.port)} refuses the connection`,
  );
  // An instance without the record does not know the newer timeline.
  expect((await new DatabaseHosts(url).choose()).name).toBe(at(pair.first.port));
  await pair.restart('second');
  const again = async (): Promise<string | undefined> =>
    hosts.choose().then(
      ({ name }) => name,
      () => undefined,
    );
  expect(await until(again, LIMIT_MS, 'the new primary')).toBe(at(pair.second.port));
});

test('while all hosts are away the error names each of them, and the next attempts find the one that came back', async () => {
  const database = await open(urlOf([pair.first, pair.second], pair.first));
  await pair.stop('first');
  await pair.stop('second');
  await expect(note(database, 'lost')).rejects.toThrow();
  // A stopping server answers for another moment.
  const refused = async (): Promise<unknown> => {
    const error: unknown = await note(database, 'lost').catch((thrown: unknown) => thrown);
    const names = [pair.first, pair.second].every(({ port }) =>
      String(error).includes(`${at(port)} refuses the connection (`),
    );
    return names ? error : undefined;
  };
  const error = await until(refused, LIMIT_MS, 'an error that names both hosts');
  expect(isDatabaseAway(error)).toBe(true);
  await pair.restart('first');
  await noteAgain(database, 'back');
  expect(await notesOn(pair.first.url)).toEqual(['back']);
});

test('a host that refuses the password, one that never answers and one of another cluster do not keep the right one from serving', async () => {
  const other = await startPostgres({ durable: false });
  opened.push(() => other.stop());
  await promote(pair.second);
  await asAdmin(pair.first.url, (client) => client.query(`ALTER ROLE postgres PASSWORD 'another'`));
  const silent = await openSilent(() => 0);
  const { password } = new URL(pair.first.url);
  await asAdmin(other.url, (client) => client.query(`ALTER ROLE postgres PASSWORD '${password}'`));
  const url = urlOf([pair.first, silent.port, pair.second, other], pair.second);
  const hosts = new DatabaseHosts(url);
  expect((await hosts.choose()).name).toBe(at(pair.second.port));
  expect([...hosts.known.values()].map(({ state }) => state)).toEqual(['away', 'away', 'writable', 'foreign']);
  expect(hosts.known.get(at(pair.first.port))?.reason).toContain('password authentication failed');
  expect(JSON.stringify([...hosts.known])).not.toContain(password);
});

test('the doctor reports which host serves, and what to do about an old primary', async () => {
  await promote(pair.second);
  const url = urlOf([pair.first, pair.second], pair.first);
  const findings = await checkDatabase({ database: { url, poolMax: 1 } } as unknown as Config);
  const hosts = findings.filter(({ check }) => check.startsWith('database host'));
  expect(hosts).toMatchObject([
    { state: 'ok', says: `${at(pair.second.port)} is the primary, on timeline 2.` },
    { state: 'fault', says: `${at(pair.first.port)} is of timeline 1, and 2 was seen: an old primary.` },
  ]);
});

test('a dedicated connection, such as a listening one, goes to the host that serves', async () => {
  const hosts = new DatabaseHosts(urlOf([pair.second, pair.first], pair.first));
  const client = new HostsClient({ hosts, connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  await client.connect();
  opened.push(() => client.end());
  const heard = new Promise<string | undefined>((resolve) =>
    client.on('notification', ({ payload }) => resolve(payload)),
  );
  await client.query('LISTEN news');
  await asAdmin(pair.first.url, (admin) => admin.query(`NOTIFY news, 'good'`));
  expect(await heard).toBe('good');
});

test('a process opens a few connections at a time, however many are wanted, and every wait ends', async () => {
  // Counted in this process: the server notices abandoned connections a moment later.
  const clients: HostsClient[] = [];
  const open = (): number =>
    clients.filter((client) => isOpen((client as unknown as Streaming).connection.stream)).length;
  const silent = await openSilent(open);
  const hosts = new DatabaseHosts(urlOf([silent.port], pair.first));
  for (let index = 0; index < 12; index += 1) {
    const client = new HostsClient({ hosts, connectionTimeoutMillis: 500 });
    client.on('error', () => undefined);
    clients.push(client);
  }
  const errors = await Promise.all(clients.map((client) => client.connect().catch((error: unknown) => error)));
  expect(errors.filter((error) => !isDatabaseAway(error))).toEqual([]);
  expect(silent.mostAtOnce()).toBe(3);
});

/** A member that pg's types omit. */
interface Streaming {
  readonly connection: { readonly stream: Socket };
}

const isOpen = (stream: Socket): boolean => !stream.destroyed && (stream.connecting || !stream.pending);

/** Accepts connections and sends nothing. */
async function openSilent(count: () => number): Promise<{ readonly port: number; readonly mostAtOnce: () => number }> {
  const sockets = new Set<Socket & Writable>();
  let mostAtOnce = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    mostAtOnce = Math.max(mostAtOnce, count());
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, mostAtOnce: () => mostAtOnce };
}
