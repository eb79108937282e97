/**
 * Limits the requests that all processes together send to one node with its API key. No second, wherever it begins, has
 * more of them than the limit. TRON (TronGrid): over the limit a key is suspended for half a minute, so waiting a little
 * is cheaper than asking. Counted in Redis, and by each process for itself while Redis is away.
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { monotonicMs, sleep, withDeadline } from '../base/clock.js';

export interface BudgetOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** Whose budget it is: where, and with which key. */
  readonly account: string;
  /** 0: unlimited until a node throttles; then a limit is learned. */
  readonly requestsPerSec: number;
  /** The longest a request waits for its place. */
  readonly waitMaxMs: number;
}

/** What a request is for. A broadcast comes before a head, and both before anything else. */
export type Urgency = 'broadcast' | 'head' | 'other';

/** A Redis that hangs must not hold up a request for longer. */
const REDIS_LIMIT_MS = 250;
/** A second, and how much later than its place a request may arrive at the node. */
const WINDOW_MS = 1250;
/** While Redis is away nobody knows how many others ask; each takes this part of the whole. */
const LOCAL_SHARE = 4;
/** What callers of the API ask for takes this part of the whole at most, so that heads and deliveries have theirs. */
const CALLERS_SHARE = 2;
/** Parts of the whole that are kept for broadcasts and heads, and of those for broadcasts alone. */
const URGENT_SHARE = 0.3;
const BROADCAST_SHARE = 0.1;
/** The first limit that is learned is this part of what was sent in the second before, each further one of the last. */
const FIRST_LEARNED_SHARE = 0.5;
const NEXT_LEARNED_SHARE = 0.7;
/** A node that throttles fewer than this in a second means something else, as a daily quota: to ask less would not help. */
const LEARN_FROM_PER_SEC = 10;
/** No learned limit is lower: with less, no order could be delivered. */
const LEARNED_MIN = 5;
/** A learned limit is forgotten after this, and what a provider allows is found out again. */
const LEARNED_KEPT_SEC = 3600;
/** How often a process looks for a limit that another one has learned. */
const LOOK_EVERY_MS = 5000;
/** Throttled answers of one burst teach once. */
const LEARN_EVERY_MS = 5000;
const POLL_MS_MAX = 200;

