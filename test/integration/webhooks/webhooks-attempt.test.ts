// One delivery attempt against hostile receivers: real sockets, real TLS under the test's own authority, a real DNS
// server.
import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttps, type ServerOptions } from 'node:https';
import { createServer as createTcp, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Attempts, type Answered, type AttemptHooks } from '../../../src/modules/sender/attempt.js';
import { AddressRules } from '../../../src/modules/webhooks/address-rules.js';
import { newAuthority } from '../../support/certificates.js';
import { startDnsServer, type DnsServer } from '../../support/webhooks/dns-server.js';

const HOST = 'shop.example.com';
/** Number of attempts, and the memory that reading all certificates holds until garbage collection. */
const MANY = 150;
const ALL_CERTIFICATES_BYTES = 400_000;
const authority = newAuthority();
const own = authority.issue([HOST]);
const turns: AttemptHooks = {
  onAddress: async () => Promise.resolve(),
  beforeWriting: async () => Promise.resolve(),
  onWritten: () => undefined,
};

let dns: DnsServer;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  dns = await startDnsServer();
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  dns.asked.length = 0;
});

afterAll(() => dns.close());

function closes(server: Server | TcpServer): void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  closing.push(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
}

interface Receiver {
  readonly port: number;
  readonly requests: IncomingMessage[];
  readonly bodies: string[];
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An https server on 127.0.0.1 with a certificate for the requested name, unless `tls` is given. */
async function receiver(handler: Handler, tls: ServerOptions | 'http' = own, address = '127.0.0.1'): Promise<Receiver> {
  const requests: IncomingMessage[] = [];
  const bodies: string[] = [];
  const listener: Handler = (request, response) => {
    requests.push(request);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      handler(request, response);
    });
  };
  const server = tls === 'http' ? createHttp(listener) : createHttps(tls, listener);
  server.on('tlsClientError', () => undefined);
  closes(server);
  server.listen(0, address);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, requests, bodies };
}

