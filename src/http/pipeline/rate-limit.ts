/**
 * The budget that quotes and simulations of one project share (docs/interface.md §4): so many in a window of 60 s that
 * starts at the first of them, the same across processes. It is asked only after the signature was found good, so
 * nobody can spend another's budget.
 */
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import { withDeadline } from '../../base/clock.js';
import { Config } from '../../config/config.js';
import { Metrics } from '../../observability/metrics.js';

const WINDOW_SEC = 60;
/** A Redis that hangs must not hold up a quote: after this the local limiter decides. */
const REDIS_LIMIT_MS = 250;

export interface Budget {
  readonly isSpent: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until the window ends; at least 1. */
  readonly resetSec: number;
}

@Injectable()
export class RateLimit {
  private readonly limit: number;
  private readonly shared: RateLimiterRedis;
  /** While Redis is away each process counts for itself: too generous then, but never open. */
  private readonly local: RateLimiterMemory;

  constructor(
    config: Config,
    redis: Redis,
    private readonly metrics: Metrics,
  ) {
    this.limit = config.http.rateLimitPerMinute;
    const options = { points: this.limit, duration: WINDOW_SEC, keyPrefix: `${config.redis.prefix}:rate` };
    this.shared = new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true });
    this.local = new RateLimiterMemory(options);
  }

  /** Takes one from the project's budget, if there is one left. */
  async take(projectId: string): Promise<Budget> {
    try {
      return await this.takeFrom(this.shared, projectId);
    } catch {
      this.metrics.rateLimitFallbacks.inc();
      return this.takeFrom(this.local, projectId);
    }
  }

  private async takeFrom(limiter: RateLimiterAbstract, projectId: string): Promise<Budget> {
    const taken = await withDeadline(refusalAsResult(limiter.consume(projectId)), REDIS_LIMIT_MS, 'the rate limiter');
    return {
      isSpent: taken.consumedPoints > this.limit,
      limit: this.limit,
      remaining: taken.remainingPoints,
      resetSec: Math.max(1, Math.ceil(taken.msBeforeNext / 1000)),
    };
  }
}

/** The library rejects with its result when the budget is spent, and with an Error when Redis failed. */
async function refusalAsResult(consumption: Promise<RateLimiterRes>): Promise<RateLimiterRes> {
  try {
    return await consumption;
  } catch (thrown) {
    if (thrown instanceof RateLimiterRes) return thrown;
    throw thrown;
  }
}
