/**
 * Limits the requests that all processes together send to one node with its API key. No interval of a second contains
 * more than the limit. TRON (TronGrid): over the limit a key is suspended for half a minute, so waiting briefly is
 * cheaper. Counted in Redis, or by each process for itself while Redis is unavailable.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { monotonicMs, sleep, withDeadline } from '../support/clock.js';
import { LearnedLimit } from './learned-limit.js';

export interface BudgetOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** The account of the budget: host and API key. */
  readonly account: string;
  /** 0: unlimited until a node throttles; then a limit is learned. */
  readonly requestsPerSec: number;
  /** The longest wait of a request for its place. */
  readonly waitMaxMs: number;
}

/** The purpose of a request. Broadcasts have priority over heads, and both over everything else. */
export type Urgency = 'broadcast' | 'head' | 'other';

/** Bounds the delay of a request by a hanging Redis. */
const REDIS_LIMIT_MS = 250;
/** A second, plus the possible delay between taking a place and arriving at the node. */
const WINDOW_MS = 1250;
/** While Redis is unavailable, the load of other processes is unknown: each process uses one part in this many. */
const LOCAL_SHARE = 4;
/** Requests for API callers use at most one part in this many, so that heads and deliveries keep the rest. */
const CALLERS_SHARE = 2;
/** Shares reserved for broadcasts and heads together, and for broadcasts alone. */
const URGENT_SHARE = 0.3;
const BROADCAST_SHARE = 0.1;
const POLL_MS_MAX = 200;

/**
 * KEYS[1]: times of the newest requests. ARGV: limit of this kind, limit of all kinds, window in µs. Returns 0 and
 * takes a place, or returns the µs until one may be free. Uses Redis's own clock.
 */
const TAKE = `if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[3])
local oldest = redis.call('LINDEX', KEYS[1], limit - 1)
if oldest then
  local age = now - tonumber(oldest)
  if age >= 0 and age < window then return window - age end
end
redis.call('LPUSH', KEYS[1], string.format('%.0f', now))
redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[2]) - 1)
redis.call('PEXPIRE', KEYS[1], 10000)
return 0`;

export class RequestBudget {
  private readonly key: string;
  /** FIFO queues: a request never overtakes an older one of the same kind and process. */
  private readonly lines = new Map<Urgency | 'caller', Promise<unknown>>();
  private readonly local = new LocalPlaces();
  private readonly localCallers = new LocalPlaces();
  /** Requests that this process sent recently, for learning a limit. */
  private readonly sent = new LocalPlaces();
  private readonly learned: LearnedLimit;

  constructor(private readonly options: BudgetOptions) {
    // Hashed, because the API key must not be stored in Redis.
    this.key = createHash('sha256').update(options.account).digest('hex').slice(0, 16);
    const { prefix, redis } = options;
    this.learned = new LearnedLimit({
      redis,
      keys: [`${prefix}:chain-learned:${this.key}`, `${prefix}:chain-rates:${this.key}`],
      process: randomUUID(),
      sent: (ms) => this.sent.count(ms),
    });
  }

  /** The current limit, set or learned; 0 without one. */
  get requestsPerSec(): number {
    const { requestsPerSec } = this.options;
    return requestsPerSec > 0 ? requestsPerSec : this.learned.perSec;
  }

  /** Resolves to true when the request may be sent, and to false when no place came free in time. */
  async admit(urgency: Urgency | boolean): Promise<boolean> {
    if (this.isUnlimited()) return true;
    const kind = typeof urgency === 'string' ? urgency : urgency ? 'broadcast' : 'other';
    return this.runInLine(kind, () => this.waitForPlace(kind, this.deadlineMs()));
  }

  /**
   * Does the same as `admit` for requests on behalf of API callers. They wait in a separate queue, so that busy callers
   * cannot crowd out other work.
   */
  async admitCaller(): Promise<boolean> {
    if (this.isUnlimited()) return true;
    const deadlineMs = this.deadlineMs();
    if (!(await this.runInLine('caller', () => this.waitForPlace('caller', deadlineMs)))) return false;
    return this.runInLine('other', () => this.waitForPlace('other', deadlineMs));
  }

  /** Takes a place if half of them are free. Without Redis there are none to spare. */
  async admitSpare(): Promise<boolean> {
    if (this.isUnlimited()) return true;
    try {
      return (await this.takeShared('all', Math.max(1, Math.floor(this.requestsPerSec / 2)))) === 0;
    } catch {
      return false;
    }
  }