/** A raw TCP server that may speak first or never. */
async function rawReceiver(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createTcp(onConnection);
  closes(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

interface Going {
  readonly path?: string;
  readonly host?: string;
  readonly scheme?: 'http' | 'https';
  readonly timeoutMs?: number;
  readonly allow?: readonly string[];
  readonly ca?: string | undefined;
  readonly turns?: AttemptHooks;
}

function attemptsAt(port: number, going: Going = {}): Attempts {
  const { scheme = 'https', timeoutMs = 10_000, allow = ['127.0.0.1'] } = going;
  const rules = new AddressRules({
    ports: [port],
    allowNetworks: allow,
    denyNetworks: [],
    allowHttp: scheme === 'http',
  });
  const ca = 'ca' in going ? going.ca : authority.ca;
  return new Attempts({ rules, timeoutMs, dnsServers: [dns.server], ca });
}

async function send(port: number, going: Going = {}, attempts = attemptsAt(port, going)): Promise<Answered> {
  const { host = HOST, path = '/hook?token=1', scheme = 'https' } = going;
  const url = `${scheme}://${host}:${port.toString()}${path}`;
  return attempts.send(
    { url, body: '{"id":"evt_1"}', headers: () => ({ 'webhook-id': 'evt_1' }) },
    going.turns ?? turns,
  );
}

const leadsTo = (...addresses: readonly string[]): void => {
  dns.answer = () => addresses;
};

const ok: Handler = (_request, response) => void response.writeHead(200).end('taken');

it('reaches the name’s address over TLS under its certificate, and reports the answer', async () => {
  leadsTo('127.0.0.1');
  const there = await receiver(ok);
  const answered = await send(there.port);
  expect(answered).toEqual({
    fault: undefined,
    status: 200,
    answer: 'taken',
    retryAfterSec: undefined,
    durationMs: expect.any(Number),
  });
  const [request] = there.requests;
  expect([request!.method, request!.url, request!.headers.host]).toEqual([
    'POST',
    '/hook?token=1',
    `${HOST}:${there.port.toString()}`,
  ]);
  expect(request!.headers).toMatchObject({
    'content-type': 'application/json',
    'webhook-id': 'evt_1',
    connection: 'close',
  });
  expect(there.bodies).toEqual(['{"id":"evt_1"}']);
  expect((request!.socket as TLSSocket).servername).toBe(HOST);
  expect(dns.asked.sort()).toEqual([`A ${HOST}`, `AAAA ${HOST}`]);
});

it('resumes no session: every attempt is a separate handshake', async () => {
  leadsTo('127.0.0.1');
  const reused: boolean[] = [];
  const there = await receiver((request, response) => {
    reused.push((request.socket as TLSSocket).isSessionReused());
    ok(request, response);
  });
  const attempts = attemptsAt(there.port);
  await send(there.port, {}, attempts);
  await send(there.port, {}, attempts);
  expect(reused).toEqual([false, false]);
});

it('reads the certificates of an authority once, and not for each attempt', async () => {
  leadsTo('127.0.0.1');
  const there = await receiver(ok);
  const attempts = attemptsAt(there.port);
  const sendMany = async (): Promise<void> => {
    for (let sent = 0; sent < MANY; sent += 1) {
      expect(await send(there.port, {}, attempts)).toMatchObject({ status: 200 });
    }
  };
  await sendMany();
  const before = process.memoryUsage.rss();
  await sendMany();
  expect(process.memoryUsage.rss() - before).toBeLessThan((MANY * ALL_CERTIFICATES_BYTES) / 2);
});

it.each([301, 302, 303, 307, 308])('follows no redirect: %d fails', async (status) => {
  leadsTo('127.0.0.1');
  const inside = await receiver(ok);
  const there = await receiver((_request, response) => {
    response.writeHead(status, { Location: `https://${HOST}:${inside.port.toString()}/secret` }).end();
  });
  expect(await send(there.port)).toMatchObject({ fault: 'REDIRECT', status });
  expect(there.requests).toHaveLength(1);
  expect(inside.requests).toEqual([]);
});

it.each([
  [200, undefined],
  [204, undefined],
  [299, undefined],
  [400, 'STATUS'],
  [404, 'STATUS'],
  [410, 'GONE'],
  [500, 'STATUS'],
])('an answer of %d is %s', async (status, fault) => {
  leadsTo('127.0.0.1');
  const there = await receiver((_request, response) => void response.writeHead(status).end());
  expect(await send(there.port)).toMatchObject({ fault, status, answer: undefined });
});

it('heeds Retry-After', async () => {
  leadsTo('127.0.0.1');
  const there = await receiver((_request, response) => void response.writeHead(429, { 'Retry-After': '90' }).end());
  expect(await send(there.port)).toMatchObject({ fault: 'STATUS', status: 429, retryAfterSec: 90 });
});

it('reads 4 KB of megabytes, keeps 256 bytes, and shows no control characters', async () => {
  leadsTo('127.0.0.1');
  let written = 0;
  const there = await receiver((_request, response) => {
    response.writeHead(200);
    response.on('error', () => undefined);
    const more = (): void => {
      while (written < 64 * 1024 * 1024 && !response.destroyed) {
        written += 65_536;
        if (!response.write(`\u0000\u001b[31m${'x'.repeat(65_530)}`)) {
          response.once('drain', more);
          return;
        }
      }
    };
    more();
  });
  const answered = await send(there.port);
  expect(answered).toMatchObject({ fault: undefined, status: 200 });
  expect(answered.answer).toHaveLength(256);
  expect(answered.answer).toMatch(/^ {2}\[31mx+$/);
  expect(written).toBeLessThan(32 * 1024 * 1024);
});

describe('one deadline covers everything', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['a receiver that accepts the connection and sends nothing', () => undefined],
    ['one that answers byte by byte', (socket) => socket.once('data', () => drip(socket, 'HTTP/1.1 200 '))],
    ['one that sends only interim answers', (socket) => socket.once('data', () => drip(socket, CONTINUE, CONTINUE))],
  ])('%s', async (_what, onConnection) => {
    leadsTo('127.0.0.1');
    const port = await rawReceiver(onConnection);
    expect(await send(port, { scheme: 'http', timeoutMs: 700 })).toMatchObject({ fault: 'TIMEOUT', status: undefined });
  });

  it('a handshake that never ends', async () => {
    leadsTo('127.0.0.1');
    const port = await rawReceiver(() => undefined);
    expect(await send(port, { timeoutMs: 700 })).toMatchObject({ fault: 'TIMEOUT' });
  });

  it('a DNS server that does not answer, and then nothing is connected to', async () => {
    dns.answer = () => undefined;
    const there = await receiver(ok);
    expect(await send(there.port, { timeoutMs: 700 })).toMatchObject({ fault: 'TIMEOUT' });
    expect(there.requests).toEqual([]);
  });
});

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

function drip(socket: Socket, head: string, drop = 'x'): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(drop), 20);
  socket.on('close', () => clearInterval(timer));
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';
const LONG = 'x'.repeat(100_000);

