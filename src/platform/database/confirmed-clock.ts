/**
 * The confirmed time of the database. Every deletion, deactivation or closing by age uses it, so that a clock that
 * jumps ahead for a moment destroys nothing. Two clocks of this process confirm it. By the monotonic clock, the
 * database's time has not jumped. The wall clock agrees with it. Workers record jumps in `clock_mark` for processes
 * that start later. Waits of minutes use `steadyAgeSec`, which leaves out jumps.
 */
import { monotonicMs, nowMs } from '../support/clock.js';
import type { Database } from './database.js';

/** Maximum difference to the wall clock: more than machines drift apart, and less than any retention. */
const DIFFERENCE_MAX_MS = 5 * 60_000;
/** A longer step than this between two readings is a jump. */
export const JUMP_MIN_MS = 60_000;
/** Time without a jump after which the clock is trusted again. */
const CONFIRMED_AFTER_MS = 3_600_000;
/**
 * Maximum age of the recorded time when a process starts. With an older record, a jump looks like an absence of all
 * workers.
 */
export const ABSENCE_MAX_MS = 3_600_000;

const READ = {
  name: 'read_confirmed_clock',
  text: `SELECT clock_timestamp() AS now, followed_at, jumped_at FROM clock_mark`,
};

/** One reading of the clock and of its record. */
interface ClockReading {
  readonly now: Date;
  /** The last reading by a worker; null on a database that no worker has followed. */
  readonly followed_at: Date | null;
  /** The last jump that a worker observed, by the clock after the jump. */
  readonly jumped_at: Date | null;
}

/** The reason not to trust the clock; undefined if it is trusted. */
export type ClockDoubt = 'differs from this machine' | 'jumped' | 'was not followed' | undefined;

/** Follows the database's clock in one process. Several instances may follow the same clock. */
export class ConfirmedClock {
  private last: { readonly databaseMs: number; readonly atMs: number } | undefined;
  /** Monotonic time before which this process trusts no reading. */
  private trustedFromMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly database: Database) {}

  /** Returns the database's time, or undefined while it is not confirmed. */
  async now(): Promise<Date | undefined> {
    const { now, doubt } = await this.read();
    return doubt === undefined ? now : undefined;
  }

  /** Returns the database's time, with the reason not to trust it if there is one. */
  async read(): Promise<{ readonly now: Date; readonly doubt: ClockDoubt }> {
    const wallMs = nowMs();
    const atMs = monotonicMs();
    const [reading] = await this.database.query<ClockReading>(READ);
    if (reading === undefined) throw new Error('the row of clock_mark is missing');
    return { now: reading.now, doubt: this.judge(reading, atMs, wallMs) };
  }

  private judge({ now, followed_at: followedAt, jumped_at: jumpedAt }: ClockReading, atMs: number, wallMs: number) {
    const databaseMs = now.getTime();
    const { last } = this;
    this.last = { databaseMs, atMs };
    const isFollowed = followedAt === null || databaseMs - followedAt.getTime() <= ABSENCE_MAX_MS;
    if (last === undefined ? !isFollowed : isJump(last.databaseMs, databaseMs, atMs - last.atMs)) {
      this.trustedFromMs = atMs + CONFIRMED_AFTER_MS;
    }
    if (Math.abs(databaseMs - wallMs) > DIFFERENCE_MAX_MS) return 'differs from this machine';
    if (jumpedAt !== null && databaseMs < jumpedAt.getTime() + CONFIRMED_AFTER_MS) return 'jumped';
    if (atMs < this.trustedFromMs) return last === undefined ? 'was not followed' : 'jumped';
    return undefined;
  }
}

/** Returns whether the database's clock moved by more than the monotonic clock allows, forwards or back. */
function isJump(beforeMs: number, afterMs: number, elapsedMs: number): boolean {
  return Math.abs(afterMs - beforeMs - elapsedMs) > JUMP_MIN_MS;
}

/**
 * SQL condition that a worker read the clock in the last ten minutes and observed no jump in the last hour. For single
 * statements within a transaction. True on a database that no worker has followed yet.
 */
export const CLOCK_IS_STEADY = `(SELECT coalesce(clock_timestamp() BETWEEN followed_at - interval '1 minute' AND followed_at + interval '10 minutes', true)
  AND coalesce(clock_timestamp() > jumped_at + interval '${(CONFIRMED_AFTER_MS / 1000).toString()} seconds', true) FROM clock_mark)`;

/** Largest distance to a worker's last reading at which ages count up to the present. Workers read every ten seconds. */
const FOLLOWED = `interval '${(JUMP_MIN_MS / 1000).toString()} seconds'`;

/**
 * Returns SQL of the time from which the age of `column` counts: its own time, but no earlier than the last jump of the
 * database's clock. Time before a jump is unknown, so it does not count. Null for a null column without a jump.
 */
export function steadySince(column: string): string {
  return `greatest(${column}, (SELECT jumped_at FROM clock_mark))`;
}

/**
 * Returns SQL of the seconds since `column` in which the database's clock did not jump; never negative. An age that
 * ends something (a refund, an order marked unresolved, a mail given up) uses it, so that a jump ends nothing. A jump
 * that no worker has recorded yet does not count either: the age then ends with the last reading by a worker.
 */
export function steadyAgeSec(column: string): string {
  return `(SELECT greatest(0, extract(epoch FROM
      CASE WHEN clock_timestamp() BETWEEN c.followed_at - ${FOLLOWED} AND c.followed_at + ${FOLLOWED}
        THEN clock_timestamp() ELSE coalesce(c.followed_at, clock_timestamp()) END
      - greatest(${column}, c.jumped_at)))::float8 FROM clock_mark c)`;
}

const clocks = new WeakMap<Database, ConfirmedClock>();

/** Returns the confirmed time of a database, or undefined. A process has one ConfirmedClock per database. */
export async function confirmedNow(database: Database): Promise<Date | undefined> {
  const known = clocks.get(database);
  if (known !== undefined) return known.now();
  const clock = new ConfirmedClock(database);
  clocks.set(database, clock);
  return clock.now();
}
