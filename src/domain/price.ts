/**
 * Computes a rental's price from the operator's price table, and whether it is worth selling. Pure; integer arithmetic
 * only.
 */
import { toJsonInteger, type Energy, type Sun } from './units.js';
import { decimal } from './conversion.js';
import { LEGS_MAX } from './order-state.js';

/** The default duration of a rental in seconds. The interface fixes it, and request hashes include it. */
export const DEFAULT_DURATION_SEC = 3600;

/** One row of the price table: the price in sun per energy, up to this duration. */
export interface PriceRow {
  readonly durationMaxSec: number;
  readonly sunPerEnergy: bigint;
  /** The price of one unit of bandwidth, in sun; absent or null where none is sold. */
  readonly sunPerBandwidth?: bigint | null | undefined;
}

/** A part of the price table, by the resource that it prices. */
interface PricedTable {
  readonly unit: 'energy' | 'bandwidth';
  readonly rows: readonly PriceRow[];
}

/** Returns the prices of bandwidth as a table that has them in the place of those of energy. */
export function bandwidthTable(rows: readonly PriceRow[]): PricedTable {
  return {
    unit: 'bandwidth',
    rows: rows.flatMap(({ durationMaxSec, sunPerBandwidth: price }) =>
      price === null || price === undefined ? [] : [{ durationMaxSec, sunPerEnergy: price }],
    ),
  };
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

const RECOVERY_SEC = 86_400;

/**
 * Returns the most times that a wallet can spend rented energy during a rental: once, and again for each whole day,
 * since used energy recovers within 24 hours.
 */
export function mostUses(durationSec: number): number {
  return 1 + Math.floor(durationSec / RECOVERY_SEC);
}

/**
 * Returns how often an address that is kept supplied spends a refill in full, at least once. A refill starts after a
 * use, so its energy is spent some time after its start, and the last use has no full day to recover.
 */
export function usesOfRefill(durationSec: number): number {
  return Math.max(1, Math.floor(durationSec / RECOVERY_SEC));
}

/**
 * Returns the smallest energy whose price by this row is below the cost of burning it `uses` times; undefined if no
 * amount is worth renting.
 */
export function leastWorthRenting(row: PriceRow, floor: Sun, energyFeeSun: bigint, uses = 1): Energy | undefined {
  const burnt = energyFeeSun * BigInt(uses);
  if (row.sunPerEnergy >= burnt) return undefined;
  return (floor / burnt + 1n) as Energy;
}

/** Returns the fewest uses by which any amount of a row is worth renting; undefined if even the most are too few. */
export function fewestUsesOf({ sunPerEnergy, durationMaxSec }: PriceRow, energyFeeSun: bigint): number | undefined {
  return fewestUses(sunPerEnergy as Sun, energyFeeSun as Sun, durationMaxSec);
}

/**
 * Returns the fewest uses that make a rental at `price` worth renting; undefined if even the most that its duration
 * allows do not. `burnOnce` is the cost of burning its energy once.
 */
export function fewestUses(price: Sun, burnOnce: Sun, durationSec: number): number | undefined {
  if (burnOnce <= 0n) return undefined;
  const fewest = price / burnOnce + 1n;
  return fewest <= BigInt(mostUses(durationSec)) ? toJsonInteger(fewest) : undefined;
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

/** Returns a sentence for the operator about an unusually long duration; undefined for others. */
export function durationSlip(durationMaxSec: number): string | undefined {
  if (durationMaxSec <= USUAL_SEC_MAX) return undefined;
  return `${durationMaxSec.toString()} s is longer than ${USUAL_SEC_MAX.toString()} s (90 d).`;
}

/**
 * Returns possible mistakes in a new row as sentences for the operator. Compares with the burn price of one unit only if
 * it is known.
 */
export function slipsIn(row: PriceRow, { rows, unit }: PricedTable, energyFeeSun: bigint | undefined): string[] {
  const price = `${row.sunPerEnergy.toString()} sun per ${unit}`;
  const dearer = rows.find(
    ({ durationMaxSec, sunPerEnergy }) => durationMaxSec < row.durationMaxSec && sunPerEnergy > row.sunPerEnergy,
  );
  const never = energyFeeSun === undefined ? undefined : warningFor(row, energyFeeSun, unit);
  const better = betterByTheDay(row, rows);
  const long = durationSlip(row.durationMaxSec);
  return [
    ...(long === undefined ? [] : [long]),
    ...(dearer === undefined
      ? []
      : [`${price} is less than the price of the shorter row of ${dearer.durationMaxSec.toString()} s.`]),
    ...(energyFeeSun !== undefined && row.sunPerEnergy * BURN_PRICE_PART < energyFeeSun
      ? [`${price} is less than a tenth of the chain's burn price of ${energyFeeSun.toString()} sun.`]
      : []),
    ...(better === undefined ? [] : [cheapByTheDay(row, better, unit)]),
    ...(never === undefined ? [] : [never]),
  ];
}

/**
 * Returns the reason that a row can never be sold at this burn price, as a sentence for the operator; undefined if it
 * can. A row is judged by the most uses that its duration allows.
 */
export function warningFor(
  row: PriceRow,
  energyFeeSun: bigint,
  unit: PricedTable['unit'] = 'energy',
): string | undefined {
  const uses = mostUses(row.durationMaxSec);
  if (row.sunPerEnergy < energyFeeSun * BigInt(uses)) return undefined;
  const times = uses === 1 ? '' : ` for each of ${uses.toString()} uses`;
  return (
    `Up to ${row.durationMaxSec.toString()} s at ${row.sunPerEnergy.toString()} sun per ${unit} is not below the chain's ` +
    `burn price of ${energyFeeSun.toString()} sun${times}: every quote of this row is refused with NOT_WORTH_RENTING.`
  );
}

/** Returns the warning about a long row that earns less than the same stake by a shorter row. */
export function cheapByTheDay(row: PriceRow, better: PriceRow, unit: PricedTable['unit'] = 'energy'): string {
  return (
    `${row.durationMaxSec.toString()} s cost ${String(sunPerEnergyDay(row))} sun per ${unit} and day, less than half of ` +
    `the ${String(sunPerEnergyDay(better))} of ${better.durationMaxSec.toString()} s: the same stake earns more by the shorter row.`
  );
}

/** A longer rental below this part of a shorter one's price per day earns less once that is rented half of the time. */
const DAY_PRICE_PART = 2n;

/**
 * Returns the shorter row of at least a day that asks more than twice as much per day as `row`; undefined if none does.
 * The same stake would earn more by it, even if it were rented only half of the time.
 */
export function betterByTheDay(row: PriceRow, rows: readonly PriceRow[]): PriceRow | undefined {
  return rows.find(
    (shorter) =>
      shorter.durationMaxSec >= RECOVERY_SEC &&
      shorter.durationMaxSec < row.durationMaxSec &&
      row.sunPerEnergy * BigInt(shorter.durationMaxSec) * DAY_PRICE_PART <
        shorter.sunPerEnergy * BigInt(row.durationMaxSec),
  );
}

/** Returns the price per energy and day of a row that lasts at least a day, in sun with two decimals, rounded down. */
function sunPerEnergyDay(row: PriceRow): string | undefined {
  if (row.durationMaxSec < RECOVERY_SEC) return undefined;
  return decimal((row.sunPerEnergy * 100n * BigInt(RECOVERY_SEC)) / BigInt(row.durationMaxSec), 2);
}
