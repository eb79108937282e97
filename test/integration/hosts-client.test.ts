// A server that is lost just when it has answered: its last words come with the answer, before anybody listens for them.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { DatabaseHosts } from '../../src/store/database-hosts.js';
import { isConnectionFault } from '../../src/store/database.js';
import { HostsClient } from '../../src/store/hosts-client.js';

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

/** One row of texts, as the answer to any statement. */
function row(values: Readonly<Record<string, string>>): Buffer {
  const columns = Object.keys(values).map((name) =>
    // A text of no table.
    Buffer.concat([text(name), int32(0), int16(0), int32(25), int16(0xff_ff), int32(-1), int16(0)]),
  );
  const fields = Object.values(values).map((value) => Buffer.concat([int32(value.length), Buffer.from(value)]));
  return Buffer.concat([
    message('T', int16(columns.length), ...columns),
    message('D', int16(fields.length), ...fields),
    message('C', text('SELECT 1')),
    READY,
  ]);
}

const PRIMARY = row({ system: '7', timeline: '1' });

let server: Server;
const sockets = new Set<Socket>();
/** What follows on the first connection's welcome, and on each answer of it, in the same packet. */
let after: { readonly welcome: Buffer; readonly answer: Buffer };

beforeEach(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(Buffer.concat([LET_IN, after.welcome]));
      socket.on('data', (sent) => {
        if (sent[0] === 'Q'.charCodeAt(0)) socket.write(Buffer.concat([PRIMARY, after.answer]));
      });
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((closed) => server.close(closed));
});

function open(hostCount: 1 | 2): { readonly client: HostsClient; readonly hosts: DatabaseHosts } {
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port.toString()}`;
  const names = hostCount === 1 ? host : `${host},localhost:${port.toString()}`;
  const hosts = new DatabaseHosts(`postgres://energy:secret@${names}/energy`);
  return { client: new HostsClient({ hosts, connectionTimeoutMillis: LIMIT_MS }), hosts };
}

test('a server that is lost with its welcome ends no process: the next statement says so', async () => {
  after = { welcome: LOST, answer: Buffer.alloc(0) };
  const { client } = open(1);
  await client.connect();
  const asked = client.query('SELECT 1');
  await expect(asked).rejects.toThrow();
  expect(isConnectionFault(await asked.catch((error: unknown) => error))).toBe(true);
});

test('a host that is lost with its answer which it is serves nobody', async () => {
  after = { welcome: Buffer.alloc(0), answer: LOST };
  const { client, hosts } = open(2);
  await expect(client.connect()).rejects.toThrow('unexpected postmaster exit');
  expect(hosts.serving).toBeUndefined();
});
