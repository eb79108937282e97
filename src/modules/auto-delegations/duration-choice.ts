/** Chooses the duration of a purchase that costs least for each use of its address. Pure. */
import { ApiError } from '../../domain/errors.js';
import { longestDurationSec, type PriceRow } from '../../domain/price.js';
import type { Credits, Sun } from '../../domain/units.js';
import { usesExpected, type MeasuredUses } from './use-history.js';

const DAY_SEC = 86_400;

/** Returns a day, or the longest rental on sale if that is shorter. */
export const usualDurationSec = (longestSec: number | undefined): number => Math.min(DAY_SEC, longestSec ?? DAY_SEC);

/** The price of one purchase. */
export interface PurchasePrice {
  readonly priceSun: Sun;
  readonly credits: Credits;
}

export interface DurationInput {
  readonly priceRows: readonly PriceRow[];
  readonly measured: MeasuredUses | undefined;
  /** The longest time that the purchase may cover, in seconds. */
  readonly longestSec: number;
  /** Credits that may still be spent today; undefined if nothing limits them. */
  readonly creditsLeft: bigint | undefined;
  /** Returns the price, or undefined above the highest price to pay. Throws ApiError for a duration that is not sold. */
  readonly priceOf: (durationSec: number, uses: number) => PurchasePrice | undefined;
}

interface Candidate extends PurchasePrice {
  readonly durationSec: number;
  readonly uses: number;
}

/**
 * Returns the duration with the least price for each use, among a day and the longer rows of the price table.
 *
 * - Never shorter than a day: an address is kept supplied between its uses too, and a short rental that is not used in
 *   time must be extended.
 * - Never longer than the use was measured: the address may stop, and a rental is not returned.
 * - Longer than a day only while today's credits also cover a day of the most uses that were measured, so that no longer
 *   rental uses up the cap that the next uses need.
 */
export function chooseDuration(input: DurationInput): number {
  const { priceRows, measured, longestSec, creditsLeft } = input;
  const usualSec = usualDurationSec(longestDurationSec(priceRows));
  if (measured === undefined) return usualSec;
  const usual = candidateOf(input, usualSec);
  const mostSec = Math.min(longestSec, measured.days * DAY_SEC);
  let best = usual;
  for (const durationSec of sortedDurations(priceRows)) {
    if (durationSec <= usualSec || durationSec > mostSec) continue;
    const longer = candidateOf(input, durationSec);
    if (longer === undefined) continue;
    const reserved = BigInt(measured.mostUses) * (usual ?? longer).credits;
    if (creditsLeft !== undefined && longer.credits + reserved > creditsLeft) continue;
    if (best === undefined || isCheaper(longer, best)) best = longer;
  }
  return best?.durationSec ?? usualSec;
}

/** Compares the exact prices of a use. Equal prices leave the shorter rental. */
function isCheaper(one: Candidate, other: Candidate): boolean {
  return one.priceSun * BigInt(other.uses) < other.priceSun * BigInt(one.uses);
}

function candidateOf({ measured, priceOf }: DurationInput, durationSec: number): Candidate | undefined {
  const uses = usesExpected(durationSec, measured);
  try {
    const price = priceOf(durationSec, uses);
    return price && { ...price, durationSec, uses };
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

export function sortedDurations(priceRows: readonly PriceRow[]): number[] {
  return priceRows.map(({ durationMaxSec }) => durationMaxSec).sort((a, b) => a - b);
}
