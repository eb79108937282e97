/**
 * The request limit of a node that throttles, where none is set. It starts below the rate that was throttled, stays for
 * a while, and then grows until the node throttles again: one refusal must not slow the service down for long, and a
 * provider's true limit must not be exceeded often.
 */
import type { Redis } from 'ioredis';
import { monotonicMs } from '../support/clock.js';

/** The first limit is this share of the throttled rate; each further one, of the limit then in force. */
const FIRST_SHARE = 0.5;
const NEXT_SHARE = 0.7;
/**
 * A node that throttles fewer requests per second than this means something else, such as a daily quota. Sending less
 * would not help.
 */
const LEARN_FROM_PER_SEC = 10;
/** The lowest limit: no order could be delivered with less. */
const LOWEST_PER_SEC = 5;
/** The throttled answers of one burst lower the limit once. */
const LEARN_EVERY_MS = 5000;
/** A single refusal is a hiccup of a gateway. A second one within this time, after answers in between, is a limit. */
const REPEATED_MS = 60_000;
/** Interval at which a process shares its rate and reads the others'. */
const SHARE_EVERY_MS = 5000;
/** A limit stays as it was learned for this time, doubled with each throttled answer after it has grown. */
const CALM_SEC = 15;
const CALM_SEC_MAX = 3600;
const GROWTH_PER_SEC = 1.1 ** (1 / 3);
/** Growth lasts this long, to some 300 times the limit. Then there is none. */
const GROWTH_SEC = 180;
/** The rate of a process that has ended counts no longer than this. */
const RATE_KEPT_SEC = 15;

/**
 * KEYS: the learned limit, the rates of all processes. ARGV: this process, its rate, seconds for which a rate counts.
 * Returns the limit, its remaining time in ms, and the sum of the other processes' rates. Uses Redis's own clock.
 */
const SHARE = `if redis.replicate_commands then redis.replicate_commands() end
local now = tonumber(redis.call('TIME')[1])
local others = 0
local all = redis.call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  local rate, at = string.match(all[i + 1], '(%d+) (%d+)')
  if not at or math.abs(now - tonumber(at)) > tonumber(ARGV[3]) then redis.call('HDEL', KEYS[2], all[i])
  elseif all[i] ~= ARGV[1] then others = others + tonumber(rate) end
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. ' ' .. string.format('%.0f', now))
redis.call('EXPIRE', KEYS[2], 60)
return { redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]), others }`;

/** A limit as it was learned. */
export interface Lesson {
  readonly perSec: number;
  /** Seconds before the limit grows. */
  readonly calmSec: number;
}

const keptSec = ({ calmSec }: Lesson): number => calmSec + GROWTH_SEC;

/** Returns the requests per second allowed at an age of the lesson. */
export function limitAt({ perSec, calmSec }: Lesson, ageSec: number): number {
  return Math.floor(perSec * GROWTH_PER_SEC ** Math.max(0, ageSec - calmSec));
}

/** Returns the next lesson after a throttled answer; the first one from the rate of all processes together. */
export function lessonAfter(last: { readonly lesson: Lesson; readonly ageSec: number } | number): Lesson {
  if (typeof last === 'number') return { perSec: lowered(last * FIRST_SHARE), calmSec: CALM_SEC };
  const { lesson, ageSec } = last;
  const hasGrown = ageSec > lesson.calmSec;
  return {
    perSec: lowered(limitAt(lesson, ageSec) * NEXT_SHARE),
    calmSec: hasGrown ? Math.min(CALM_SEC_MAX, lesson.calmSec * 2) : lesson.calmSec,
  };
}

function lowered(perSec: number): number {
  return Math.max(LOWEST_PER_SEC, Math.floor(perSec));
}

export interface LearnedLimitOptions {
  readonly redis: Redis;
  /** Redis keys of the limit and of the rates. */
  readonly keys: readonly [limit: string, rates: string];
  /** Distinguishes the processes. */
  readonly process: string;
  /** Requests that this process has sent in the last milliseconds. */
  readonly sent: (ms: number) => number;
}

export class LearnedLimit {
  private known: { readonly lesson: Lesson; readonly learnedAtMs: number } | undefined;
  private othersPerSec = 0;
  private shares = 0;
  private sharedAtMs = Number.NEGATIVE_INFINITY;
  private learnedAtMs = Number.NEGATIVE_INFINITY;
  private refusedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: LearnedLimitOptions) {}

  /** The limit now; 0 without one. */
  get perSec(): number {
    const { last } = this;
    return last === undefined ? 0 : limitAt(last.lesson, last.ageSec);
  }

  /** Learns from a throttled answer. Returns the new limit; undefined if it is unchanged. */
  learn(): number | undefined {
    const isRepeated = monotonicMs() - this.refusedAtMs < REPEATED_MS;
    this.refusedAtMs = monotonicMs();
    if (monotonicMs() - this.learnedAtMs < LEARN_EVERY_MS) return undefined;
    const { last } = this;
    const rate = this.options.sent(1000) + this.othersPerSec;
    const isProof = isRepeated && rate >= LEARN_FROM_PER_SEC && this.knowsOthers;
    if (last === undefined && !isProof) return undefined;
    const lesson = lessonAfter(last ?? rate);
    this.learnedAtMs = monotonicMs();
    this.known = { lesson, learnedAtMs: this.learnedAtMs };
    this.sharedAtMs = this.learnedAtMs;
    const { redis, keys } = this.options;
    const text = `${lesson.perSec.toString()} ${lesson.calmSec.toString()}`;
    void redis.set(keys[0], text, 'EX', keptSec(lesson)).catch(() => undefined);
    return lesson.perSec;
  }

  /** Tells the other processes this one's rate and reads what they have learned, in the background. */
  share(): void {
    const { redis, keys, process, sent } = this.options;
    const sinceMs = monotonicMs() - this.sharedAtMs;
    if (sinceMs < SHARE_EVERY_MS || redis.status !== 'ready') return;
    const askedAtMs = monotonicMs();
    this.sharedAtMs = askedAtMs;
    const rate = Math.ceil((sent(SHARE_EVERY_MS) * 1000) / SHARE_EVERY_MS);
    redis.eval(SHARE, 2, ...keys, process, rate, RATE_KEPT_SEC).then(
      (answer) => {
        const [text, leftMs, others] = answer as [string, number, number];
        this.shares += 1;
        this.othersPerSec = others;
        // This process may have learned a newer limit meanwhile.
        if (this.learnedAtMs < askedAtMs) this.known = knownFrom(text, leftMs);
      },
      () => undefined,
    );
  }

  /**
   * False for a process that started seconds ago: the others' rates are unknown, and its own first requests are a
   * burst. Without Redis they stay unknown.
   */
  private get knowsOthers(): boolean {
    return this.shares >= 2 || this.options.redis.status !== 'ready';
  }

  private get last(): { readonly lesson: Lesson; readonly ageSec: number } | undefined {
    if (this.known === undefined) return undefined;
    const { lesson, learnedAtMs } = this.known;
    const ageSec = (monotonicMs() - learnedAtMs) / 1000;
    return ageSec > keptSec(lesson) ? undefined : { lesson, ageSec };
  }
}

function knownFrom(
  text: string,
  leftMs: number,
): { readonly lesson: Lesson; readonly learnedAtMs: number } | undefined {
  const [perSec = 0, calmSec = 0] = text.split(' ').map(Number);
  if (!(perSec >= 1 && calmSec >= 1) || leftMs < 0) return undefined;
  const lesson = { perSec, calmSec };
  return { lesson, learnedAtMs: monotonicMs() - (keptSec(lesson) * 1000 - leftMs) };
}
