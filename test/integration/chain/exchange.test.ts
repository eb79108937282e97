// Faulty HTTP behaviour of a node: every odd answer is classified, bounded in size and time.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { until } from '../../../packages/local/src/wait.js';
import { NodeError } from '../../../src/platform/chain/errors.js';
import { Connections } from '../../../src/platform/chain/exchange.js';
import { TronNode } from '../../../src/platform/chain/node.js';

/** Connections that the service opens to one port: for reads, and separately for broadcasts. */
const READS = 9;
const BROADCASTS = 3;
const TIMEOUT_MS = 2000;
/** Decompresses to more than the reading limit. */
const LITTLE_OF_MUCH = gzipSync(Buffer.alloc(80 * 1024 * 1024));
const servers: Server[] = [];
let asked: string[] = [];

afterEach(async () => {
  asked = [];
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function nodeThat(answers: RequestListener): Promise<TronNode> {
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    request.resume();
    answers(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return at(urlOf(server));
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
}

function at(url: string): TronNode {
  return new TronNode({
    fullUrl: url,
    solidUrl: url,
    apiKey: 'k',
    readTimeoutMs: TIMEOUT_MS,
    broadcastTimeoutMs: TIMEOUT_MS / 2,
    headStallSec: 10,
    headAgeMaxSec: 0,
  });
}

/** Returns the kind of fault, or the answer. */
async function ask(node: TronNode): Promise<unknown> {
  return node.postFull('wallet/getnowblock', { visible: false }).catch((error: unknown) => {
    if (error instanceof NodeError) return `${error.kind}, ${node.isBackedOff ? 'backed off' : 'still asked'}`;
    throw error;
  });
}

it.each<[string, RequestListener, unknown]>([
  ['a plain answer', (_, response) => response.end('{"a":1}'), { a: 1 }],
  [
    'a letter that comes in two pieces',
    (_, response) => {
      const bytes = Buffer.from('{"a":"é"}');
      response.write(bytes.subarray(0, 7), () => setTimeout(() => response.end(bytes.subarray(7)), 50));
    },
    { a: 'é' },
  ],
  [
    'a zipped answer',
    (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":"é"}')),
    { a: 'é' },
  ],
  [
    'bytes that claim to be zipped',
    (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('{"a":1}'),
    'nonsense, still asked',
  ],
  [
    'a small zip of a huge content',
    (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(LITTLE_OF_MUCH),
    'nonsense, still asked',
  ],
  [
    'an answer without an end',
    (_, response) => {
      const chunk = Buffer.alloc(4 * 1024 * 1024, ' ');
      const more = (): void => {
        if (!response.destroyed) response.write(chunk, () => setImmediate(more));
      };
      more();
    },
    'nonsense, still asked',
  ],
  [
    'an answer that stops in the middle',
    (_, response) => response.writeHead(200).write('{"a":'),
    'timeout, backed off',
  ],
  ['no answer', () => undefined, 'timeout, backed off'],
  ['a connection cut before the answer', (request) => request.socket.destroy(), 'unreachable, backed off'],
  [
    'a connection cut in the middle of one',
    (request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"a":', () => request.socket.destroy());
    },
    'unreachable, backed off',
  ],
  ['a redirect', (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(), 'http, still asked'],
])('%s', async (_, answers, expected) => {
  const node = await nodeThat(answers);
  expect(await ask(node)).toEqual(expected);
  expect(asked).toEqual(['/wallet/getnowblock']);
});

it('fails if nothing listens', async () => {
  const node = at('http://127.0.0.1:1');
  expect(await ask(node)).toBe('unreachable, backed off');
});

it('an idle connection that the node closed is no fault', async () => {
  const node = await nodeThat((_, response) => response.end('{"a":1}'));
  servers[0]!.keepAliveTimeout = 50;
  expect(await ask(node)).toEqual({ a: 1 });
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await ask(node)).toEqual({ a: 1 });
});

it('sends the key, and bodies as JSON', async () => {
  let said: unknown;
  const node = await nodeThat((request, response) => {
    said = [request.method, request.headers['tron-pro-api-key'], request.headers['content-type']];
    response.end('{}');
  });
  await ask(node);
  expect(said).toEqual(['POST', 'k', 'application/json']);
});

/** Returns the kind of fault. */
const broadcast = async (node: TronNode): Promise<unknown> =>
  node.broadcastHex('00').catch((error: unknown) => (error instanceof NodeError ? error.kind : error));

it.each([
  ['reads', READS, async (node: TronNode) => ask(node), 'timeout, backed off'],
  ['broadcasts', BROADCASTS, broadcast, 'timeout'],
] as const)('more %s than connections all end in a time-out of the node', async (_, most, send, fault) => {
  const node = await nodeThat(() => undefined);
  const faults = await Promise.all(Array.from({ length: most + 5 }, async () => send(node)));
  expect(new Set(faults)).toEqual(new Set([fault]));
});

it.each([
  ['read', READS, false],
  ['broadcast', BROADCASTS, true],
] as const)(
  'a %s that times out while it waits for a connection is never sent, even if one is free again',
  async (_, most, isBroadcast) => {
    await nodeThat(() => undefined);
    const connections = new Connections(READS + BROADCASTS);
    const post = async (path: string, timeoutMs: number): Promise<unknown> =>
      connections
        .post({ url: `${urlOf(servers[0]!)}/${path}`, headers: {}, body: '{}', timeoutMs, bytesMax: 1000 }, isBroadcast)
        .catch((error: unknown) => (error as Error).name);
    const holding = Array.from({ length: most }, async () => post('holds', 60 * TIMEOUT_MS));
    await until(
      () => Promise.resolve(asked.length === most ? true : undefined),
      10 * TIMEOUT_MS,
      'held connections',
      10,
    );
    const waiting = Array.from({ length: 5 }, async () => post('waits', TIMEOUT_MS / 10));
    expect(await Promise.all(waiting)).toEqual(Array(5).fill('NotSentError'));
    // The requests that hold the connections fail here, which frees the connections.
    servers[0]!.closeAllConnections();
    await Promise.all(holding);
    // A request past its deadline would be sent before this one.
    expect(await post('afterwards', TIMEOUT_MS / 2)).toBe('DeadlineError');
    expect(asked).toEqual([...Array<string>(most).fill('/holds'), '/afterwards']);
  },
);
