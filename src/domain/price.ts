/**
 * Computes a rental's price from the operator's price table, and whether it is worth selling. Pure; integer arithmetic
 * only.
 */
import type { Energy, Sun } from './units.js';
import { LEGS_MAX } from './order-state.js';

/** The default duration of a rental in seconds. The interface fixes it, and request hashes include it. */
export const DEFAULT_DURATION_SEC = 3600;

/** One row of the price table: the price in sun per energy, up to this duration. */
export interface PriceRow {
  readonly durationMaxSec: number;
  readonly sunPerEnergy: bigint;
}

/** Returns the row for a duration: the shortest that covers it; undefined beyond the longest. */
export function rowFor(rows: readonly PriceRow[], durationSec: number): PriceRow | undefined {
  let found: PriceRow | undefined;
  for (const row of rows) {
    if (durationSec <= row.durationMaxSec && (found === undefined || row.durationMaxSec < found.durationMaxSec)) {
      found = row;
    }
  }
  return found;
}

/** Returns the longest duration on sale in seconds; 0 for an empty table. */
export function longestDurationSec(rows: readonly PriceRow[]): number {
  return rows.reduce((longest, row) => Math.max(longest, row.durationMaxSec), 0);
}

/** Returns the exact price of `amount` energy by one row, but at least `floor`, the cost of delivering any amount. */
export function rentalPrice(amount: Energy, row: PriceRow, floor: Sun): Sun {
  const price = amount * row.sunPerEnergy;
  return (price > floor ? price : floor) as Sun;
}

/**
 * Returns the smallest energy whose price by this row is below its burn price; undefined if no amount is worth renting.
 */
export function leastWorthRenting(row: PriceRow, floor: Sun, energyFeeSun: bigint): Energy | undefined {
  if (row.sunPerEnergy >= energyFeeSun) return undefined;
  return (floor / energyFeeSun + 1n) as Energy;
}

/** Returns the number of wallets to spread an order of this price over: as many as the price pays for, at least one. */
export function legsAffordable(price: Sun, floor: Sun): bigint {
  const most = BigInt(LEGS_MAX);
  const paidFor = floor > 0n ? price / floor : most;
  if (paidFor >= most) return most;
  return paidFor < 1n ? 1n : paidFor;
}

/** An equal price is not worth renting (docs/interface.md §6). */
export function isWorthRenting(price: Sun, burn: Sun): boolean {
  return price < burn;
}

/** Longer rentals are not in demand. Stake bound for so long earns nothing in between. */
const USUAL_SEC_MAX = 90 * 86_400;
/** Below this part of the burn price a rental costs more than it earns. */
const BURN_PRICE_PART = 10n;

/**
 * Returns possible mistakes in a new row as sentences for the operator. Compares with the burn price only if it is
 * known.
 */
export function slipsIn(row: PriceRow, rows: readonly PriceRow[], energyFeeSun: bigint | undefined): string[] {
  const price = `${row.sunPerEnergy.toString()} sun per energy`;
  const dearer = rows.find(
    ({ durationMaxSec, sunPerEnergy }) => durationMaxSec < row.durationMaxSec && sunPerEnergy > row.sunPerEnergy,
  );
  const never = energyFeeSun === undefined ? undefined : warningFor(row, energyFeeSun);
  return [
    ...(row.durationMaxSec > USUAL_SEC_MAX
      ? [`${row.durationMaxSec.toString()} s is longer than ${USUAL_SEC_MAX.toString()} s (90 d).`]
      : []),
    ...(dearer === undefined
      ? []
      : [`${price} is less than the price of the shorter row of ${dearer.durationMaxSec.toString()} s.`]),
    ...(energyFeeSun !== undefined && row.sunPerEnergy * BURN_PRICE_PART < energyFeeSun
      ? [`${price} is less than a tenth of the chain's burn price of ${energyFeeSun.toString()} sun.`]
      : []),
    ...(never === undefined ? [] : [never]),
  ];
}

/**
 * Returns the reason that a row can never be sold at this burn price, as a sentence for the operator; undefined if it
 * can.
 */
export function warningFor(row: PriceRow, energyFeeSun: bigint): string | undefined {
  if (row.sunPerEnergy < energyFeeSun) return undefined;
  return (
    `Up to ${row.durationMaxSec.toString()} s at ${row.sunPerEnergy.toString()} sun per energy is not below the chain's ` +
    `burn price of ${energyFeeSun.toString()} sun: every quote of this row is refused with NOT_WORTH_RENTING.`
  );
}
