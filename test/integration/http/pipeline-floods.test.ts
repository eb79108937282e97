// The cost of a flood in log lines and connections: bounded, counted in total, and without effect on other callers.
import { connect, type Socket } from 'node:net';
import { until } from '../../../packages/local/src/wait.js';
import { send, sendFrame } from '../../support/api/client.js';
import { openPipeline, type PipelineApp } from '../../support/api/pipeline-fixture.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

let testDatabase: TestDatabase;
let testRedis: TestRedis;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  testRedis = await createTestRedis();
});

afterAll(async () => {
  await testRedis.close();
  await testDatabase.drop();
});

describe('a flood', () => {
  test('of bad requests is logged in part and counted as a whole, and leaves other lines alone', async () => {
    const bounded = await openPipeline(testDatabase.url, { REDIS_URL: testRedis.url, LOG_REFUSALS_PER_SEC: '1' });
    const lines = () => bounded.logged().split('\n');
    try {
      const good = await bounded.customer('good');
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(Array.from({ length: 100 }, () => send(bounded.baseUrl, 'GET', '/v1/none')));
        expect((await good.get('/v1/things')).status).toBe(200);
      }
      await bounded.stop();
      const refused = lines().filter((line) => line.includes('NOT_FOUND') && line.includes('"msg":"request"'));
      const summaries = lines().flatMap((line) =>
        line.includes('further refused requests') ? (JSON.parse(line) as { count: number }) : [],
      );
      expect(refused.length).toBeLessThan(250);
      expect(refused.length + summaries.reduce((sum, { count }) => sum + count, 0)).toBe(500);
      expect(lines().filter((line) => line.includes('"status":200'))).toHaveLength(5);
    } finally {
      await bounded.close();
    }
  });

  test('of refusals of every kind, before and after a route is found, is logged in part and counted as a whole', async () => {
    const bounded = await openPipeline(testDatabase.url, { REDIS_URL: testRedis.url, LOG_REFUSALS_PER_SEC: '1' });
    const { port } = new URL(bounded.baseUrl);
    const raw = async (frame: string) => sendFrame(bounded.baseUrl, frame);
    try {
      const good = await bounded.customer('good');
      const headers = { 'Content-Type': 'application/json', ...good.authHeaders('{') };
      const kinds: Readonly<Record<string, () => Promise<unknown>>> = {
        'an unknown path': () => send(bounded.baseUrl, 'GET', '/v1/none'),
        'another method': () => send(bounded.baseUrl, 'DELETE', '/v1/things'),
        'no auth headers': () => send(bounded.baseUrl, 'GET', '/v1/things'),
        'a wrong signature': () => good.withKey('wrong').get('/v1/things'),
        'bad JSON': () => send(bounded.baseUrl, 'POST', '/v1/echo', headers, '{'),
        'too large a body': () => send(bounded.baseUrl, 'POST', '/v1/buy', headers, 'x'.repeat(20_000)),
        'a frame that is no HTTP': () => raw('nonsense\r\n\r\n'),
        'an odd length': () => raw('POST /v1/buy HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n'),
        'headers too large': () => raw(`GET /v1/things HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(9000)}\r\n\r\n`),
        'a tunnel': () => raw(`CONNECT x:${port} HTTP/1.1\r\nHost: x\r\n\r\n`),
      };
      const ROUNDS = 15;
      for (let round = 0; round < ROUNDS; round += 1) await Promise.all(Object.values(kinds).map((ask) => ask()));
      await bounded.stop();
      const lines = bounded
        .logged()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { msg: string; code?: string; codes?: Record<string, number> });
      const counts = new Map<string, number>();
      const count = (code: string, more: number) => counts.set(code, (counts.get(code) ?? 0) + more);
      const refused = lines.filter(({ msg, code }) => msg === 'request' && code !== undefined);
      for (const { code } of refused) count(code!, 1);
      for (const { codes } of lines) for (const [code, more] of Object.entries(codes ?? {})) count(code, more);
      expect(Object.fromEntries(counts)).toEqual({
        NOT_FOUND: 2 * ROUNDS,
        METHOD_NOT_ALLOWED: ROUNDS,
        BAD_AUTH_HEADERS: ROUNDS,
        INVALID_SIGNATURE: ROUNDS,
        INVALID_REQUEST: 3 * ROUNDS,
        PAYLOAD_TOO_LARGE: ROUNDS,
        HEADERS_TOO_LARGE: ROUNDS,
      });
      expect(refused.length).toBeLessThan((ROUNDS * Object.keys(kinds).length) / 2);
    } finally {
      await bounded.close();
    }
  });

  test('of connections from one address leaves room for others, and a trusted proxy has no limit', async () => {
    const limits = { REDIS_URL: testRedis.url, MAX_CONNECTIONS: '8', MAX_CONNECTIONS_PER_ADDRESS: '5' };
    const [direct, proxied] = await Promise.all([
      openPipeline(testDatabase.url, limits),
      openPipeline(testDatabase.url, { ...limits, TRUSTED_PROXIES: '127.0.0.3' }),
    ]);
    const sockets: Socket[] = [];
    /** Opens connections from `localAddress`. `gone` counts those that were closed so far. */
    const open = (pipeline: PipelineApp, localAddress: string, count: number) => {
      const { hostname, port } = new URL(pipeline.baseUrl);
      const state = { gone: 0 };
      for (let index = 0; index < count; index += 1) {
        const socket = connect({ port: Number(port), host: hostname, localAddress });
        sockets.push(socket);
        socket.on('error', () => undefined).on('close', () => (state.gone += 1));
      }
      return state;
    };
    const dropped = async (pipeline: PipelineApp) => {
      const text = await pipeline.metrics();
      const count = (limit: string) =>
        Number(new RegExp(`http_connections_dropped_total\\{limit="${limit}"\\} (\\d+)`).exec(text)?.[1]);
      return { all: count('all'), address: count('address') };
    };
    try {
      const greedy = open(direct, '127.0.0.2', 12);
      await until(() => (greedy.gone === 7 ? true : undefined), 10_000, 'seven being turned away', 5);
      expect(await dropped(direct)).toEqual({ all: 0, address: 7 });
      expect(direct.logged()).toContain('"limitOf":"address"');
      expect(direct.logged()).toContain('127.0.0.2');
      // The remaining connections serve another caller.
      expect((await send(direct.baseUrl, 'GET', '/v1/none')).status).toBe(404);
      const proxy = open(proxied, '127.0.0.3', 12);
      await until(() => (proxy.gone === 4 ? true : undefined), 10_000, 'four being turned away', 5);
      expect(await dropped(proxied)).toEqual({ all: 4, address: 0 });
    } finally {
      for (const socket of sockets) socket.destroy();
      await Promise.all([direct.close(), proxied.close()]);
    }
  });

  test('of connections of an address ends when these are closed', async () => {
    const small = await openPipeline(testDatabase.url, { REDIS_URL: testRedis.url, MAX_CONNECTIONS_PER_ADDRESS: '1' });
    try {
      const frame = 'GET /v1/none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
      for (let round = 0; round < 3; round += 1) expect(await sendFrame(small.baseUrl, frame)).toContain('NOT_FOUND');
    } finally {
      await small.close();
    }
  });

  test('of connections beyond the limit is rejected, logged and counted', async () => {
    const limits = { MAX_CONNECTIONS: '3', MAX_CONNECTIONS_PER_ADDRESS: '3' };
    const small = await openPipeline(testDatabase.url, { REDIS_URL: testRedis.url, ...limits });
    const sockets: Socket[] = [];
    try {
      const { hostname, port } = new URL(small.baseUrl);
      const ended = Array.from({ length: 8 }, () => {
        const socket = connect(Number(port), hostname);
        sockets.push(socket);
        return new Promise<void>((resolve) => {
          socket.on('error', () => undefined).on('close', () => resolve());
        });
      });
      let count = 0;
      for (const each of ended) void each.then(() => (count += 1));
      await until(() => (count >= 5 ? true : undefined), 10_000, 'five being turned away', 5);
      expect(small.logged()).toContain('connections refused');
      expect(await small.metrics()).toContain('http_connections_dropped_total{limit="all"} 5');
    } finally {
      for (const socket of sockets) socket.destroy();
      await small.close();
    }
  });
});
