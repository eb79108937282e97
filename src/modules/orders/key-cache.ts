/**
 * Caches in Redis that a recent key has an order, so that a replay reads the order directly instead of trying to take
 * it again. Decides nothing: even if Redis is wrong, the order is read from Postgres.
 */
import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { BatchLoader } from '../../platform/support/batch-loader.js';
import { monotonicMs, withDeadline } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';

/** Most retries arrive soon. Later ones also find the order, with one more statement. */
const KEPT_SEC = 600;
const READ_LIMIT_MS = 25;
/** After a slow answer, requests skip Redis for this long. */
const REST_MS = 1000;
/** Batches the reads of one event loop turn: a Redis command costs more than the reads themselves. */
const READS = { concurrent: Number.POSITIVE_INFINITY, size: 100, waitMs: Number.POSITIVE_INFINITY };

@Injectable()
export class KeyCache {
  private restUntilMs = 0;
  private readonly reads: BatchLoader<string>;

  constructor(
    private readonly redis: Redis,
    private readonly config: Config,
  ) {
    this.reads = new BatchLoader(READS, async (names) => {
      const ids = await withDeadline(redis.mget(...names.flat()), READ_LIMIT_MS, 'a cached key');
      return ids.map((id) => id ?? undefined);
    });
  }

  /** Returns true if Redis has an order of this key; false within 25 ms if it cannot say. */
  async hasSeen(projectId: string, key: string): Promise<boolean> {
    if (!this.isAsked) return false;
    try {
      return (await this.reads.load(this.nameOf(projectId, key))) !== undefined;
    } catch {
      this.restUntilMs = monotonicMs() + REST_MS;
      return false;
    }
  }

  /** Caches a committed order. Best effort; the caller does not wait for it. */
  remember(projectId: string, key: string, orderId: bigint): void {
    if (!this.isAsked) return;
    this.redis.set(this.nameOf(projectId, key), orderId.toString(), 'EX', KEPT_SEC).catch(() => {
      this.restUntilMs = monotonicMs() + REST_MS;
    });
  }

  private get isAsked(): boolean {
    return this.redis.status === 'ready' && monotonicMs() >= this.restUntilMs;
  }

  /** Hashed, because a key is the caller's secret and up to 255 characters long. */
  private nameOf(projectId: string, key: string): string {
    return `${this.config.redis.prefix}:key:${hash('sha256', `${projectId}\n${key}`, 'base64url')}`;
  }
}
