/** Price of bandwidth in an order, from the same table and by the same rules as energy. Pure. */
import { ApiError, invalidField } from '../../domain/errors.js';
import {
  bandwidthTable,
  fewestUses,
  isWorthRenting,
  leastWorthRenting,
  longestDurationSec,
  rentalPrice,
  rowFor,
} from '../../domain/price.js';
import { creditsOf } from '../../domain/conversion.js';
import { energy, sun, type Energy, type Sun } from '../../domain/units.js';
import { floorOf, priceTime, type PricedTime, type SaleFigures } from './direct-price.js';

/** Bandwidth that a caller asks for. */
export interface BandwidthWanted {
  readonly units: bigint;
  readonly durationSec: number;
  readonly uses: number;
}

/** Returns the cost of burning TRX for `units` as often as they are used. TRON: getTransactionFee. */
export function bandwidthBurnPrice(
  { units, uses }: BandwidthWanted,
  { transactionFeeSunPerByte }: SaleFigures['fees'],
): Sun {
  return (units * transactionFeeSunPerByte * BigInt(uses)) as Sun;
}

/**
 * Returns the price of bandwidth. Throws ApiError INVALID_REQUEST if none is on sale for so long, and
 * NOT_WORTH_RENTING.
 */
export function priceBandwidth(
  { rules, priceRows, fees }: Pick<SaleFigures, 'rules' | 'priceRows' | 'fees'>,
  wanted: BandwidthWanted,
  floor = floorOf(rules, fees),
): Sun {
  const { units, durationSec, uses } = wanted;
  const row = rowFor(bandwidthTable(priceRows).rows, durationSec);
  if (row === undefined) throw invalidField('bandwidth', 'is not on sale for this duration');
  // A table of bandwidth has its prices in the place of those of energy.
  const price = rentalPrice(units as Energy, row, floor);
  if (isWorthRenting(price, bandwidthBurnPrice(wanted, fees))) return price;
  const feeSun = fees.transactionFeeSunPerByte;
  const least = leastWorthRenting(row, floor, feeSun, uses);
  const fewest = fewestUses(price, (units * feeSun) as Sun, durationSec);
  throw new ApiError(
    'NOT_WORTH_RENTING',
    [
      'Renting this bandwidth for this duration costs no less than burning TRX for it at present.',
      ...(least === undefined ? [] : [`The smallest amount worth renting is ${String(least)} units.`]),
      ...(fewest === undefined
        ? []
        : [`If the wallet spends it at least ${fewest.toString()} times in that time, send expected_uses.`]),
      ...(least === undefined && fewest === undefined ? ['Order without bandwidth.'] : []),
    ].join(' '),
  );
}

/** A rental that gets additional time. */
export interface SoldRental {
  readonly energy: bigint;
  /** Units of bandwidth beside the energy; null if none. */
  readonly bandwidth: bigint | null;
}

/**
 * Returns the price of additional time for all that a running rental delegates; as `priceTime`. The rental may last no
 * longer than the longest rental of each of its resources on sale.
 */
export function priceAddedTime(figures: SaleFigures, rental: SoldRental, durationSec: number, uses = 1): PricedTime {
  const priced = priceTime(figures, energy(rental.energy), durationSec, uses);
  if (rental.bandwidth === null) return priced;
  const bandwidthSun = priceBandwidth(figures, { units: rental.bandwidth, durationSec, uses }, sun(0));
  const priceSun = sun(priced.priceSun + bandwidthSun);
  const longestSec = Math.min(priced.longestSec, longestDurationSec(bandwidthTable(figures.priceRows).rows));
  return { ...priced, priceSun, credits: creditsOf(priceSun, priced.rate), longestSec };
}
