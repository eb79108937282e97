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
/** What callers of the API ask for takes this part of the whole at most, so that heads and deliveries have theirs. */
const CALLERS_SHARE = 2;

/** Places for each second, shared by all processes, or by this one alone while Redis is away. */
interface Places {
  readonly shared: RateLimiterRedis;
  readonly local: RateLimiterMemory;
}

export class RequestBudget {
  private readonly all: Places;
  private readonly callers: Places;
  private readonly key: string;
  /** In order of asking: a request never overtakes an older one of the same process. */
  private line: Promise<unknown> = Promise.resolve();
  private callersLine: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: BudgetOptions) {
    this.all = placesOf(options, 'chain-budget', options.requestsPerSec);
    const callersPerSec = Math.max(1, Math.floor(options.requestsPerSec / CALLERS_SHARE));
    this.callers = placesOf(options, 'chain-budget-callers', callersPerSec);
    // The key itself must not lie in Redis.
    this.key = createHash('sha256').update(options.account).digest('hex').slice(0, 16);
  }

  /**
   * Resolves when the request may be sent, to false when no place came free in time. An urgent one (a broadcast) is
   * counted and never waits: money hangs on it, and it comes seldom.
   */
  async admit(isUrgent: boolean): Promise<boolean> {
    if (isUrgent) {
      await this.take(this.all);
      return true;
    }
    return this.admitUntil(monotonicMs() + this.options.waitMaxMs);
  }

  /** As `admit`, for what callers of the API have looked up: they wait in a line of their own, whoever asks most. */
  async admitCaller(): Promise<boolean> {
    const deadlineMs = monotonicMs() + this.options.waitMaxMs;
    const turn = this.callersLine.then(() => this.waitForPlace(this.callers, deadlineMs));
    this.callersLine = turn;
    return (await turn) && this.admitUntil(deadlineMs);
  }

  /** Whether half of this second's places are free and nobody waits; then one is taken. Without Redis there are none to spare. */
  async admitSpare(): Promise<boolean> {
    try {
      const { shared } = this.all;
      const seen = await withDeadline(shared.get(this.key), REDIS_LIMIT_MS, 'the request budget');
      if (seen !== null && seen.consumedPoints > this.options.requestsPerSec / 2) return false;
      return (await withDeadline(takeFrom(shared, this.key), REDIS_LIMIT_MS, 'the request budget')) === 0;
    } catch {
      return false;
    }
  }

  private admitUntil(deadlineMs: number): Promise<boolean> {
    const turn = this.line.then(() => this.waitForPlace(this.all, deadlineMs));
    this.line = turn;
    return turn;
  }

  private async waitForPlace(places: Places, deadlineMs: number): Promise<boolean> {
    for (;;) {
      if (monotonicMs() >= deadlineMs) return false;
      const waitMs = await this.take(places);
      if (waitMs === 0) return true;
      if (monotonicMs() + waitMs > deadlineMs) return false;
      await sleep(waitMs);
    }
  }

  /** Takes a place; 0, or how many milliseconds until there may be one again. */
  private async take({ shared, local }: Places): Promise<number> {
    try {
      return await withDeadline(takeFrom(shared, this.key), REDIS_LIMIT_MS, 'the request budget');
    } catch {
      return takeFrom(local, this.key);
    }
  }
}

function placesOf({ redis, prefix }: BudgetOptions, name: string, perSec: number): Places {
  const common = { duration: DURATION_SEC, keyPrefix: `${prefix}:${name}` };
  return {
    shared: new RateLimiterRedis({ ...common, points: perSec, storeClient: redis, rejectIfRedisNotReady: true }),
    local: new RateLimiterMemory({ ...common, points: Math.max(1, Math.floor(perSec / LOCAL_SHARE)) }),
  };
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
