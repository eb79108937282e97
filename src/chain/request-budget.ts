/**
 * The requests per second that all processes together may send to one node with its API key. TRON (TronGrid): over the limit a key
 * is suspended for half a minute, so waiting a little is cheaper than asking. Counted in Redis, and by each process
 * for itself while Redis is away.
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import { monotonicMs, sleep, withDeadline } from '../base/clock.js';

export interface BudgetOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** Whose budget it is: where, and with which key. */
  readonly account: string;
  readonly requestsPerSec: number;
  /** The longest a request waits for its place. */
  readonly waitMaxMs: number;
}

/** A Redis that hangs must not hold up a request for longer. */
const REDIS_LIMIT_MS = 250;
const DURATION_SEC = 1;
/** While Redis is away nobody knows how many others ask; each takes this part of the whole. */
const LOCAL_SHARE = 4;

export class RequestBudget {
  private readonly shared: RateLimiterRedis;
  private readonly local: RateLimiterMemory;
  private readonly key: string;
  /** In order of asking: a request never overtakes an older one of the same process. */
  private line: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: BudgetOptions) {
    const { prefix, requestsPerSec, redis } = options;
    const common = { duration: DURATION_SEC, keyPrefix: `${prefix}:chain-budget` };
    this.shared = new RateLimiterRedis({
      ...common,
      points: requestsPerSec,
      storeClient: redis,
      rejectIfRedisNotReady: true,
    });
    this.local = new RateLimiterMemory({ ...common, points: Math.max(1, Math.floor(requestsPerSec / LOCAL_SHARE)) });
    // The key itself must not lie in Redis.
    this.key = createHash('sha256').update(options.account).digest('hex').slice(0, 16);
  }

  /**
   * Resolves when the request may be sent, to false when no place came free in time. An urgent one (a broadcast) is
   * counted and never waits: money hangs on it, and it comes seldom.
   */
  async admit(isUrgent: boolean): Promise<boolean> {
    if (isUrgent) {
      await this.take();
      return true;
    }
    const deadlineMs = monotonicMs() + this.options.waitMaxMs;
    const turn = this.line.then(() => this.waitForPlace(deadlineMs));
    this.line = turn;
    return turn;
  }

  /** Whether half of this second's places are free and nobody waits; then one is taken. Without Redis there are none to spare. */
  async admitSpare(): Promise<boolean> {
    try {
      const seen = await withDeadline(this.shared.get(this.key), REDIS_LIMIT_MS, 'the request budget');
      if (seen !== null && seen.consumedPoints > this.options.requestsPerSec / 2) return false;
      return (await withDeadline(takeFrom(this.shared, this.key), REDIS_LIMIT_MS, 'the request budget')) === 0;
    } catch {
      return false;
    }
  }

  private async waitForPlace(deadlineMs: number): Promise<boolean> {
    for (;;) {
      if (monotonicMs() >= deadlineMs) return false;
      const waitMs = await this.take();
      if (waitMs === 0) return true;
      if (monotonicMs() + waitMs > deadlineMs) return false;
      await sleep(waitMs);
    }
  }

  /** Takes a place; 0, or how many milliseconds until there may be one again. */
  private async take(): Promise<number> {
    try {
      return await withDeadline(takeFrom(this.shared, this.key), REDIS_LIMIT_MS, 'the request budget');
    } catch {
      return takeFrom(this.local, this.key);
    }
  }
}

/** The library rejects with its result when the budget is spent, and with an Error when Redis failed. */
async function takeFrom(limiter: RateLimiterAbstract, key: string): Promise<number> {
  try {
    await limiter.consume(key);
    return 0;
  } catch (thrown) {
    if (thrown instanceof RateLimiterRes) return Math.max(1, thrown.msBeforeNext);
    throw thrown;
  }
}
