/** Prices of a direct order and of additional time for a running rental, from the caller's figures. Pure. */
import { burnPrice, creditsOf } from '../../domain/conversion.js';
import { ApiError, invalidField } from '../../domain/errors.js';
import { feeLimitFor, type FeeLimit, type FeeLimitRules } from '../../domain/fee-limit.js';
import {
  fewestUses,
  isWorthRenting,
  leastWorthRenting,
  longestDurationSec,
  rentalPrice,
  rowFor,
  type PriceRow,
} from '../../domain/price.js';
import { energy, sun, type Credits, type Energy, type RateE8, type Sun } from '../../domain/units.js';
import { priceFloor } from '../pool/bandwidth.js';

/** The settings of sales that a price depends on. */
export interface SaleRules {
  readonly energyMin: number;
  readonly energyMax: number;
  readonly durationMinSec: number;
  readonly priceFloorBps: number;
}

/** Each getter may throw ApiError while its figure is unavailable. */
export interface SaleFigures {
  readonly rules: SaleRules;
  readonly priceRows: readonly PriceRow[];
  readonly fees: FeeLimitRules & { readonly transactionFeeSunPerByte: bigint };
  readonly rate: RateE8;
}

export interface PricedTime extends FeeLimit {
  readonly priceSun: Sun;
  readonly credits: Credits;
  readonly rate: RateE8;
  /** The longest rental on sale; the remaining time of any rental must not exceed it. */
  readonly longestSec: number;
}

const NO_FLOOR = sun(0);

/**
 * Returns the price of additional time for a running rental: a direct order's price without the floor, because the
 * floor pays for transactions. `uses`: how often the wallet will spend the energy in that time. Throws ApiError
 * INVALID_REQUEST for a duration that is not on sale, and NOT_WORTH_RENTING.
 */
export function priceTime(figures: SaleFigures, amount: Energy, durationSec: number, uses = 1): PricedTime {
  return priceAbove(figures, NO_FLOOR, { amount, durationSec, uses });
}

/** Returns the price of a direct order, regardless of the pool's free stake. Throws as `priceTime` does. */
export function priceDirect(figures: SaleFigures, amount: Energy, durationSec: number, uses = 1): PricedTime {
  rowOf(figures, durationSec);
  return priceAbove(figures, floorOf(figures.rules, figures.fees), { amount, durationSec, uses });
}

/** Returns the least energy that is on sale and worth renting for this duration. Throws as `priceTime` does. */
export function leastEnergy(figures: SaleFigures, durationSec: number, uses = 1): Energy {
  const row = rowOf(figures, durationSec);
  const least = leastWorthRenting(row, floorOf(figures.rules, figures.fees), figures.fees.energyFeeSun, uses);
  if (least === undefined) throw notWorthRenting(undefined, undefined, figures.rules);
  const named = energy(figures.rules.energyMin);
  return least > named ? least : named;
}

export function rowOf({ rules: { durationMinSec }, priceRows }: SaleFigures, durationSec: number): PriceRow {
  const row = durationSec < durationMinSec ? undefined : rowFor(priceRows, durationSec);
  if (row !== undefined) return row;
  throw invalidField(
    'duration_sec',
    `must be from ${durationMinSec.toString()} to ${longestDurationSec(priceRows).toString()} seconds`,
  );
}

export function floorOf({ priceFloorBps }: SaleRules, { transactionFeeSunPerByte }: SaleFigures['fees']): Sun {
  return priceFloor(transactionFeeSunPerByte, priceFloorBps);
}

/**
 * Returns the refusal with its remedy: the smallest amount worth renting (`least`), the fewest uses that would make it
 * so (`fewest`), or neither.
 */
function notWorthRenting(
  least: Energy | undefined,
  fewest: number | undefined,
  { energyMin, energyMax }: SaleRules,
): ApiError {
  const lead = 'Renting this energy for this duration costs no less than burning TRX for it at present';
  const isOnSale = least !== undefined && least <= BigInt(energyMax);
  const smallest = isOnSale && least < BigInt(energyMin) ? BigInt(energyMin) : least;
  const often =
    fewest === undefined
      ? ''
      : ` If the wallet spends it at least ${fewest.toString()} times in that time, send expected_uses.`;
  if (isOnSale) return notWorth(`${lead}. The smallest amount worth renting is ${String(smallest)} energy.${often}`);
  return notWorth(
    often === ''
      ? `${lead}, for any amount. Request a shorter rental, or send the transaction without renting.`
      : `${lead}.${often}`,
  );
}

const notWorth = (msg: string): ApiError => new ApiError('NOT_WORTH_RENTING', msg);

interface TimeWanted {
  readonly amount: Energy;
  readonly durationSec: number;
  readonly uses: number;
}

function priceAbove(figures: SaleFigures, floor: Sun, { amount, durationSec, uses }: TimeWanted): PricedTime {
  const row = rowOf(figures, durationSec);
  const priceSun = rentalPrice(amount, row, floor);
  assertWorthRenting({ amount, durationSec, uses, priceSun, row, floor }, figures);
  const { rate } = figures;
  return {
    priceSun,
    credits: creditsOf(priceSun, rate),
    rate,
    ...feeLimitFor(amount, figures.fees),
    longestSec: longestDurationSec(figures.priceRows),
  };
}

/** Throws ApiError NOT_WORTH_RENTING unless the price is below the cost of burning the energy `uses` times. */
export function assertWorthRenting(
  priced: TimeWanted & { readonly priceSun: Sun; readonly row: PriceRow; readonly floor: Sun },
  { fees: { energyFeeSun }, rules }: Pick<SaleFigures, 'fees' | 'rules'>,
): void {
  const { amount, durationSec, uses, priceSun, row, floor } = priced;
  if (isWorthRenting(priceSun, burnPrice(amount, energyFeeSun, uses))) return;
  const fewest = fewestUses(priceSun, burnPrice(amount, energyFeeSun), durationSec);
  throw notWorthRenting(leastWorthRenting(row, floor, energyFeeSun, uses), fewest, rules);
}
