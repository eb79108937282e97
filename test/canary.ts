// Looks for secrets where none may be: logs, answers, metrics, Redis. A find names the secret's label, never its value.
import { Redis } from 'ioredis';

const VALUES_MAX = 100_000;

export class Canary {
  private readonly secrets = new Map<string, readonly string[]>();

  /** Watches for `secret` and for its base64 and hex forms. */
  watch(label: string, secret: string | Buffer): void {
    const bytes = Buffer.from(secret);
    const forms = [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), bytes.toString('hex')];
    this.secrets.set(label, typeof secret === 'string' ? [secret, ...forms] : forms);
  }

  /** The labels of the secrets that `text` holds. */
  findIn(text: string): string[] {
    return [...this.secrets].filter(([, forms]) => forms.some((form) => text.includes(form))).map(([label]) => label);
  }
}

/** Every key and value of a Redis database, as text. */
export async function textOfRedis(url: string): Promise<string> {
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    commandTimeout: 5000,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    const keys = await redis.keys('*');
    if (keys.length > VALUES_MAX) throw new Error('more keys than a test should leave');
    const values = await Promise.all(keys.map(async (key) => [key, ...(await valuesOf(redis, key))].join('\n')));
    return values.join('\n');
  } finally {
    redis.disconnect();
  }
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
