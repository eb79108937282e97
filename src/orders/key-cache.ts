/**
 * What Redis remembers of recent keys: that an order of this key exists, so that a replay reads it at once instead of
 * trying to take it again. Decides nothing: whatever Redis says, forgets or invents, the order is read from Postgres.
 */
import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Batched } from '../base/batch-loader.js';
import { monotonicMs, withDeadline } from '../base/clock.js';
import { Config } from '../config/config.js';

/** Retries come soon; later ones find the order all the same, by one more statement. */
const KEPT_SEC = 600;
const READ_LIMIT_MS = 25;
/** After a slow answer nobody waits for Redis for this long. */
const REST_MS = 1000;
/** Of one turn of the event loop; one command to Redis costs more than the reads themselves. */
const READS = { atOnce: Number.POSITIVE_INFINITY, keys: 100, waitMs: Number.POSITIVE_INFINITY };

@Injectable()
export class KeyCache {
  private restUntilMs = 0;
  private readonly reads: Batched<string>;

  constructor(
    private readonly redis: Redis,
    private readonly config: Config,
  ) {
    this.reads = new Batched(READS, async (names) => {
      const ids = await withDeadline(redis.mget(...names.flat()), READ_LIMIT_MS, 'a cached key');
      return ids.map((id) => id ?? undefined);
    });
  }

  /** Whether Redis thinks an order of this key exists; false within 25 ms when it cannot say. */
  async seen(projectId: string, key: string): Promise<boolean> {
    if (!this.isAsked) return false;
    try {
      return (await this.reads.find(this.nameOf(projectId, key))) !== undefined;
    } catch {
      this.restUntilMs = monotonicMs() + REST_MS;
      return false;
    }
  }

  /** Remembers a committed order; best effort, never waited for. */
  remember(projectId: string, key: string, orderId: bigint): void {
    if (!this.isAsked) return;
    this.redis.set(this.nameOf(projectId, key), orderId.toString(), 'EX', KEPT_SEC).catch(() => {
      this.restUntilMs = monotonicMs() + REST_MS;
    });
  }

  private get isAsked(): boolean {
    return this.redis.status === 'ready' && monotonicMs() >= this.restUntilMs;
  }

  /** Hashed: a key is the caller's secret, and up to 255 characters long. */
  private nameOf(projectId: string, key: string): string {
    return `${this.config.redis.prefix}:key:${hash('sha256', `${projectId}\n${key}`, 'base64url')}`;
  }
}
