/**
 * Handles a database clock that was set back, or a new server with a slower clock. Work that was postponed, leased or
 * held by the later clock would wait until the new clock catches up, so it becomes due immediately. The database's
 * clock is compared only with its own last value, in a row that all workers share.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../../platform/support/clock.js';
import { Config } from '../../../platform/config/config.js';
import { ABSENCE_MAX_MS, JUMP_MIN_MS } from '../../../platform/database/confirmed-clock.js';
import { Database, type Queryable } from '../../../platform/database/database.js';
import { LONGEST_REST_SEC } from '../plan/reclaim-pace.js';

/** Smaller steps delay nothing that matters. */
const SET_BACK_MIN_SEC = 1;

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

/**
 * A near time of the later clock cannot be recognised, so all waiting work becomes due once. A lease within its normal
 * length may belong to a living worker, and ends soon.
 */
export const WAKE_ALL = `UPDATE open_orders o SET next_run_at = clock_timestamp(), lease_until = NULL
  WHERE o.id IN (
    SELECT id FROM open_orders
     WHERE next_run_at > clock_timestamp()
       AND (lease_until IS NULL OR lease_until > clock_timestamp() + $1 * interval '1 second')
     ORDER BY next_run_at DESC LIMIT 20000 FOR NO KEY UPDATE SKIP LOCKED)
  RETURNING o.id`;

/**
 * Ends the rests of top-ups. A hold of a wallet ends as it would have by the later clock: the wallet is tried again.
 */
const END_RESTS = [
  `UPDATE open_orders SET top_up_after = NULL
    WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL AND top_up_after > clock_timestamp()`,
  `UPDATE pool_wallet SET delivery_held_until = clock_timestamp() WHERE delivery_held_until > clock_timestamp()`,
];

/**
 * No work is postponed for longer than this, in seconds. The limit covers a lease, a resend and a wait for solid
 * blocks; for a failed or withheld reclaim without a lease it is the longest rest. A later time was written by a faster
 * clock that no worker noticed, for example on a server whose last commits a failover lost. One second more, so that
 * work due exactly at the limit is not affected.
 */
const WAKE_FROM_AHEAD = {
  name: 'wake_from_ahead',
  text: `UPDATE open_orders o SET next_run_at = clock_timestamp(), lease_until = NULL
    WHERE o.id IN (
      SELECT id FROM open_orders
       WHERE next_run_at > clock_timestamp() + $1 * interval '1 second'
         AND (next_run_at > clock_timestamp() + $2 * interval '1 second' OR NOT (settled OR undoing)
           OR lease_until > clock_timestamp() + $1 * interval '1 second')
       ORDER BY next_run_at DESC LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING o.id`,
};
const SOLID_WAIT_SEC = 180;

const END_LATER_TIMES = { name: 'end_later_times', text: `SELECT end_later_times($1)` };

/**
 * An unsent leg of the later clock has an age of zero until the new clock catches up. It waits from now on, so that its
 * order is refunded in time if it cannot be delivered.
 */
const RESTART_WAITS = `UPDATE open_leg SET changed_at = clock_timestamp() WHERE id IN (
    SELECT id FROM open_leg WHERE status IN ('reserved', 'placed') AND changed_at > clock_timestamp()
     ORDER BY id LIMIT 20000 FOR NO KEY UPDATE SKIP LOCKED)`;

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
  /** Monotonic time of this process's last read. */
  private checkedAtMs: number | undefined;

  constructor(
    private readonly database: Database,
    private readonly config: Config,
  ) {}

  /** Reads the clock once. If it went back, makes due all work that waits for a time of the later clock. */
  async checkClock(): Promise<ClockCheck> {
    const sinceMs = this.takeSinceMs();
    const check = await this.database.transaction(async (tx) => {
      const aheadMs = sinceMs === undefined ? ABSENCE_MAX_MS : sinceMs + JUMP_MIN_MS;
      const [row] = await tx.query<{ back_sec: number; jumped_sec: number }>(MARK_CLOCK, [JUMP_MIN_MS, aheadMs]);
      const { back_sec: setBackSec, jumped_sec: jumpedSec } = row ?? { back_sec: 0, jumped_sec: 0 };
      if (setBackSec < SET_BACK_MIN_SEC) return { setBackSec: 0, jumpedSec, woken: await this.wakeLaterOrders(tx) };
      const woken = await tx.query(WAKE_ALL, [this.config.worker.leaseSec + 1]);
      for (const text of [...END_RESTS, RESTART_WAITS]) await tx.query(text);
      return { setBackSec, jumpedSec, woken: woken.length };
    });
    // In a separate transaction: it locks rows of many tables, which other processes may hold for long. The later clock
    // ran on after its last reading, so the step is longer than the distance to that reading.
    if (check.setBackSec > 0) {
      await this.database.query(END_LATER_TIMES, [check.setBackSec + (sinceMs ?? 0) / 1000]);
    }
    return check;
  }

  /** Returns the milliseconds since this process's last read, by its monotonic clock; undefined at the first one. */
  private takeSinceMs(): number | undefined {
    const atMs = monotonicMs();
    const sinceMs = this.checkedAtMs === undefined ? undefined : atMs - this.checkedAtMs;
    this.checkedAtMs = atMs;
    return sinceMs;
  }

  private async wakeLaterOrders(tx: Queryable): Promise<number> {
    const { leaseSec, resendSec } = this.config.worker;
    const usual = Math.max(leaseSec, resendSec, SOLID_WAIT_SEC) + 1;
    return (await tx.query(WAKE_FROM_AHEAD, [usual, Math.max(usual, LONGEST_REST_SEC + 1)])).length;
  }
}
