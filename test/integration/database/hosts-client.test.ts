// A server that is lost directly after its answer: its last message arrives with the answer, before any listener is
// set.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { DatabaseHosts } from '../../../src/platform/database/database-hosts.js';
import { isConnectionFault } from '../../../src/platform/database/database.js';
import { HostsClient } from '../../../src/platform/database/hosts-client.js';
import { until } from '../../../packages/local/src/wait.js';

const LIMIT_MS = 30_000;

const message = (kind: string, ...body: Buffer[]): Buffer => {
  const content = Buffer.concat(body);
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(kind), length, content]);
};
const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
const int32 = (value: number): Buffer => Buffer.concat([int16(value >> 16), int16(value & 65_535)]);
const text = (value: string): Buffer => Buffer.from(`${value}\0`);

const READY = message('Z', Buffer.from('I'));
const LET_IN = Buffer.concat([message('R', int32(0)), READY]);
const LOST = message(
  'E',
  text('SFATAL'),
  text('C57P01'),
  text('Mterminating connection due to unexpected postmaster exit'),
  Buffer.from([0]),
);

const TYPES = { text: 25, int4: 23 };

/** Encodes one row of texts and integers, as the answer to any statement. */
function row(values: Readonly<Record<string, string | number>>): Buffer {
  const columns = Object.entries(values).map(([name, value]) => {
    const type = typeof value === 'number' ? TYPES.int4 : TYPES.text;
    // A column without a table.
    return Buffer.concat([text(name), int32(0), int16(0), int32(type), int16(0xff_ff), int32(-1), int16(0)]);
  });
  const fields = Object.values(values)
    .map(String)
    .map((value) => Buffer.concat([int32(value.length), Buffer.from(value)]));
  return Buffer.concat([
    message('T', int16(columns.length), ...columns),
    message('D', int16(fields.length), ...fields),
    message('C', text('SELECT 1')),
    READY,
  ]);
}

const PRIMARY = row({ system: '7', timeline: 1 });
const PROMOTED = row({ system: '7', timeline: 2 });

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

/** Starts a server that accepts every login and answers every statement with `answer`. Returns its port. */
async function serve(welcome: Buffer, answer: () => Buffer | Promise<Buffer>): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(Buffer.concat([LET_IN, welcome]));
      socket.on('data', (sent) => {
        if (sent[0] === 'Q'.charCodeAt(0)) void Promise.resolve(answer()).then((bytes) => socket.write(bytes));
      });
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  opened.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  });
  return (server.address() as AddressInfo).port;
}

const at = (port: number): string => `127.0.0.1:${port.toString()}`;

function open(names: string): { readonly client: HostsClient; readonly hosts: DatabaseHosts } {
  const hosts = new DatabaseHosts(`postgres://energy:secret@${names}/energy`);
  return { client: new HostsClient({ hosts, connectionTimeoutMillis: LIMIT_MS }), hosts };
}

test('a server that is lost with its welcome ends no process: the next statement reports it', async () => {
  const { client } = open(at(await serve(LOST, () => PRIMARY)));
  await client.connect();
  const asked = client.query('SELECT 1');
  await expect(asked).rejects.toThrow();
  expect(isConnectionFault(await asked.catch((error: unknown) => error))).toBe(true);
});

test('a host that is lost while it identifies itself serves no connection', async () => {
  const port = await serve(Buffer.alloc(0), () => Buffer.concat([PRIMARY, LOST]));
  const { client, hosts } = open(`${at(port)},localhost:${port.toString()}`);
  await expect(client.connect()).rejects.toThrow('unexpected postmaster exit');
  expect(hosts.serving).toBeUndefined();
});

test('reports from before a lost connection do not decide which host serves after it', async () => {
  let isFirstAsked = false;
  let letSecondAnswer: () => void = () => undefined;
  const secondMayAnswer = new Promise<void>((resolve) => (letSecondAnswer = resolve));
  let timesAsked = 0;
  const first = await serve(Buffer.alloc(0), () => {
    isFirstAsked = true;
    return PRIMARY;
  });
  const second = await serve(Buffer.alloc(0), async () => {
    await secondMayAnswer;
    timesAsked += 1;
    return timesAsked === 1 ? LOST : PROMOTED;
  });
  const { hosts } = open(`${at(first)},${at(second)}`);
  const chosen = hosts.choose();
  await until(() => isFirstAsked || undefined, LIMIT_MS, 'the question to the first');
  const [host] = hosts.all;
  if (host === undefined) throw new Error('no host');
  hosts.reportLoss(host);
  letSecondAnswer();
  expect((await chosen).name).toBe(at(second));
});
