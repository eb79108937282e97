/**
 * What many ask for one by one, found together: what is asked for within one turn of the event loop, or in a time given,
 * or while earlier look-ups run, travels in one. Each is looked up after it was asked for, never before, so a caller sees all that was
 * true by then.
 */
import { monotonicMs } from './clock.js';
import { serviceBusy } from '../domain/errors.js';

interface Limits {
  /** Look-ups under way at once; what comes meanwhile gathers for the next. */
  readonly atOnce: number;
  /** Keys of one look-up. */
  readonly keys: number;
  /** Who has waited this long when a look-up may start is refused, ms. */
  readonly waitMs: number;
  /** How long a look-up waits for more to gather, ms; without it, what one turn of the event loop brings. */
  readonly gatherMs?: number;
}

interface Wanted<R> {
  readonly key: readonly string[];
  readonly sinceMs: number;
  readonly found: Promise<R | undefined>;
  readonly settle: (result: R | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/** `lookUp` answers in the order of its keys, undefined for what is not there. Bounded by its callers: each waits. */
export class Batched<R> {
  private readonly waiting = new Map<string, Wanted<R>>();
  private running = 0;
  private isPlanned = false;

  constructor(
    private readonly limits: Limits,
    private readonly lookUp: (keys: readonly (readonly string[])[]) => Promise<readonly (R | undefined)[]>,
  ) {}

  /**
   * What this key stands for, shared by all who ask for it together. Throws what the look-up throws, and 503
   * SERVICE_UNAVAILABLE after the wait's limit.
   */
  async find(...key: readonly string[]): Promise<R | undefined> {
    const name = key.join('\n');
    const known = this.waiting.get(name);
    if (known !== undefined) return known.found;
    const wanted = wantedOf<R>(key);
    this.waiting.set(name, wanted);
    this.plan();
    return wanted.found;
  }

  private plan(): void {
    if (this.isPlanned || this.running >= this.limits.atOnce || this.waiting.size === 0) return;
    this.isPlanned = true;
    const start = (): void => {
      this.isPlanned = false;
      void this.send();
      this.plan();
    };
    if (this.limits.gatherMs === undefined) setImmediate(start);
    else setTimeout(start, this.limits.gatherMs);
  }

  private async send(): Promise<void> {
    const batch = this.take();
    if (batch.length === 0) return;
    this.running += 1;
    try {
      const results = await this.lookUp(batch.map(({ key }) => key));
      batch.forEach(({ settle }, index) => settle(results[index]));
    } catch (error) {
      for (const { fail } of batch) fail(error);
    } finally {
      this.running -= 1;
      this.plan();
    }
  }

  private take(): Wanted<R>[] {
    const batch: Wanted<R>[] = [];
    const oldestMs = monotonicMs() - this.limits.waitMs;
    for (const [name, wanted] of this.waiting) {
      if (batch.length >= this.limits.keys) break;
      this.waiting.delete(name);
      if (wanted.sinceMs < oldestMs) wanted.fail(serviceBusy('The service is busy'));
      else batch.push(wanted);
    }
    return batch;
  }
}

function wantedOf<R>(key: readonly string[]): Wanted<R> {
  let settle: Wanted<R>['settle'] = () => undefined;
  let fail: Wanted<R>['fail'] = () => undefined;
  const found = new Promise<R | undefined>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  return { key, sinceMs: monotonicMs(), found, settle, fail };
}
