// The service's requirements on Redis, tested with each supported kind.
import { Queue, QueueEvents, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { startRedis } from '../../../packages/local/src/redis.js';
import { limited, until } from '../../../packages/local/src/wait.js';
import { createTestRedis } from '../../setup/redis.js';

interface Server {
  readonly url: string;
  end(): Promise<void>;
}

const servers: Record<string, () => Promise<Server>> = {
  'the JavaScript server': async () => {
    const redis = await startRedis({ redisUrl: 'embedded' });
    return { url: redis.url, end: () => redis.stop() };
  },
  'the Redis of this run': async () => {
    const redis = await createTestRedis();
    return { url: redis.url, end: () => redis.close() };
  },
};

describe.each(Object.keys(servers))('%s', (name) => {
  let server: Server;
  let redis: Redis;
  beforeAll(async () => {
    server = await servers[name]!();
    redis = new Redis(server.url, { maxRetriesPerRequest: 1 });
  });
  afterAll(async () => {
    redis.disconnect();
    await server.end();
  });

  test('a key set with NX is set once, and with PX it expires', async () => {
    expect(await redis.set('once', 'a', 'PX', 60_000, 'NX')).toBe('OK');
    expect(await redis.set('once', 'b', 'PX', 60_000, 'NX')).toBeNull();
    expect(await redis.get('once')).toBe('a');
    expect(await redis.pttl('once')).toBeGreaterThan(0);
  });

  test('a script reads and writes in one step', async () => {
    const script = `local n = redis.call('INCRBY', KEYS[1], ARGV[1]) return {n, KEYS[1]}`;
    expect(await redis.eval(script, 1, 'counter', '5')).toEqual([5, 'counter']);
    expect(await redis.eval(script, 1, 'counter', '5')).toEqual([10, 'counter']);
  });

  test('a rate limiter admits as many as configured', async () => {
    const limiter = new RateLimiterRedis({ storeClient: redis, points: 3, duration: 60, keyPrefix: 'limit' });
    const answers = await Promise.allSettled([1, 2, 3, 4, 5].map(() => limiter.consume('caller')));
    expect(answers.filter((answer) => answer.status === 'fulfilled')).toHaveLength(3);
  });

  test.each(['nothing', 'another command'])(
    'a client that is gone receives nothing that it was waiting for, with %s sent after it',
    async (behind) => {
      const ghost = new Redis(server.url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
      const id = await ghost.client('ID');
      const sent: Promise<unknown>[] = [ghost.bzpopmin('marker', 30)];
      // Ensures that each command is sent before the next one and before the disconnect.
      await redis.ping();
      if (behind !== 'nothing') sent.push(ghost.ping());
      await redis.ping();
      ghost.disconnect();
      await Promise.allSettled(sent);
      const left = async (): Promise<true | undefined> =>
        String(await redis.client('LIST')).includes(`id=${id} `) ? undefined : true;
      await until(left, 5_000, 'the ghost leaving');
      await redis.zadd('marker', 0, 'job');
      expect(await redis.bzpopmin('marker', 5)).toEqual(['marker', 'job', '0']);
    },
  );

  test('each of 200 jobs is processed once, a delayed, a failing and a repeated id among them', async () => {
    const connection = { url: server.url, maxRetriesPerRequest: null };
    const queue = new Queue('jobs', { connection, streams: { events: { maxLen: 100 } } });
    const runs = new Map<string, number>();
    let finish: () => void = () => undefined;
    const all = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const worker = new Worker(
      'jobs',
      (job) => {
        runs.set(job.id!, (runs.get(job.id!) ?? 0) + 1);
        if (job.name === 'failing' && job.attemptsMade === 0) throw new Error('once');
        return Promise.resolve();
      },
      { connection, concurrency: 8 },
    );
    worker.on('completed', () => {
      if (runs.size === 202 && runs.get('f-0') === 2) finish();
    });
    const jobs = Array.from({ length: 200 }, (_, n) => ({ name: 'plain', data: { n }, opts: { jobId: `n-${n}` } }));
    await queue.add('delayed', {}, { jobId: 'd-0', delay: 300 });
    await queue.add('failing', {}, { jobId: 'f-0', attempts: 2, backoff: { type: 'fixed', delay: 100 } });
    await queue.addBulk(jobs);
    await queue.add('plain', {}, { jobId: 'n-7' });
    await limited(all, 30_000, 'the jobs');
    expect([...runs.values()].filter((count) => count === 1)).toHaveLength(201);
    await worker.close();
    await queue.close();
  });

  test('a delayed job never runs early, and the end of a job can be awaited', async () => {
    const connection = { url: server.url, maxRetriesPerRequest: null };
    const queue = new Queue('late', { connection, streams: { events: { maxLen: 100 } } });
    const events = new QueueEvents('late', { connection });
    await events.waitUntilReady();
    const worker = new Worker('late', () => Promise.resolve(Date.now()), { connection });
    const before = Date.now();
    const job = await queue.add('late', {}, { delay: 400 });
    const ranAt = (await limited(job.waitUntilFinished(events), 20_000, 'the delayed job')) as number;
    expect(ranAt).toBeGreaterThanOrEqual(before + 400);
    await worker.close();
    await events.close();
    await queue.close();
  });
});

describe('the choice of a server', () => {
  test('a URL where nothing answers is an error that hides the password', async () => {
    const starting = startRedis({ redisUrl: 'redis://:very-secret@127.0.0.1:1' });
    await expect(starting).rejects.toThrow(/REDIS_URL/);
    await expect(starting).rejects.not.toThrow(/very-secret/);
  });

  test('a value that is not a URL is an error', async () => {
    await expect(startRedis({ redisUrl: 'localhost:6379' })).rejects.toThrow(/neither "embedded" nor/);
  });

  test('a given server is used and left running', async () => {
    const own = await startRedis({ redisUrl: 'embedded' });
    const given = await startRedis({ redisUrl: own.url });
    expect(given).toMatchObject({ kind: 'given', url: own.url, pid: undefined });
    await given.stop();
    const redis = new Redis(own.url, { lazyConnect: true, maxRetriesPerRequest: 0 });
    expect(await redis.ping()).toBe('PONG');
    redis.disconnect();
    await own.stop();
  });

  test('a server comes back on the same port', async () => {
    const first = await startRedis({ redisUrl: 'embedded' });
    first.signal('SIGKILL');
    await first.stop();
    const second = await startRedis({ redisUrl: 'embedded', port: Number(new URL(first.url).port) });
    expect(second.url).toBe(first.url);
    await second.stop();
  });
});
