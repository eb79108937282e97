/** Counts the uses of an address by UTC day, and derives how often a rental's energy will be used. Pure. */
import { usesOfRefill } from '../../domain/price.js';

/** Days that count. The statement that marks a use keeps this many before the day of the newest one. */
const HISTORY_DAYS = 30;

const DAY_MS = 86_400_000;

/** As a row of `auto_delegation` has it. */
export interface UseHistory {
  /** The UTC day of the newest use, by the chain's clock. */
  readonly uses_on?: string | null;
  /** Blocks with a use on that day and on the days before it, newest first. */
  readonly daily_uses?: readonly number[] | null;
}

export interface MeasuredUses {
  /** UTC days that have ended since the first counted use, at most HISTORY_DAYS. */
  readonly days: number;
  /** Those of them with a use. */
  readonly usedDays: number;
  readonly uses: number;
  /** The most uses of one day. */
  readonly mostUses: number;
}

/** Returns the uses of the days that have ended at the chain's time `clockMs`; undefined before one has. */
export function measuredUses(
  { uses_on: newest, daily_uses: counts }: UseHistory,
  clockMs: number,
): MeasuredUses | undefined {
  if (newest === undefined || newest === null || counts === undefined || counts === null) return undefined;
  const daysSince = Math.floor(clockMs / DAY_MS) - Math.floor(Date.parse(newest) / DAY_MS);
  const unused = Array.from({ length: Math.min(Math.max(daysSince - 1, 0), HISTORY_DAYS) }, () => 0);
  const ended = [...unused, ...(daysSince > 0 ? counts : counts.slice(1))].slice(0, HISTORY_DAYS);
  if (ended.length === 0) return undefined;
  return {
    days: ended.length,
    usedDays: ended.filter((count) => count > 0).length,
    uses: ended.reduce((sum, count) => sum + count, 0),
    mostUses: Math.max(...ended),
  };
}

/**
 * Returns how often the energy of a refill will be spent: once in each whole day, since used energy recovers within 24
 * hours, but only on days with a use as far as they were measured. At least once, and rounded down.
 */
export function usesExpected(durationSec: number, measured: MeasuredUses | undefined): number {
  const most = usesOfRefill(durationSec);
  if (measured === undefined) return most;
  return Math.max(1, Math.floor((most * measured.usedDays) / measured.days));
}
