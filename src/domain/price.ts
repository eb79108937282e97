/** What a rental costs by the operator's price table, and whether it is worth selling. Pure; integer arithmetic only. */
import type { Energy, Sun } from './units.js';
import { LEGS_MAX } from './order-state.js';

/** The rental when nothing is said, in seconds: the interface's own figure, and part of what makes two requests the same. */
export const DEFAULT_DURATION_SEC = 3600;

/** One line of the price table: up to this duration, so many sun per energy. */
export interface PriceRow {
  readonly durationMaxSec: number;
  readonly sunPerEnergy: bigint;
}

/** The row a duration falls into: the shortest that still covers it; undefined beyond the longest. */
export function rowFor(rows: readonly PriceRow[], durationSec: number): PriceRow | undefined {
  let found: PriceRow | undefined;
  for (const row of rows) {
    if (durationSec <= row.durationMaxSec && (found === undefined || row.durationMaxSec < found.durationMaxSec)) {
      found = row;
    }
  }
  return found;
}

/** The longest duration on sale in seconds; 0 for an empty table. */
export function longestDurationSec(rows: readonly PriceRow[]): number {
  return rows.reduce((longest, row) => Math.max(longest, row.durationMaxSec), 0);
}

/** The price of `amount` energy by one row, exact; never below `floor`, what delivering any amount costs. */
export function rentalPrice(amount: Energy, row: PriceRow, floor: Sun): Sun {
  const price = amount * row.sunPerEnergy;
  return (price > floor ? price : floor) as Sun;
}

/** The least energy whose price by this row is below its burn price; undefined when no amount is worth renting. */
export function leastWorthRenting(row: PriceRow, floor: Sun, energyFeeSun: bigint): Energy | undefined {
  if (row.sunPerEnergy >= energyFeeSun) return undefined;
  return (floor / energyFeeSun + 1n) as Energy;
}

/** Over how many wallets an order of this price may be spread: as many as it pays for, one at least. */
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

/** Longer than this nobody rents; stake bound for so long earns nothing in between. */
const USUAL_SEC_MAX = 90 * 86_400;
/** Below this part of the burn price a rental costs more than it brings in. */
const BURN_PRICE_PART = 10n;

/** What may be a slip in a new row, a sentence each, for the operator; the burn price only where it is known. */
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
      : [`${price} is less than the shorter row of ${dearer.durationMaxSec.toString()} s asks.`]),
    ...(energyFeeSun !== undefined && row.sunPerEnergy * BURN_PRICE_PART < energyFeeSun
      ? [`${price} is less than a tenth of the chain's burn price of ${energyFeeSun.toString()} sun.`]
      : []),
    ...(never === undefined ? [] : [never]),
  ];
}

/** Why a row can never be sold at this burn price, in a sentence for the operator; undefined when it can. */
export function warningFor(row: PriceRow, energyFeeSun: bigint): string | undefined {
  if (row.sunPerEnergy < energyFeeSun) return undefined;
  return (
    `Up to ${row.durationMaxSec.toString()} s at ${row.sunPerEnergy.toString()} sun per energy is not below the chain's ` +
    `burn price of ${energyFeeSun.toString()} sun: every quote of this row is refused with NOT_WORTH_RENTING.`
  );
}