it.each<[string, string, string | undefined]>([
  ['headers of 100 KB', `${OK}X: ${LONG}\r\nContent-Length: 4\r\n\r\ndone`, 'done'],
  ['a length beside chunks', `${OK}Content-Length: 3\r\n${CHUNKED}4\r\ndone\r\n0\r\n\r\n`, 'done'],
  ['two lengths', `${OK}Content-Length: 3\r\nContent-Length: 4\r\n\r\ndone`, 'done'],
  ['a length that is not a number', `${OK}Content-Length: four\r\n\r\ndone`, 'done'],
  ['lines that end with LF alone', 'HTTP/1.1 200 OK\nContent-Length: 4\n\ndone', 'done'],
  ['no reason phrase', 'HTTP/1.1 200\r\nContent-Length: 4\r\n\r\ndone', 'done'],
  ['an interim answer first', `${CONTINUE}${OK}Content-Length: 4\r\n\r\ndone`, 'done'],
  ['a body of the length 0', `${OK}Content-Length: 0\r\n\r\ndone`, undefined],
  ['a body cut short', `${OK}Content-Length: 100\r\n\r\nhalf`, 'half'],
  ['a chunk cut short', `${OK}${CHUNKED}64\r\nhalf`, 'half'],
  ['a chunk without a size', `${OK}${CHUNKED}half\r\n`, undefined],
  ['headers cut short', `${OK}Content-Le`, undefined],
  ['an invalid header', `${OK}\u0000 \u00e9:: \r\n\r\ndone`, 'done'],
])('a 2xx status line is a success, whatever follows it: %s', async (_what, text, answer) => {
  leadsTo('127.0.0.1');
  const port = await rawReceiver((socket) => void socket.once('data', () => socket.end(text)));
  expect(await send(port, { scheme: 'http' })).toMatchObject({ fault: undefined, status: 200, answer });
});

it.each<[string, string]>([
  ['headers without end', `${OK}X: `],
  ['a body without end', `${OK}Content-Length: 1000000\r\n\r\n`],
])('reads a 2xx answer until the deadline, and no longer: %s', async (_what, head) => {
  leadsTo('127.0.0.1');
  const port = await rawReceiver((socket) => void socket.once('data', () => drip(socket, head)));
  const answered = await send(port, { scheme: 'http', timeoutMs: 700 });
  expect(answered).toMatchObject({ fault: undefined, status: 200 });
});

it.each([
  [400, 'STATUS'],
  [410, 'GONE'],
  [503, 'STATUS'],
])('an answer of %d that is cut short keeps its status and Retry-After', async (status, fault) => {
  leadsTo('127.0.0.1');
  const head = `HTTP/1.1 ${status.toString()} No\r\nRetry-After: 90\r\nContent-Length: 100\r\n\r\nno`;
  const port = await rawReceiver((socket) => void socket.once('data', () => socket.end(head)));
  expect(await send(port, { scheme: 'http' })).toMatchObject({ fault, status, retryAfterSec: 90, answer: 'no' });
});

it('stops reading headers after 256 KB, and keeps the status line', async () => {
  leadsTo('127.0.0.1');
  let written = 0;
  const port = await rawReceiver((socket) => {
    const more = (): void => {
      while (written < 64 * 1024 * 1024 && !socket.destroyed) {
        written += LONG.length;
        if (!socket.write(`X: ${LONG}\r\n`)) return;
      }
    };
    socket.on('drain', more);
    socket.once('data', () => {
      socket.write(OK);
      more();
    });
  });
  expect(await send(port, { scheme: 'http' })).toMatchObject({ fault: undefined, status: 200, answer: undefined });
  expect(written).toBeLessThan(32 * 1024 * 1024);
});

it.each<[string, (socket: Socket) => void]>([
  ['an answer that is not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH\r\n')],
  ['a status line without end', (socket) => socket.write(`HTTP/1.1 200 ${'x'.repeat(1_000_000)}`)],
  ['a status line cut short', (socket) => socket.end('HTTP/1.1 20')],
  ['only an interim answer', (socket) => socket.end(CONTINUE)],
  [
    'another protocol',
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
  ],
  ['a hang-up', (socket) => socket.destroy()],
])('%s is a bad answer', async (_what, answer) => {
  leadsTo('127.0.0.1');
  const port = await rawReceiver((socket) => void socket.once('data', () => answer(socket)));
  expect(await send(port, { scheme: 'http' })).toMatchObject({ fault: 'BAD_ANSWER' });
});