/**
 * KEYS[1] the times of the newest requests; ARGV: the limit of this kind, the limit of all, the window in µs. Returns 0 and
 * takes a place, or µs until one may be free. The list's order is that of Redis's own clock.
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
  private limit: number;
  /** In order of asking: a request never overtakes an older one of the same kind and process. */
  private readonly lines = new Map<Urgency | 'caller', Promise<unknown>>();
  private readonly local = new LocalPlaces();
  private readonly localCallers = new LocalPlaces();
  /** What this process has sent lately, while there is no limit to count against. */
  private readonly sent = new LocalPlaces();
  private checkedAtMs = Number.NEGATIVE_INFINITY;
  private learnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: BudgetOptions) {
    this.limit = options.requestsPerSec;
    // The key itself must not lie in Redis.
    this.key = createHash('sha256').update(options.account).digest('hex').slice(0, 16);
  }

  /** The limit that counts now, set or learned; 0 while there is none. */
  get requestsPerSec(): number {
    return this.limit;
  }

  /** Resolves to true when the request may be sent, and to false when no place came free in time. */
  async admit(urgency: Urgency | boolean): Promise<boolean> {
    this.look();
    if (this.limit === 0) return this.sent.note();
    const kind = typeof urgency === 'string' ? urgency : urgency ? 'broadcast' : 'other';
    return this.inLine(kind, () => this.waitForPlace(kind, this.deadlineMs()));
  }

  /** As `admit`, for what callers of the API have looked up: they wait in a line of their own, whoever asks most. */
  async admitCaller(): Promise<boolean> {
    this.look();
    if (this.limit === 0) return this.sent.note();
    const deadlineMs = this.deadlineMs();
    if (!(await this.inLine('caller', () => this.waitForPlace('caller', deadlineMs)))) return false;
    return this.inLine('other', () => this.waitForPlace('other', deadlineMs));
  }

  /** Takes a place if half of them are free. Without Redis there are none to spare. */
  async admitSpare(): Promise<boolean> {
    this.look();
    if (this.limit === 0) return this.sent.note();
    try {
      return (await this.takeShared('all', Math.max(1, Math.floor(this.limit / 2)))) === 0;
    } catch {
      return false;
    }
  }

  /** Learns a limit from a node that throttles, unless one is set. Returns the new limit; undefined when nothing is new. */
  learn(): number | undefined {
    if (this.options.requestsPerSec > 0 || monotonicMs() - this.learnedAtMs < LEARN_EVERY_MS) return undefined;
    const sent = this.sent.count(1000);
    if (this.limit === 0 && sent < LEARN_FROM_PER_SEC) return undefined;
    this.learnedAtMs = monotonicMs();
    const learned = this.limit === 0 ? sent * FIRST_LEARNED_SHARE : this.limit * NEXT_LEARNED_SHARE;
    this.limit = Math.max(LEARNED_MIN, Math.floor(learned));
    this.checkedAtMs = monotonicMs();
    void this.options.redis.set(this.learnedKey, this.limit, 'EX', LEARNED_KEPT_SEC).catch(() => undefined);
    return this.limit;
  }

  private get learnedKey(): string {
    return `${this.options.prefix}:chain-learned:${this.key}`;
  }

  private deadlineMs(): number {
    return monotonicMs() + this.options.waitMaxMs;
  }

  /** Takes over, beside the request, what another process has learned. */
  private look(): void {
    const { redis, requestsPerSec } = this.options;
    if (requestsPerSec > 0 || monotonicMs() - this.checkedAtMs < LOOK_EVERY_MS || redis.status !== 'ready') return;
    this.checkedAtMs = monotonicMs();
    redis.get(this.learnedKey).then(
      (text) => {
        this.limit = text === null ? 0 : Math.max(1, Number.parseInt(text, 10) || 1);
      },
      () => undefined,
    );
  }

  private inLine(line: Urgency | 'caller', work: () => Promise<boolean>): Promise<boolean> {
    const turn = (this.lines.get(line) ?? Promise.resolve()).then(work);
    this.lines.set(line, turn);
    return turn;
  }

  private async waitForPlace(kind: Urgency | 'caller', deadlineMs: number): Promise<boolean> {
    for (let isFirst = true; ; isFirst = false) {
      // What could not be tried in time is not sent; the first try of a broadcast is always made.
      if (monotonicMs() >= deadlineMs && !(isFirst && kind === 'broadcast')) return false;
      const waitMs = await this.take(kind);
      if (waitMs === 0) return true;
      if (monotonicMs() + waitMs > deadlineMs) return false;
      // Looked again soon: one that is more urgent may have gone ahead, and the limit may have changed.
      await sleep(Math.min(waitMs, POLL_MS_MAX));
    }
  }

  /** Takes a place; 0, or how many milliseconds until there may be one again. */
  private async take(kind: Urgency | 'caller'): Promise<number> {
    const own = shareOf(kind, this.limit);
    try {
      return await this.takeShared(kind === 'caller' ? 'callers' : 'all', own);
    } catch {
      const places = kind === 'caller' ? this.localCallers : this.local;
      const part = kind === 'caller' ? own / LOCAL_SHARE : this.limit / LOCAL_SHARE;
      return places.take(Math.max(1, Math.floor(part)));
    }
  }

  private async takeShared(list: 'all' | 'callers', limit: number): Promise<number> {
    const { redis, prefix } = this.options;
    if (redis.status !== 'ready') throw new Error('Redis is away');
    const key = `${prefix}:chain-places-${list}:${this.key}`;
    const taken = redis.eval(TAKE, 1, key, limit, Math.max(limit, this.limit), WINDOW_MS * 1000);
    const waitUs = await withDeadline(taken, REDIS_LIMIT_MS, 'the request budget');
    return Math.ceil(Number(waitUs) / 1000);
  }
}

/** Of the whole, so that there is always a place for what is more urgent. A limit of 1 is one line for all. */
function shareOf(kind: Urgency | 'caller', limit: number): number {
  if (kind === 'broadcast' || limit === 1) return limit;
  const forBroadcasts = Math.floor(limit * BROADCAST_SHARE);
  if (kind === 'head') return limit - forBroadcasts;
  if (kind === 'caller') return Math.max(1, Math.floor(limit / CALLERS_SHARE));
  return limit - Math.max(1, Math.ceil(limit * URGENT_SHARE));
}

/** The times of this process's own newest requests. */
class LocalPlaces {
  private times: number[] = [];

  /** Notes a request; always true. */
  note(): boolean {
    this.times.push(monotonicMs());
    // Cut by parts, so that noting costs nothing.
    if (this.times.length > 4096) this.times = this.times.slice(-2048);
    return true;
  }

  /** How many there were in the last `ms`. */
  count(ms: number): number {
    const since = monotonicMs() - ms;
    return this.times.filter((time) => time > since).length;
  }

  /** Takes one of `limit` places; 0, or how many milliseconds until one is free. */
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
