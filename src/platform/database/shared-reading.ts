/**
 * A figure from an outside source that all processes share through `market_state`. One process reads it under a lease
 * by the database's clock, and the others use the stored value. The lease of a reader that dies expires. Ages are
 * judged by the database's clock and a monotonic one. billing/held-rates.ts also writes `market_state`.
 */
import { monotonicMs, withDeadline } from '../support/clock.js';
import { invariant } from '../../domain/errors.js';
import { isDatabaseAway, type Database } from './database.js';
import { leaseIsFree } from './lease-sql.js';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

interface SharedReadingOptions<T> {
  readonly name: string;
  /** Age of the figure at which a process reads it again. */
  readonly refreshMs: number;
  /** The longest one reading may take; also the lease of the reader. */
  readonly readLimitMs: number;
  readonly read: () => Promise<T>;
  readonly encode: (value: T) => Json;
  /** Returns undefined for a value that this version cannot read; the figure then counts as unknown. */
  readonly decode: (json: unknown) => T | undefined;
  /** Describes a failed reading for all processes, which see it until the next successful one. */
  readonly describeFailure?: (error: unknown) => Json;
  /**
   * Makes a reading due sooner than `refreshMs`: returns the age in ms at which the figure is due, given the last one.
   */
  readonly dueAgeMs?: (latest: T | undefined) => number;
}

export interface Latest<T> {
  readonly value: T;
  readonly ageMs: number;
}

interface Seen<T> {
  readonly value: T;
  /** The time of the reading by this process's monotonic clock; never later than the true time. */
  readonly readAtMs: number;
}

interface SharedRow {
  readonly value: unknown;
  readonly failure: unknown;
  readonly age_ms: number;
  readonly lease_ms: number | null;
}

const LOAD = {
  name: 'shared-reading-load',
  text: `SELECT m.value, extract(epoch FROM clock_timestamp() - m.measured_at)::float8 * 1000 AS age_ms,
                extract(epoch FROM m.lease_until - clock_timestamp())::float8 * 1000 AS lease_ms,
                (SELECT f.value FROM market_state f
                  WHERE f.name = m.name || '-failure' AND f.measured_at > m.measured_at) AS failure
           FROM market_state m WHERE m.name = $1`,
};

const LEASE_IS_FREE = leaseIsFree('m.lease_until', '$2::float8 / 1000');

// A second reader finds the lease taken or the figure fresh. A figure from the future was stored before the server's
// clock was set back. It would look fresh until the clock caught up, so it counts as missing.
const CLAIM = {
  name: 'shared-reading-claim',
  text: `INSERT INTO market_state AS m (name, value, measured_at, lease_until)
         VALUES ($1, 'null', 'epoch', clock_timestamp() + make_interval(secs => $2::float8 / 1000))
         ON CONFLICT (name) DO UPDATE SET lease_until = excluded.lease_until
          WHERE ${LEASE_IS_FREE}
            AND (m.measured_at <= clock_timestamp() - make_interval(secs => $3::float8 / 1000)
                 OR m.measured_at > clock_timestamp() + interval '1 second')
         RETURNING true AS claimed`,
};

// A reader whose lease expired never replaces a newer figure by its own.
const SAVE = {
  name: 'shared-reading-save',
  text: `UPDATE market_state
            SET value = $2::jsonb, lease_until = NULL,
                measured_at = clock_timestamp() - make_interval(secs => $3::float8 / 1000)
          WHERE name = $1 AND (measured_at < clock_timestamp() - make_interval(secs => $3::float8 / 1000)
                               OR measured_at > clock_timestamp() + interval '1 second')`,
};

/** After a failure no process retries until this has passed, however many processes there are. */
const HOLD_OFF = {
  name: 'shared-reading-hold-off',
  text: `UPDATE market_state SET lease_until = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
          WHERE name = $1`,
};

/**
 * Shows a failed reading to every process. Its row has the figure's name with a suffix. LOAD ignores it after a later
 * successful reading.
 */
const SAVE_FAILURE = {
  name: 'shared-reading-failure',
  text: `INSERT INTO market_state AS m (name, value, measured_at) VALUES ($1 || '-failure', $2::jsonb, clock_timestamp())
         ON CONFLICT (name) DO UPDATE SET value = excluded.value, measured_at = excluded.measured_at`,
};

const FUTURE_MS_MAX = 1000;
const LEASE_SLACK_MS = 1000;
/** The wait before the next look while another process is reading. */
const WAIT_FOR_OTHER_MS = 250;
/** Maximum time between two loads of the stored figure: another process may have read it before it was due. */
const LOOK_MS_MAX = 5000;

