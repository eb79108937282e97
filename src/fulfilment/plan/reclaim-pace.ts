/**
 * How soon a reclaim is tried again. It is never given up, so what fails for a reason that lasts (a lost key, a missing
 * delegation) would otherwise make transactions and reads without end.
 */
import type { Tally } from '../loop/claimed-order.js';

/** Attempts that follow one another at once: some minutes, since each takes its validity to fail. */
const QUICK_ATTEMPTS = 4;
const FIRST_REST_SEC = 300;
export const LONGEST_REST_SEC = 3600;

/** Within this after its end a withheld rental is checked every second: an inclusion may arrive any moment. */
const CLOSE_LOOK_MS = 60_000;
const CLOSE_REST_MS = 1000;
/** Later, in a part of the time that it is late already. */
const LATENESS_PART = 10;

/**
 * Milliseconds until the next attempt; 0 when it is due. So is it when the last one was made in the future, before the
 * database's clock was set back: its age will not be known until the clock has caught up. An attempt from before the
 * chain began to move again (`movingSec` ago) failed by the outage, so the next one is due too.
 */
export function reclaimRestMs(failed: Tally | undefined, movingSec = Number.POSITIVE_INFINITY): number {
  if (failed === undefined || failed.recent < QUICK_ATTEMPTS || failed.lastAgeSec < 0) return 0;
  if (failed.lastAgeSec > movingSec) return 0;
  const doublings = Math.min(failed.recent - QUICK_ATTEMPTS, 10);
  const restSec = Math.min(FIRST_REST_SEC * 2 ** doublings, LONGEST_REST_SEC);
  return Math.max(0, restSec - failed.lastAgeSec) * 1000;
}

/** Milliseconds until a reclaim is checked again for which too little stood on chain so long after its rental's end. */
export function withheldRestMs(lateMs: number): number {
  if (lateMs <= CLOSE_LOOK_MS) return CLOSE_REST_MS;
  return Math.min(lateMs / LATENESS_PART, LONGEST_REST_SEC * 1000);
}
