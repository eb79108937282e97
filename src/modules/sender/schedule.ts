/** Judges attempts and schedules retries (docs/interface.md §27). Pure. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** Delay after the first attempt, the second, and so on; after the twelfth the delivery has failed. */
const DELAYS_SEC = [
  ...[5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
] as const;
const JITTER = 0.2;
const RETRY_AFTER_SEC_MAX = 24 * HOUR;

/** Statuses below 500 with which a receiver asks for fewer requests; they don't concern the event. */
export const SLOWING_STATUSES: readonly number[] = [408, 425, 429];

/** `refused`: the receiver works and refuses this event. `slowing`: it should get less until it accepts something. */
export type Verdict = 'taken' | 'refused' | 'slowing';

/** Returns the meaning of an attempt for its endpoint. */
export function verdictOf({
  fault,
  status = 0,
}: {
  readonly fault: unknown;
  readonly status: number | undefined;
}): Verdict {
  if (fault === undefined) return 'taken';
  return status >= 400 && status < 500 && !SLOWING_STATUSES.includes(status) ? 'refused' : 'slowing';
}

/**
 * Returns the ms until the next attempt after `attempts` failures, or undefined if there is none. A later time from the
 * receiver's Retry-After is respected, up to a day. `random` is from 0 to 1.
 */
export function delayAfterMs(attempts: number, retryAfterSec: number | undefined, random: number): number | undefined {
  const planned = DELAYS_SEC[attempts - 1];
  if (planned === undefined) return undefined;
  const jittered = planned * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(jittered, Math.min(retryAfterSec ?? 0, RETRY_AFTER_SEC_MAX)) * 1000);
}

/** Returns the seconds of a Retry-After header, given as a number or a date; undefined if it is neither. */
export function retryAfterSecOf(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header.trim());
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
