// A numbered Redis database for one test file. Several runs may share one server, so each claims its number in database
// 0 first. A database that holds foreign data is never used.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { limited, until } from '../../packages/local/src/wait.js';
import { fromSetup } from './admin.js';
import { keepSaid } from './canary.js';

const DATABASE_MAX = 15;
const CLAIM_SEC = 900;
const LEAK_REST_SEC = 60;
const CLAIM_LIMIT_MS = 30_000;
const COMMAND_LIMIT_MS = 5_000;
const CLOSING_LIMIT_MS = 3_000;
// Marks a database as a test's, so that a killed run's leftovers do not block the number.
const MARKER = 'energy-test:scratch';
const KEYS_MAX = 100_000;

export interface TestRedis {
  /** redis://…/N */
  readonly url: string;
  /** Empties the database. Throws when a client is still connected to it: the code under test leaked the connection. */
  close(): Promise<void>;
}

/** Claims an empty database for the caller alone. Call `close` in afterAll, after closing all connections. */
export async function createTestRedis(): Promise<TestRedis> {
  const base = fromSetup('TEST_REDIS_URL');
  const token = randomBytes(8).toString('hex');
  const claim = async (): Promise<number | undefined> => {
    for (let db = 1; db <= DATABASE_MAX; db += 1) {
      if (await claimed(base, db, token)) return db;
    }
    return undefined;
  };
  const db = await until(claim, CLAIM_LIMIT_MS, 'finding a free Redis database from 1 to 15', 500);
  return {
    url: redisUrl(base, db),
    close: async () => {
      const leaked = await withRedis(redisUrl(base, db), async (redis) => {
        keepSaid('Redis', await textOf(redis));
        const left = await connectionsLeft(redis, db);
        await redis.flushdb();
        return left;
      });
      const isLeaking = leaked.length > 0;
      await withRedis(redisUrl(base, 0), async (redis) => {
        if ((await redis.get(claimKey(db))) !== token) return;
        // Keeps the number claimed for a while, so that a leaked writer cannot disturb another test file.
        await redis.expire(claimKey(db), isLeaking ? LEAK_REST_SEC : 0);
      });
      if (isLeaking) throw new Error(`connections leaked to the test Redis:\n${leaked.join('\n')}`);
    },
  };
}

async function claimed(base: string, db: number, token: string): Promise<boolean> {
  const isFirst = await withRedis(redisUrl(base, 0), (redis) => redis.set(claimKey(db), token, 'EX', CLAIM_SEC, 'NX'));
  if (isFirst === null) return false;
  const isOurs = await withRedis(redisUrl(base, db), async (redis) => {
    if ((await redis.dbsize()) > 0 && (await redis.exists(MARKER)) === 0) return false;
    await redis.flushdb();
    await redis.set(MARKER, token);
    return true;
  });
  if (!isOurs) await withRedis(redisUrl(base, 0), (redis) => redis.del(claimKey(db)));
  return isOurs;
}

async function connectionsLeft(redis: Redis, db: number): Promise<string[]> {
  const own = `id=${await redis.client('ID')} `;
  let left: string[] = [];
  const none = async (): Promise<true | undefined> => {
    const clients = String(await redis.client('LIST')).split('\n');
    left = clients.filter((line) => line.includes(` db=${db} `) && !line.startsWith(own));
    return left.length === 0 ? true : undefined;
  };
  await until(none, CLOSING_LIMIT_MS, 'closing').catch((error: unknown) => {
    if (left.length === 0) throw error;
  });
  return left;
}

function claimKey(db: number): string {
  return `energy-test:claim:${db}`;
}

function redisUrl(base: string, db: number): string {
  const url = new URL(base);
  url.pathname = `/${db}`;
  return url.href;
}

/** Runs `work` on its own connection and waits until that has ended. Every command has a time limit. */
export async function withRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: COMMAND_LIMIT_MS,
    commandTimeout: COMMAND_LIMIT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    if (redis.status !== 'end') {
      const ended = once(redis, 'end');
      redis.disconnect();
      await limited(ended, COMMAND_LIMIT_MS, 'ending a connection to Redis');
    }
  }
}

/** Returns every key and value of a Redis database as text. */
export async function textOfRedis(url: string): Promise<string> {
  return withRedis(url, textOf);
}

async function textOf(redis: Redis): Promise<string> {
  const keys = await redis.keys('*');
  if (keys.length > KEYS_MAX) throw new Error('more keys than a test should leave');
  const values = await Promise.all(keys.map(async (key) => [key, ...(await valuesOf(redis, key))].join('\n')));
  return values.join('\n');
}

async function valuesOf(redis: Redis, key: string): Promise<string[]> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return [(await redis.get(key)) ?? ''];
    case 'hash':
      return Object.entries(await redis.hgetall(key)).flat();
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, 0, -1);
    case 'stream':
      return (await redis.xrange(key, '-', '+')).flatMap(([id, fields]) => [id, ...fields]);
    case 'none':
      return [];
    default:
      throw new Error(`a Redis value of the unknown type ${type}`);
  }
}