it('a closed port is a failed connection', async () => {
  leadsTo('127.0.0.1');
  expect(await send(1)).toMatchObject({ fault: 'CONNECTION_FAILED', answer: undefined });
});

describe('a certificate', () => {
  it.each([
    ['a certificate of another name', authority.issue(['other.example.com']), authority.ca],
    ['an expired certificate', authority.issue([HOST], true), authority.ca],
    ['a certificate of an unknown authority', newAuthority().issue([HOST]), authority.ca],
    ['a certificate of our own authority where it is not configured', own, undefined],
  ])('%s: nothing is sent', async (_what, tls, ca) => {
    leadsTo('127.0.0.1');
    const there = await receiver(ok, tls);
    expect(await send(there.port, { ca })).toMatchObject({ fault: 'TLS_FAILED', status: undefined });
    expect(there.requests).toEqual([]);
  });
});

describe('a name that resolves to an internal address', () => {
  it.each([
    ['to a private address', ['10.0.0.1']],
    ['to a link-local one', ['169.254.169.254']],
    ['to a public and a private one', ['8.8.8.8', '127.0.0.2']],
    ['to an allowed and a private one', ['127.0.0.1', '127.0.0.2']],
    ['to an allowed one and a private IPv6 one', ['127.0.0.1', '::1']],
    ['to an IPv4-mapped one', ['::ffff:10.0.0.1']],
    ['to an IPv4-compatible one', ['::10.0.0.1']],
    ['by another name', ['inside.example.com', '192.168.1.1']],
  ])('%s: connects to nothing, and the reason is always the same', async (_what, addresses) => {
    leadsTo(...addresses.map((each) => (each.startsWith('::') && each.includes('.') ? hexForm(each) : each)));
    const there = await receiver(ok, own);
    const elsewhere = await receiver(ok, own, '127.0.0.2');
    for (const port of [there.port, elsewhere.port]) {
      expect(await send(port)).toMatchObject({ fault: 'ADDRESS_NOT_ALLOWED', status: undefined, answer: undefined });
    }
    expect([...there.requests, ...elsewhere.requests]).toEqual([]);
  });

  it('only after its check: connects to the checked address, and does not resolve the name again', async () => {
    let asked = 0;
    dns.answer = () => {
      asked += 1;
      return asked <= 2 ? ['127.0.0.1'] : ['127.0.0.2'];
    };
    const there = await receiver(ok);
    const inside = await receiver(ok, own, '127.0.0.2');
    expect(await send(there.port)).toMatchObject({ fault: undefined, status: 200 });
    expect([asked, there.requests.length, inside.requests.length]).toEqual([2, 1, 0]);
    // From now on the name resolves to a forbidden address.
    expect(await send(there.port)).toMatchObject({ fault: 'ADDRESS_NOT_ALLOWED' });
  });

  it('without an address is not found', async () => {
    leadsTo();
    expect(await send(8443)).toMatchObject({ fault: 'NAME_NOT_FOUND' });
  });

  it('resolves a name with a final dot like the name', async () => {
    leadsTo('127.0.0.1');
    const there = await receiver(ok);
    expect(await send(there.port, { host: `${HOST}.` })).toMatchObject({ status: 200 });
    expect(there.requests[0]!.headers.host).toBe(`${HOST}:${there.port.toString()}`);
  });
});

const hexForm = (address: string): string => {
  const at = address.lastIndexOf(':') + 1;
  const bytes = Buffer.from(address.slice(at).split('.').map(Number));
  return `${address.slice(0, at)}${bytes.readUInt16BE(0).toString(16)}:${bytes.readUInt16BE(2).toString(16)}`;
};

it('writes nothing before its turn, and nothing at all if its time is over by then', async () => {
  leadsTo('127.0.0.1');
  const there = await receiver(ok);
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const held = { ...turns, beforeWriting: () => gate };
  const late = await send(there.port, { timeoutMs: 500, turns: held });
  expect(late).toMatchObject({ fault: 'TIMEOUT' });
  open();
  expect(await send(there.port)).toMatchObject({ status: 200 });
  expect(there.requests).toHaveLength(1);
});

it('can be given up at the moment in which its connection is secured', async () => {
  leadsTo('127.0.0.1');
  const there = await receiver(ok);
  const busy = { ...turns, beforeWriting: () => Promise.reject(new Error('busy')) };
  for (let each = 0; each < 20; each += 1) await expect(send(there.port, { turns: busy })).rejects.toThrow('busy');
  expect(there.requests).toEqual([]);
});
