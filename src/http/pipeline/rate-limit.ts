/**
 * The budgets of one project (docs/interface.md §4): so many requests in a window of 60 s that starts at the first of
 * them, the same across processes. They are asked only after the signature was found good, so nobody can spend
 * another's budget.
 */
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import { withDeadline } from '../../base/clock.js';
import { Config } from '../../config/config.js';
import { Metrics } from '../../observability/metrics.js';
import type { BudgetName } from './route-options.js';

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

interface Limiters {
  readonly shared: RateLimiterRedis;
  /** While Redis is away each process counts for itself: too generous then, but never open. */
  readonly local: RateLimiterMemory;
}

@Injectable()
export class RateLimit {
  private readonly limiters: Readonly<Record<BudgetName, Limiters>>;

  constructor(
    config: Config,
    redis: Redis,
    private readonly metrics: Metrics,
  ) {
    const { rateLimitPerMinute, generalRateLimitPerMinute } = config.http;
    const limiters = (points: number, name: string): Limiters => {
      const options = { points, duration: WINDOW_SEC, keyPrefix: `${config.redis.prefix}:${name}` };
      return {
        shared: new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true }),
        local: new RateLimiterMemory(options),
      };
    };
    this.limiters = {
      quotes: limiters(rateLimitPerMinute, 'rate'),
      general: limiters(generalRateLimitPerMinute, 'rate-general'),
    };
  }

  /** Takes one from a budget of the project, if there is one left. */
  async take(name: BudgetName, projectId: string): Promise<Budget> {
    const { shared, local } = this.limiters[name];
    try {
      return await takeFrom(shared, projectId);
    } catch {
      this.metrics.rateLimitFallbacks.inc();
      return takeFrom(local, projectId);
    }
  }
}

async function takeFrom(limiter: RateLimiterAbstract, projectId: string): Promise<Budget> {
  const taken = await withDeadline(refusalAsResult(limiter.consume(projectId)), REDIS_LIMIT_MS, 'the rate limiter');
  return {
    isSpent: taken.consumedPoints > limiter.points,
    limit: limiter.points,
    remaining: taken.remainingPoints,
    resetSec: Math.max(1, Math.ceil(taken.msBeforeNext / 1000)),
  };
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
