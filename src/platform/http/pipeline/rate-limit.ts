/**
 * The request budgets of a project (docs/interface.md §4). Each allows a number of requests in a window of 60 s that
 * starts with the first one, shared by all processes. They are charged only after the signature is verified, so that no
 * caller can use up another project's budget.
 */
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Config } from '../../config/config.js';
import { Metrics } from '../../observability/metrics.js';
import type { BudgetName } from './route-options.js';
import { WindowCounts, type Count } from './window-counts.js';

/** Window of a budget, from the first request that counts against it. */
export const BUDGET_WINDOW_SEC = 60;
/** Orders of a live project are never limited. Those of a test project cost it nothing (docs/interface.md §32). */
const TEST_ORDERS_PER_MINUTE = 60;
/** A hanging Redis must not delay a quote: after this the local limiter decides. */
const REDIS_LIMIT_MS = 250;

export interface Budget {
  readonly isSpent: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends; at least 1. */
  readonly resetSec: number;
}

interface Limited {
  readonly points: number;
  readonly keyPrefix: string;
  /** While Redis is unavailable each process counts alone: too generous, but still limited. */
  readonly local: RateLimiterMemory;
}

@Injectable()
export class RateLimit {
  private readonly counts: WindowCounts;
  private readonly limits: Readonly<Record<BudgetName, Limited>>;

  constructor(
    config: Config,
    redis: Redis,
    private readonly metrics: Metrics,
  ) {
    this.counts = new WindowCounts(redis, { windowMs: BUDGET_WINDOW_SEC * 1000, limitMs: REDIS_LIMIT_MS });
    const { rateLimitPerMinute, generalRateLimitPerMinute } = config.http;
    const limited = (points: number, name: string): Limited => {
      const keyPrefix = `${config.redis.prefix}:${name}`;
      return { points, keyPrefix, local: new RateLimiterMemory({ points, duration: BUDGET_WINDOW_SEC, keyPrefix }) };
    };
    this.limits = {
      quotes: limited(rateLimitPerMinute, 'rate'),
      general: limited(generalRateLimitPerMinute, 'rate-general'),
      testOrders: limited(TEST_ORDERS_PER_MINUTE, 'rate-test-orders'),
    };
  }

  /** Takes one request from a budget of the project, if one is left. */
  async take(name: BudgetName, projectId: string): Promise<Budget> {
    const { points, keyPrefix, local } = this.limits[name];
    const { taken, leftMs } = await this.counts.add(`${keyPrefix}:${projectId}`).catch(() => {
      this.metrics.rateLimitFallbacks.inc();
      return countLocally(local, projectId);
    });
    return {
      isSpent: taken > points,
      limit: points,
      remaining: Math.max(0, points - taken),
      resetSec: Math.max(1, Math.ceil(leftMs / 1000)),
    };
  }
}

/** The library rejects with its result if the budget is spent. */
async function countLocally(limiter: RateLimiterMemory, key: string): Promise<Count> {
  const result = await limiter.consume(key).catch((thrown: unknown) => {
    if (thrown instanceof RateLimiterRes) return thrown;
    throw thrown;
  });
  return { taken: result.consumedPoints, leftMs: result.msBeforeNext };
}