export class SharedReading<T> {
  private seen: Seen<T> | undefined;
  private failed: unknown;

  constructor(
    private readonly database: Database,
    private readonly options: SharedReadingOptions<T>,
  ) {}

  /** Returns the newest reading that this process knows; undefined before the first. */
  latest(): Latest<T> | undefined {
    return this.seen === undefined
      ? undefined
      : { value: this.seen.value, ageMs: Math.max(0, monotonicMs() - this.seen.readAtMs) };
  }

  /**
   * Returns the last failure of any process, as `describeFailure` described it. Undefined after a successful reading.
   */
  get failure(): unknown {
    return this.failed;
  }

  /** Pause in ms after a failure, before the source is asked again. */
  get retryMs(): number {
    return Math.min(5000, Math.max(250, this.options.refreshMs / 5));
  }

  /** Maximum length of a lease in ms: of one reading, or of the pause after a failure. */
  private get leaseMs(): number {
    return Math.max(this.options.readLimitMs + LEASE_SLACK_MS, this.retryMs);
  }

  /**
   * Takes over the stored figure, or reads it if it is due and no other process does. Returns ms until the next look.
   */
  async refresh(): Promise<number> {
    try {
      return await this.refreshShared();
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
      return await this.refreshAlone();
    }
  }

  private async refreshShared(): Promise<number> {
    const leaseMs = await this.load();
    const dueInMs = this.dueInMs();
    if (dueInMs > 0) return Math.min(dueInMs, LOOK_MS_MAX);
    // A longer lease was written before the clock was set back; the claim judges it.
    if (leaseMs > 0 && leaseMs <= this.leaseMs + FUTURE_MS_MAX)
      return Math.min(Math.max(leaseMs, 50), WAIT_FOR_OTHER_MS);
    const claimed = await this.database.query(CLAIM, [this.options.name, this.leaseMs, this.dueAgeMs()]);
    if (claimed.length === 0) return WAIT_FOR_OTHER_MS;
    try {
      await this.readAndSave();
    } catch (error) {
      await this.saveFailure(error);
      throw error;
    }
    return Math.min(this.dueAgeMs(), LOOK_MS_MAX);
  }

  private async saveFailure(error: unknown): Promise<void> {
    const { name, describeFailure } = this.options;
    await this.database.query(HOLD_OFF, [name, this.retryMs]);
    if (describeFailure === undefined) return;
    this.failed = describeFailure(error);
    await this.database.query(SAVE_FAILURE, [name, JSON.stringify(this.failed)]);
  }

  /** Without the database, every process reads for itself, at the rate that all share otherwise. */
  private async refreshAlone(): Promise<number> {
    const dueInMs = this.dueInMs();
    if (dueInMs > 0) return Math.min(dueInMs, LOOK_MS_MAX);
    try {
      await this.read();
    } catch (error) {
      this.failed = this.options.describeFailure?.(error);
      throw error;
    }
    return Math.min(this.dueAgeMs(), LOOK_MS_MAX);
  }

  private async readAndSave(): Promise<void> {
    const { value, readAtMs } = await this.read();
    const json = JSON.stringify(this.options.encode(value));
    await this.database.query(SAVE, [this.options.name, json, monotonicMs() - readAtMs]);
  }

  private async read(): Promise<Seen<T>> {
    const readAtMs = monotonicMs();
    const value = await withDeadline(this.options.read(), this.options.readLimitMs, `reading ${this.options.name}`);
    this.keep({ value, readAtMs });
    this.failed = undefined;
    return { value, readAtMs };
  }

  /** Takes over the stored figure if it is newer than this process's own. Returns the remaining lease in ms. */
  private async load(): Promise<number> {
    const askedAtMs = monotonicMs();
    const [row] = await this.database.query<SharedRow>(LOAD, [this.options.name]);
    if (row === undefined) return 0;
    invariant(Number.isFinite(row.age_ms), 'an age is a number');
    this.failed = row.failure ?? undefined;
    const value = this.options.decode(row.value);
    // Counted from before the query, so that its duration counts as age.
    if (value !== undefined && row.age_ms >= -FUTURE_MS_MAX) this.keep({ value, readAtMs: askedAtMs - row.age_ms });
    return row.lease_ms ?? 0;
  }

  private keep(seen: Seen<T>): void {
    if (this.seen === undefined || seen.readAtMs > this.seen.readAtMs) this.seen = seen;
  }

  private dueAgeMs(): number {
    const latest = this.latest();
    return this.options.dueAgeMs?.(latest?.value) ?? this.options.refreshMs;
  }

  private dueInMs(): number {
    const latest = this.latest();
    return latest === undefined ? 0 : this.dueAgeMs() - latest.ageMs;
  }
}
