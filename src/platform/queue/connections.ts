/**
 * Connections to Redis. A producer fails fast, because no Redis answer is worth a wait; a worker waits. Redis may be
 * empty, wrong or unavailable at any time: nothing relies on it.
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
  // Retries for ever, at most 2 s apart: a process outlives any outage of Redis.
  retryStrategy: (times) => Math.min(times * 100, RETRY_MS_MAX),
};

/** Name in CLIENT LIST, so that an operator can attribute a connection to a process. */
function nameOf(config: RedisConfig, user: string): string {
  return `${config.prefix}:${user}:${process.pid.toString()}`;
}

/**
 * Connection for limits, cached keys and wake-up jobs. A command fails immediately while Redis is unavailable, and
 * after 1 s without an answer. `user` is part of the connection's name.
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
 * Sends all commands of one event loop turn in one system call. The auto-pipelining of ioredis was rejected. With it,
 * custom commands (used by BullMQ and the rate limiter) neither resolve nor reject after a lost connection.
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

/** Connection for a BullMQ worker: its blocking reads wait through an outage, as BullMQ requires. */
export function createWorkerConnection(config: RedisConfig, onFault: (error: Error) => void): Redis {
  const redis = new Redis(config.url, {
    ...SHARED,
    connectionName: nameOf(config, 'jobs'),
    maxRetriesPerRequest: null,
  });
  redis.on('error', onFault);
  return redis;
}
