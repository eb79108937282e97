/** SQL conditions on leases and due times that also hold when the database's clock jumps. */

/**
 * Tolerance for the time between writing and reading. A lease longer than its length plus this was written by a later
 * clock.
 */
const SLACK_SEC = 1;

/**
 * Condition that a lease is free. A lease further ahead than its own length was written by a clock that was ahead of
 * this one; its holder cannot be alive for that long, so it counts as free.
 *
 * @param lease column with the lease's end
 * @param lengthSec length of the lease in seconds, as SQL
 * @param now SQL of the present time; `statement_timestamp()` where an index is searched
 */
export function leaseIsFree(lease: string, lengthSec: string | number, now = 'clock_timestamp()'): string {
  return `(${lease} IS NULL OR ${lease} < ${now} OR ${isFromLaterClock(lease, lengthSec, now)})`;
}

/**
 * Condition that a row is due. A time further ahead than the longest rest was written by a clock that was ahead of this
 * one, so the row is due now.
 *
 * @param at column with the due time
 * @param longestSec longest rest in seconds, as SQL
 */
export function isDue(at: string, longestSec: string | number, now = 'clock_timestamp()'): string {
  return `(${at} <= ${now} OR ${isFromLaterClock(at, longestSec, now)})`;
}

/** Condition that a time lies further ahead than `lengthSec` allows. */
export function isFromLaterClock(at: string, lengthSec: string | number, now = 'clock_timestamp()'): string {
  return `${at} > ${now} + (${lengthSec.toString()} + ${SLACK_SEC.toString()}) * interval '1 second'`;
}
