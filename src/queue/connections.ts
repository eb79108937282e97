/**
 * How a process reaches Redis. A producer fails fast, because nothing it asks of Redis is worth waiting for; a worker
 * is patient. Redis may be empty, lying or gone at any time: nothing decides by it.
 */
import type { Socket } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import type { Config } from '../config/config.js';

type RedisConfig = Config['redis'];

const CONNECT_TIMEOUT_MS = 2000;
const COMMAND_TIMEOUT_MS = 1000;
const RETRY_MS_MAX = 2000;

const SHARED: RedisOptions = {
  lazyConnect: true,
  connectTimeout: CONNECT_TIMEOUT_MS,
  keepAlive: 10_000,
  // For ever, at most 2 s apart: a process outlives any outage of Redis.
  retryStrategy: (times) => Math.min(times * 100, RETRY_MS_MAX),
};

/** What CLIENT LIST shows, so that an operator sees which process a connection belongs to. */
function nameOf(config: RedisConfig, user: string): string {
  return `${config.prefix}:${user}:${process.pid.toString()}`;
}

/**
 * For limits, cached keys and wake-up jobs: a command is refused at once while Redis is away, and after 1 s when it hangs.
 * `user` is what the connection is named by.
 */
export function createProducerConnection(config: RedisConfig, user: string, onFault: (error: Error) => void): Redis {
  const redis = new Redis(config.url, {
    ...SHARED,
    connectionName: nameOf(config, user),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
  });
  redis.on('error', onFault);
  redis.on('connect', () => writeTogether(redis));
  return redis;
}

/**
 * Lets all commands of one turn of the event loop leave in one system call. Our choice: not ioredis's auto-pipelining,
 * whose custom commands (BullMQ's and the rate limiter's are such) neither resolve nor reject when the connection goes.
 */
function writeTogether(redis: Redis): void {
  const { stream } = redis as unknown as { readonly stream: Socket };
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let isCorked = false;
  stream.write = (...args: unknown[]) => {
    if (!isCorked) {
      isCorked = true;
      stream.cork();
      setImmediate(() => {
        isCorked = false;
        stream.uncork();
      });
    }
    return write(...args);
  };
}

/** For a BullMQ worker: its blocking reads wait through an outage, as BullMQ demands. */
export function createWorkerConnection(config: RedisConfig, onFault: (error: Error) => void): Redis {
  const redis = new Redis(config.url, {
    ...SHARED,
    connectionName: nameOf(config, 'jobs'),
    maxRetriesPerRequest: null,
  });
  redis.on('error', onFault);
  return redis;
}
