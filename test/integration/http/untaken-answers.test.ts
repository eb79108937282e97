// Callers that read nothing of a large answer: they are disconnected and cost no copy of the answer.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { limited } from '../../../packages/local/src/wait.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { serverOf } from '../../../src/platform/http/pipeline/server.js';
import { send } from '../../support/api/client.js';
import { openApi, type TestApi } from '../../support/api/factory.js';
import { settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const LIMIT_MS = 30_000;
const GET = 'GET /openapi.json HTTP/1.1\r\nHost: api.test\r\n\r\n';
let database: TestDatabase;
let redis: TestRedis;
let api: TestApi;
const open: Socket[] = [];

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  api = await openApi(settings(database.url, { REDIS_URL: redis.url, LOG_LEVEL: 'silent', STREAM_SLOW_SEC: '1' }));
});

afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

afterAll(async () => {
  await api.close();
  await database.drop();
  await redis.close();
});

/** Opens a connection that reads nothing yet. Returns both ends. */
async function join(): Promise<{ readonly near: Socket; readonly far: Socket }> {
  const accepted = once(serverOf(api.app), 'connection') as Promise<[Socket]>;
  const near = connect(Number(new URL(api.baseUrl).port), '127.0.0.1');
  near.on('error', () => undefined);
  near.pause();
  open.push(near);
  const [far] = await accepted;
  return { near, far };
}

test('disconnects a caller that reads no answer, whatever else it sends meanwhile, and answers others', async () => {
  const { near, far } = await join();
  const cut = once(far, 'close');
  // More answers than the kernel's buffers hold.
  near.write(`${GET.repeat(60)}GET /docs HTTP/1.1\r\nX-Drip: `);
  const dripping = new AbortController();
  const drip = (async () => {
    while (!dripping.signal.aborted) {
      near.write('a');
      await sleep(100, dripping.signal);
    }
  })();
  try {
    expect((await send(api.baseUrl, 'GET', '/openapi.json')).status).toBe(200);
    await limited(cut, LIMIT_MS, 'the end of the connection');
  } finally {
    dripping.abort();
    await drip;
  }
});

test('a caller that reads slowly gets the whole answer', async () => {
  const { text } = await send(api.baseUrl, 'GET', '/openapi.json');
  const { near } = await join();
  const count = 40;
  near.write(GET.repeat(count - 1) + GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  const ended = once(near, 'end');
  let bytes = 0;
  near.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    near.pause();
    void sleep(5).then(() => near.resume());
  });
  near.resume();
  await limited(ended, 2 * LIMIT_MS, 'all of the answers');
  expect(bytes).toBeGreaterThan(count * text.length);
});

test.each(['/openapi.json', '/docs', '/docs/interface'])('%s is the same bytes for all callers', async (path) => {
  const bodies: unknown[] = [];
  const note = (_request: IncomingMessage, response: ServerResponse): void => {
    const end = response.end.bind(response);
    response.end = (body: unknown) => {
      bodies.push(body);
      return end(body);
    };
  };
  serverOf(api.app).prependListener('request', note);
  try {
    const [first, second] = [await send(api.baseUrl, 'GET', path), await send(api.baseUrl, 'GET', path)];
    expect(first.headers['content-length']).toBe(Buffer.byteLength(first.text).toString());
    expect(second.text).toBe(first.text);
  } finally {
    serverOf(api.app).off('request', note);
  }
  // Compared as booleans, because both buffers are too long to print.
  const [first, second] = bodies;
  expect({ isBuffer: Buffer.isBuffer(first), isSame: first === second }).toEqual({ isBuffer: true, isSame: true });
});
