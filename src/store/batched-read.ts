/**
 * Single rows read by their keys, many keys by one statement: what is asked for within one turn of the event loop, or
 * while earlier statements run, travels together. A row is read after it was asked for, never before, so a caller sees
 * all that was committed by then.
 */
import type { Database, Statement } from './database.js';

/** Statements under way at once; what comes meanwhile gathers for the next. */
const LANES = 4;
const KEYS_PER_STATEMENT = 100;
/** All who wait for a silent connection wait this long, ms; a row is found in a thousandth of it. */
const ANSWER_LIMIT_MS = 5000;

interface Wanted<R> {
  readonly key: readonly string[];
  readonly row: Promise<R | undefined>;
  readonly settle: (row: R | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/** What a statement must answer beside the row: the place of its key among those given, from 1. */
export interface Placed {
  readonly place: number;
}

/**
 * `statement` takes one array of text for each part of a key, all of the same length, and answers at most one row for
 * each place. Bounded by its callers: each waits for one row.
 */
export class BatchedRead<R extends object> {
  private readonly statement: Statement;
  private waiting = new Map<string, Wanted<R>>();
  private running = 0;
  private isPlanned = false;

  constructor(
    private readonly database: Database,
    statement: Statement,
  ) {
    this.statement = { ...statement, query_timeout: ANSWER_LIMIT_MS };
  }

  /** The row of this key, shared by all who ask for it together; undefined when there is none. Throws as `query` does. */
  async find(...key: readonly string[]): Promise<R | undefined> {
    const name = key.join('\n');
    const known = this.waiting.get(name);
    if (known !== undefined) return known.row;
    const wanted = wantedRow<R>(key);
    this.waiting.set(name, wanted);
    this.plan();
    return wanted.row;
  }

  private plan(): void {
    if (this.isPlanned || this.running >= LANES || this.waiting.size === 0) return;
    this.isPlanned = true;
    setImmediate(() => {
      this.isPlanned = false;
      void this.send();
      this.plan();
    });
  }

  private async send(): Promise<void> {
    const batch = this.take();
    this.running += 1;
    try {
      const parts = batch[0]?.key.map((_, part) => batch.map(({ key }) => key[part])) ?? [];
      const rows = await this.database.query<R & Placed>(this.statement, parts);
      const byPlace = new Map(rows.map((row) => [row.place, row]));
      batch.forEach(({ settle }, index) => settle(byPlace.get(index + 1)));
    } catch (error) {
      for (const { fail } of batch) fail(error);
    } finally {
      this.running -= 1;
      this.plan();
    }
  }

  private take(): Wanted<R>[] {
    const batch: Wanted<R>[] = [];
    for (const [name, wanted] of this.waiting) {
      if (batch.length >= KEYS_PER_STATEMENT) break;
      this.waiting.delete(name);
      batch.push(wanted);
    }
    return batch;
  }
}

function wantedRow<R>(key: readonly string[]): Wanted<R> {
  let settle: Wanted<R>['settle'] = () => undefined;
  let fail: Wanted<R>['fail'] = () => undefined;
  const row = new Promise<R | undefined>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  return { key, row, settle, fail };
}
