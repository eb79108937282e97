/**
 * The highest database timeline that any process has seen, in Redis. All processes share it outside Postgres, so an old
 * primary cannot contradict it. Losing it loses no order: each process remembers the highest it has seen, and writes
 * that again.
 */
import type { Redis } from 'ioredis';
import { withDeadline } from '../support/clock.js';
import type { Config } from '../config/config.js';
import type { TimelineRecord } from '../database/database-hosts.js';
import { createProducerConnection } from './connections.js';

const CONNECT_LIMIT_MS = 400;

/** Only raises the value. KEYS[1] the hash; ARGV the system's identifier and the timeline. */
const RAISE = `if tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end`;

/** Opens a separate connection at the first use: hosts are chosen before the process has another connection. */
export function timelineRecord(config: Config['redis']): TimelineRecord {
  let redis: Redis | undefined;
  const key = `${config.prefix}:timelines`;
  const connected = async (): Promise<Redis> => {
    redis ??= createProducerConnection(config, 'timelines', () => undefined);
    if (redis.status === 'wait') await withDeadline(redis.connect(), CONNECT_LIMIT_MS, 'connecting to Redis');
    return redis;
  };
  return {
    read: async () => {
      const kept = await (await connected()).hgetall(key);
      return new Map(Object.entries(kept).map(([system, timeline]) => [system, Number(timeline)]));
    },
    raise: async (system, timeline) => {
      await (await connected()).eval(RAISE, 1, key, system, timeline.toString());
    },
    close: () => redis?.disconnect(),
  };
}
