/**
 * Counts in Redis that all processes share. Each window begins with its first count. Counts within one turn of the
 * event loop are sent in one command.
 */
import type { Redis } from 'ioredis';
import { withDeadline } from '../../support/clock.js';

/** KEYS: the counters; ARGV: the window in ms, then the increment of each. Returns two numbers for each key. */
const COUNT = `
local counts = {}
for index, key in ipairs(KEYS) do
  counts[2 * index - 1] = redis.call('INCRBY', key, ARGV[index + 1])
  local left = redis.call('PTTL', key)
  if left < 0 then
    redis.call('PEXPIRE', key, ARGV[1])
    left = tonumber(ARGV[1])
  end
  counts[2 * index] = left
end
return counts`;

type Counting = Redis & {
  countInWindows(keys: number, ...keysThenArguments: (string | number)[]): Promise<number[]>;
};

export interface Count {
  /** Including this one. */
  readonly taken: number;
  /** Milliseconds until the window ends. */
  readonly leftMs: number;
}

/** The counts of one event loop turn. */
interface CountBatch {
  /** Key → its count and its position in the command. */
  readonly added: Map<string, { readonly place: number; count: number }>;
  readonly counted: Promise<readonly number[]>;
}

export class WindowCounts {
  private batch: CountBatch | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly options: { readonly windowMs: number; readonly limitMs: number },
  ) {
    redis.defineCommand('countInWindows', { lua: COUNT });
  }

  /** Counts one. Rejects if Redis is unavailable, or has not answered within the limit. */
  async add(key: string): Promise<Count> {
    this.batch ??= this.newBatch();
    const { added, counted } = this.batch;
    const own = added.get(key) ?? { place: added.size, count: 0 };
    added.set(key, own);
    own.count += 1;
    const ordinal = own.count;
    const answer = await counted;
    const total = answer[2 * own.place] ?? 0;
    return { taken: total - own.count + ordinal, leftMs: answer[2 * own.place + 1] ?? 0 };
  }

  private newBatch(): CountBatch {
    const added: CountBatch['added'] = new Map();
    const counted = new Promise<readonly number[]>((resolve, reject) => {
      setImmediate(() => {
        this.batch = undefined;
        this.send(added).then(resolve, reject);
      });
    });
    return { added, counted };
  }

  private async send(added: CountBatch['added']): Promise<readonly number[]> {
    const counts = [...added.values()].map(({ count }) => count);
    const { windowMs, limitMs } = this.options;
    const answer = (this.redis as Counting).countInWindows(added.size, ...added.keys(), windowMs, ...counts);
    return withDeadline(answer, limitMs, 'Redis');
  }
}
