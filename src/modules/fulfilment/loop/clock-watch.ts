/**
 * Handles a database clock that was set back, or a new server with a slower clock. Work that was postponed, leased or
 * held by the later clock would wait until the new clock catches up, so it becomes due immediately. The database's
 * clock is compared only with its own last value, in a row that all workers share.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../../platform/support/clock.js';
import { runEach } from '../../../platform/support/concurrency.js';
import { Config } from '../../../platform/config/config.js';
import { ABSENCE_MAX_MS, JUMP_MIN_MS } from '../../../platform/database/confirmed-clock.js';
import { Database, isDatabaseAway, type Queryable } from '../../../platform/database/database.js';
import { restartLegWaits } from '../../order-records/leg-transitions.js';
import { endTopUpRests, wakeOrdersFromAhead, wakePostponedOrders } from '../../order-records/order-schedule.js';
import { LONGEST_REST_SEC } from '../plan/reclaim-pace.js';

/** Smaller steps delay nothing that matters. */
const SET_BACK_MIN_SEC = 1;

const STEP_BACK = {
  name: 'clock_step_back',
  text: `SELECT extract(epoch FROM seen_at - clock_timestamp())::float8 AS back_sec FROM clock_mark`,
};

/**
 * Only one worker sees a step: the row is locked before the clock is read. $1, $2: tolerance backwards and forwards, in
 * ms.
 */
const MARK_CLOCK = {
  name: 'mark_clock',
  text: `WITH before AS (SELECT seen_at, followed_at, jumped_at FROM clock_mark FOR UPDATE)
    UPDATE clock_mark c SET seen_at = clock_timestamp(), followed_at = clock_timestamp(),
        jumped_at = CASE WHEN clock_timestamp() NOT BETWEEN before.followed_at - $1 * interval '1 millisecond'
            AND before.followed_at + $2 * interval '1 millisecond' THEN clock_timestamp() ELSE c.jumped_at END
      FROM before
    RETURNING extract(epoch FROM before.seen_at - c.seen_at)::float8 AS back_sec,
      CASE WHEN c.jumped_at IS DISTINCT FROM before.jumped_at THEN extract(epoch FROM c.followed_at - before.followed_at)::float8 ELSE 0 END AS jumped_sec`,
};

/** A hold of a wallet ends as it would have by the later clock: the wallet is tried again. */
const END_HOLDS = `UPDATE pool_wallet SET delivery_held_until = clock_timestamp() WHERE delivery_held_until > clock_timestamp()`;

const SOLID_WAIT_SEC = 180;

/** The day's projects, if the spending of the day was not counted again since the last jump. */
const UNCOUNTED = {
  name: 'uncounted_projects',
  text: `SELECT c.jumped_at::text AS jump, array(SELECT DISTINCT e.project_id FROM credit_entry e
      WHERE e.kind = 'charge' AND e.created_at >= date_trunc('day', clock_timestamp(), 'UTC')) AS projects
    FROM clock_mark c WHERE c.jumped_at IS DISTINCT FROM c.counted_jump`,
};
const RECOUNT = { name: 'recount_spending', text: `SELECT recount_spending($1)` };
const MARK_COUNTED = { name: 'mark_counted_jump', text: `UPDATE clock_mark SET counted_jump = $1::timestamptz` };

const END_LATER_TIMES = { name: 'end_later_times', text: `SELECT end_later_times($1)` };

export interface ClockCheck {
  /** Seconds by which the clock went back since any worker last read it; 0 if it did not. */
  readonly setBackSec: number;
  /** Seconds by which the clock jumped, in either direction; 0 if it did not. */
  readonly jumpedSec: number;
  /** Number of orders that became due. */
  readonly woken: number;
}

@Injectable()
export class ClockWatch {
  /** Monotonic time of this process's last successful read. */
  private checkedAtMs: number | undefined;

  constructor(
    private readonly database: Database,
    private readonly config: Config,
  ) {}

  /** Reads the clock once. If it went back, makes due all work that waits for a time of the later clock. */
  async checkClock(): Promise<ClockCheck> {
    const atMs = monotonicMs();
    const sinceMs = this.checkedAtMs === undefined ? undefined : atMs - this.checkedAtMs;
    const check = await this.database
      .transaction(async (tx) => this.followClock(tx, sinceMs))
      .catch(async (error: unknown) => {
        // Ending the later times locks rows of many tables, which other processes may hold for long. Due work must not
        // wait for them.
        if (!isDatabaseAway(error)) await this.database.transaction(async (tx) => this.wakeAfterStep(tx));
        throw error;
      });
    // After a failed check the next one covers the whole time since the last successful one.
    this.checkedAtMs = atMs;
    return check;
  }

  /**
   * After a jump of the clock, counts the spending of the present day again: a wrong clock may have begun a new count.
   * Each project in its own transaction, since it holds the locks of the project's charges. A project that fails keeps no
   * other from being counted; all are retried with the next call.
   */
  async recountSpending(): Promise<void> {
    const [row] = await this.database.query<{ jump: string; projects: readonly string[] }>(UNCOUNTED);
    if (row === undefined) return;
    await runEach(row.projects.map((project) => () => this.database.query(RECOUNT, [project])));
    await this.database.query(MARK_COUNTED, [row.jump]);
  }

  /**
   * Marks the clock and ends all times of the later clock, or does neither: the worker that sees the step may fail, and
   * another one would not see it again, but would count spending that still has a later day.
   */
  private async followClock(tx: Queryable, sinceMs: number | undefined): Promise<ClockCheck> {
    const aheadMs = sinceMs === undefined ? ABSENCE_MAX_MS : sinceMs + JUMP_MIN_MS;
    const [row] = await tx.query<{ back_sec: number; jumped_sec: number }>(MARK_CLOCK, [JUMP_MIN_MS, aheadMs]);
    const { back_sec: setBackSec, jumped_sec: jumpedSec } = row ?? { back_sec: 0, jumped_sec: 0 };
    if (setBackSec < SET_BACK_MIN_SEC) return { setBackSec: 0, jumpedSec, woken: await this.wakeLaterOrders(tx) };
    const woken = await this.endWaits(tx);
    // The later clock ran on after its last reading, so the step is longer than the distance to that reading.
    await tx.query(END_LATER_TIMES, [setBackSec + (sinceMs ?? 0) / 1000]);
    return { setBackSec, jumpedSec, woken };
  }

  private async wakeAfterStep(tx: Queryable): Promise<void> {
    const [row] = await tx.query<{ back_sec: number }>(STEP_BACK);
    if ((row?.back_sec ?? 0) >= SET_BACK_MIN_SEC) await this.endWaits(tx);
  }

  /** Ends the waits of orders, top-ups, wallets and legs for a later clock. Returns the number of orders. */
  private async endWaits(tx: Queryable): Promise<number> {
    const woken = await wakePostponedOrders(tx, this.config.worker.leaseSec + 1);
    await endTopUpRests(tx);
    await tx.query(END_HOLDS);
    await restartLegWaits(tx);
    return woken;
  }

  private async wakeLaterOrders(tx: Queryable): Promise<number> {
    const { leaseSec, resendSec } = this.config.worker;
    const usual = Math.max(leaseSec, resendSec, SOLID_WAIT_SEC) + 1;
    return wakeOrdersFromAhead(tx, usual, Math.max(usual, LONGEST_REST_SEC + 1));
  }
}
