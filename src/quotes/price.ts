/** What a rental costs by the operator's price table, and whether it is worth selling. Pure; integer arithmetic only. */
import type { Energy, Sun } from '../money/units.js';

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

/** The price of `amount` energy by one row, exact. */
export function rentalPrice(amount: Energy, row: PriceRow): Sun {
  return (amount * row.sunPerEnergy) as Sun;
}

/** Contract 3: equal is not worth it. */
export function isWorthRenting(price: Sun, burn: Sun): boolean {
  return price < burn;
}

/** Why a row can never be sold at this burn price, in a sentence for the operator; undefined when it can. */
export function warningFor(row: PriceRow, energyFeeSun: bigint): string | undefined {
  if (row.sunPerEnergy < energyFeeSun) return undefined;
  return (
    `Up to ${row.durationMaxSec.toString()} s at ${row.sunPerEnergy.toString()} sun per energy is not below the chain's ` +
    `burn price of ${energyFeeSun.toString()} sun: every quote of this row is refused with NOT_WORTH_RENTING.`
  );
}