  /** Learns a limit from a throttled answer, unless one is set. Returns the new limit; undefined if it is unchanged. */
  learn(): number | undefined {
    return this.options.requestsPerSec > 0 ? undefined : this.learned.learn();
  }

  private deadlineMs(): number {
    return monotonicMs() + this.options.waitMaxMs;
  }

  /** Returns true while there is no limit; the request is only counted then. */
  private isUnlimited(): boolean {
    if (this.options.requestsPerSec === 0) this.learned.share();
    return this.requestsPerSec === 0 && this.sent.note();
  }

  private runInLine(line: Urgency | 'caller', work: () => Promise<boolean>): Promise<boolean> {
    const result = (this.lines.get(line) ?? Promise.resolve()).then(work);
    this.lines.set(line, result);
    return result;
  }

  private async waitForPlace(kind: Urgency | 'caller', deadlineMs: number): Promise<boolean> {
    for (let isFirst = true; ; isFirst = false) {
      // A request that misses its deadline is not sent. A broadcast always gets a first attempt.
      if (monotonicMs() >= deadlineMs && !(isFirst && kind === 'broadcast')) return false;
      const waitMs = await this.take(kind);
      if (waitMs === 0) return true;
      if (monotonicMs() + waitMs > deadlineMs) return false;
      // Polls soon: a more urgent request may take the place, and the limit may change.
      await sleep(Math.min(waitMs, POLL_MS_MAX));
    }
  }

  /** Takes a place. Returns 0, or the milliseconds until one may be free. */
  private async take(kind: Urgency | 'caller'): Promise<number> {
    // A learned limit may have ended meanwhile.
    if (this.requestsPerSec === 0) return 0;
    const own = shareOf(kind, this.requestsPerSec);
    try {
      return await this.takeShared(kind === 'caller' ? 'callers' : 'all', own);
    } catch {
      const places = kind === 'caller' ? this.localCallers : this.local;
      const part = kind === 'caller' ? own / LOCAL_SHARE : this.requestsPerSec / LOCAL_SHARE;
      return places.take(Math.max(1, Math.floor(part)));
    }
  }

  private async takeShared(list: 'all' | 'callers', limit: number): Promise<number> {
    const { redis, prefix } = this.options;
    if (redis.status !== 'ready') throw new Error('Redis is away');
    const key = `${prefix}:chain-places-${list}:${this.key}`;
    const taken = redis.eval(TAKE, 1, key, limit, Math.max(limit, this.requestsPerSec), WINDOW_MS * 1000);
    const waitUs = await withDeadline(taken, REDIS_LIMIT_MS, 'the request budget');
    return Math.ceil(Number(waitUs) / 1000);
  }
}

/** Returns the share of a kind, which leaves places for more urgent kinds. A limit of 1 is shared by all kinds. */
function shareOf(kind: Urgency | 'caller', limit: number): number {
  if (kind === 'broadcast' || limit === 1) return limit;
  const forBroadcasts = Math.floor(limit * BROADCAST_SHARE);
  if (kind === 'head') return limit - forBroadcasts;
  if (kind === 'caller') return Math.max(1, Math.floor(limit / CALLERS_SHARE));
  return limit - Math.max(1, Math.ceil(limit * URGENT_SHARE));
}

/** Times of this process's own newest requests. */
class LocalPlaces {
  private times: number[] = [];

  /** Records a request. Always returns true. */
  note(): boolean {
    this.times.push(monotonicMs());
    // Trims in large steps to keep recording cheap.
    if (this.times.length > 4096) this.times = this.times.slice(-2048);
    return true;
  }

  /** Returns the number of requests in the last `ms`. */
  count(ms: number): number {
    const since = monotonicMs() - ms;
    return this.times.filter((time) => time > since).length;
  }

  /** Takes one of `limit` places. Returns 0, or the milliseconds until one is free. */
  take(limit: number): number {
    const since = monotonicMs() - WINDOW_MS;
    this.times = this.times.filter((time) => time > since);
    if (this.times.length < limit) {
      this.note();
      return 0;
    }
    return Math.max(1, Math.ceil((this.times[this.times.length - limit] ?? since) - since));
  }
}
