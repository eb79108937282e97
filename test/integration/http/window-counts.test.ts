// Counters shared by all processes: increments within one turn of the event loop travel in one command.
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { WindowCounts } from '../../../src/platform/http/pipeline/window-counts.js';
import { until } from '../../../packages/local/src/wait.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const WINDOW_MS = 60_000;

let testRedis: TestRedis;
let redis: Redis;

beforeAll(async () => {
  testRedis = await createTestRedis();
  redis = new Redis(testRedis.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: true });
  await redis.connect();
});

afterAll(async () => {
  redis.disconnect();
  await testRedis.close();
});

const counts = () => new WindowCounts(redis, { windowMs: WINDOW_MS, limitMs: 5000 });

test('each gets a separate count of its key alone, in the order of the requests and in one command', async () => {
  const here = counts();
  await here.add('warm');
  const sent = jest.spyOn(redis, 'sendCommand');
  const keys = Array.from({ length: 60 }, (_, index) => `key ${(index % 3).toString()}`);
  const got = await Promise.all(keys.map((key) => here.add(key)));
  const taken = (key: string) => got.filter((_, index) => keys[index] === key).map((each) => each.taken);
  for (const key of ['key 0', 'key 1', 'key 2'])
    expect(taken(key)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  expect(sent).toHaveBeenCalledTimes(1);
  expect((await here.add('key 1')).taken).toBe(21);
});

test('two processes count together', async () => {
  const [one, other] = [counts(), counts()];
  const both = await Promise.all([one, other].flatMap((each) => [1, 2, 3].map(() => each.add('shared'))));
  expect(both.map(({ taken }) => taken).sort()).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a window begins with the first request, and later ones do not prolong it', async () => {
  const here = counts();
  const first = await here.add('window');
  expect(first).toEqual({ taken: 1, leftMs: WINDOW_MS });
  await redis.pexpire('window', 500);
  const second = await here.add('window');
  expect(second.taken).toBe(2);
  expect(second.leftMs).toBeLessThanOrEqual(500);
  await until(async () => ((await redis.exists('window')) === 0 ? true : undefined), 5000, 'the end of the window', 20);
  expect(await here.add('window')).toEqual({ taken: 1, leftMs: WINDOW_MS });
});

test('a count without an end gets one', async () => {
  await redis.set('endless', 5);
  expect(await counts().add('endless')).toEqual({ taken: 6, leftMs: WINDOW_MS });
});

test('refuses all waiters while Redis is away, and counts again once it is back', async () => {
  const here = counts();
  redis.disconnect();
  await once(redis, 'end');
  const got = await Promise.allSettled([here.add('away'), here.add('away')]);
  expect(got.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await redis.connect();
  expect((await here.add('away')).taken).toBe(1);
});
