/**
 * Paces the retries of a reclaim. A reclaim is never given up, so a lasting failure (a lost key, a missing delegation)
 * would otherwise cause endless transactions and reads.
 */
import type { Tally } from '../loop/claimed-order.js';

/** Attempts without a pause between them. They take some minutes, since each fails only when its validity ends. */
const QUICK_ATTEMPTS = 4;
const FIRST_REST_SEC = 300;
export const LONGEST_REST_SEC = 3600;

/** For this long after its end a withheld rental is checked every second: an inclusion may arrive at any moment. */
const CLOSE_LOOK_MS = 60_000;
const CLOSE_REST_MS = 1000;
/** After that, the pause is this fraction of the lateness. */
const LATENESS_PART = 10;

/**
 * Returns the milliseconds until the next attempt, 0 if it is due. It is also due if the database's clock was set back,
 * so that the last attempt lies in the future and its age is unknown. An attempt from before the chain resumed
 * (`movingSec` ago) failed by the outage, so the next one is due too.
 */
export function reclaimRestMs(failed: Tally | undefined, movingSec = Number.POSITIVE_INFINITY): number {
  if (failed === undefined || failed.recent < QUICK_ATTEMPTS || failed.lastAgeSec < 0) return 0;
  if (failed.lastAgeSec > movingSec) return 0;
  const doublings = Math.min(failed.recent - QUICK_ATTEMPTS, 10);
  const restSec = Math.min(FIRST_REST_SEC * 2 ** doublings, LONGEST_REST_SEC);
  return Math.max(0, restSec - failed.lastAgeSec) * 1000;
}

/**
 * Returns the milliseconds until the next check of a reclaim withheld for a short delegation, `lateMs` after its
 * rental's end.
 */
export function withheldRestMs(lateMs: number): number {
  if (lateMs <= CLOSE_LOOK_MS) return CLOSE_REST_MS;
  return Math.min(lateMs / LATENESS_PART, LONGEST_REST_SEC * 1000);
}
