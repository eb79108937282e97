/**
 * The confirmed time of the database. Every deletion, deactivation or closing by age uses it, so that a clock that
 * jumps ahead for a moment destroys nothing. Two witnesses confirm it: this process's monotonic clock shows that the
 * database's time has not jumped, and this process's wall clock agrees with it. Workers record jumps in `clock_mark`,
 * so that a process that starts after a jump knows of it.
 */
import { monotonicMs, nowMs } from '../base/clock.js';
import type { Database } from './database.js';

/** The two clocks may differ by this much: more than machines drift apart, less than anything is kept. */
const DIFFERENCE_MAX_MS = 5 * 60_000;
/** A longer step than this between two readings is a jump. */
export const JUMP_MIN_MS = 60_000;
/** How long the clock must run without a jump before it is trusted again. */
const CONFIRMED_AFTER_MS = 3_600_000;
/** The recorded time may be behind by this much when a process starts: longer and a jump looks like an absence. */
export const ABSENCE_MAX_MS = 3_600_000;

const READ = {
  name: 'read_confirmed_clock',
  text: `SELECT clock_timestamp() AS now, followed_at, jumped_at FROM clock_mark`,
};

/** One reading of the clock and of its record. */
interface ClockReading {
  readonly now: Date;
  /** When a worker last read the clock; null on a database that no worker has followed. */
  readonly followed_at: Date | null;
  /** When a worker last saw the clock jump, by the clock after the jump. */
  readonly jumped_at: Date | null;
}

/** Why the clock is not trusted; undefined when it is. */
export type ClockDoubt = 'differs from this machine' | 'jumped' | 'was not followed' | undefined;

/** Follows the database's clock in one process. Several may follow the same clock. */
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

  /** Returns the database's time with the reason not to trust it. */
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
 * SQL condition that a worker has followed the clock up to this moment and saw no jump lately. It guards single statements
 * within a transaction; a database that no worker has followed yet passes.
 */
export const CLOCK_IS_STEADY = `(SELECT coalesce(clock_timestamp() BETWEEN followed_at - interval '1 minute' AND followed_at + interval '10 minutes', true)
  AND coalesce(clock_timestamp() > jumped_at + interval '${(CONFIRMED_AFTER_MS / 1000).toString()} seconds', true) FROM clock_mark)`;

const clocks = new WeakMap<Database, ConfirmedClock>();

/** Returns the confirmed time of a database, by the one clock that this process follows it with. */
export async function confirmedNow(database: Database): Promise<Date | undefined> {
  const known = clocks.get(database);
  if (known !== undefined) return known.now();
  const clock = new ConfirmedClock(database);
  clocks.set(database, clock);
  return clock.now();
}
