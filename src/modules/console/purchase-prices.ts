/** Terms of purchases in the console, from stored records: a console asks no node. Pure. */
import { burnPrice, creditsOf, trxOf } from '../../domain/conversion.js';
import { ApiError } from '../../domain/errors.js';
import { sumOfParts, type OrderItem } from '../../domain/order-items.js';
import { legsAffordable } from '../../domain/price.js';
import { energy, sun, toJsonInteger, type Energy } from '../../domain/units.js';
import { sunForBandwidth, sunOfOneUnit } from '../pool/bandwidth-stake.js';
import { marginFor, sunForEnergy, sunOfOneEnergy } from '../pool/energy-ratio.js';
import { bandwidthBurnPrice, priceBandwidth } from '../quotes/bandwidth-price.js';
import { floorOf, priceDirect, type PricedTime, type SaleFigures } from '../quotes/direct-price.js';
import type { OrderTerms } from '../orders/purchase.js';
import { playedRefusal } from '../orders/receiver.js';
import { testAddressRefusal } from '../quotes/test-receivers.js';
import { money } from './answers.js';
import { itemShape } from './item-shape.js';
import { obstacleOf, type PurchaseLimits } from './purchase-limits.js';
import type { PurchasePreview, WantedPurchase } from './purchase-shapes.js';
import type { RecordedFigures } from './sale-records.js';

/** Returns the terms of an order at these figures. Throws as `priceDirect` and `priceBandwidth`. */
export function orderTermsOf(
  wanted: WantedPurchase,
  figures: RecordedFigures,
  { marginBps, activationMarkupSun }: SaleSettings,
): OrderTerms {
  const { receive_address: receiveAddress, duration_sec: durationSec, expected_uses: expectedUses } = wanted;
  const amount = energy(wanted.energy);
  const { fees, ratio, rules } = figures;
  const { priceSun: energySun, rate } = priceDirect(figures, amount, durationSec, expectedUses);
  const margin = marginFor(durationSec, marginBps);
  const floor = floorOf(rules, fees);
  const accountFeeSun = wanted.activate === true ? (figures.accountFeeSun ?? unknownChain()) : undefined;
  const units = wanted.bandwidth === undefined ? undefined : BigInt(wanted.bandwidth);
  const bandwidthRatio = units === undefined ? undefined : (figures.bandwidthRatio ?? unknownChain());
  const parts = sumOfParts(
    {
      energySun,
      ...(units !== undefined && {
        bandwidth: { units, priceSun: priceBandwidth(figures, { units, durationSec, uses: expectedUses ?? 1 }) },
      }),
      ...(accountFeeSun !== undefined && { activationSun: sun(accountFeeSun + BigInt(activationMarkupSun)) }),
    },
    rate,
  );
  const { bandwidth, activation } = parts;
  return {
    ...{ receiveAddress, energy: amount, durationSec, expectedUses, rate },
    ...{ priceSun: parts.priceSun, credits: parts.credits },
    energyFeeSun: fees.energyFeeSun,
    maxFeeLimitSun: fees.maxFeeLimitSun,
    amountSun: sunForEnergy(amount, ratio, margin),
    legSlackSun: sunOfOneEnergy(ratio),
    legsMax: legsAffordable(energySun, floor),
    ...(bandwidth !== undefined &&
      bandwidthRatio !== undefined && {
        bandwidth: {
          ...bandwidth,
          amountSun: sunForBandwidth(bandwidth.units, bandwidthRatio, margin),
          legSlackSun: sunOfOneUnit(bandwidthRatio),
          legsMax: legsAffordable(bandwidth.priceSun, floor),
        },
      }),
    ...(activation !== undefined &&
      accountFeeSun !== undefined && { activation: { ...activation, amountSun: sun(accountFeeSun) } }),
  };
}

interface SaleSettings {
  readonly marginBps: number;
  readonly activationMarkupSun: number;
}

function unknownChain(): never {
  throw new ApiError('CHAIN_UNAVAILABLE', 'The state of the chain is unknown at present. Try again shortly.');
}

interface Priced {
  readonly receiver: string;
  readonly amount: Energy;
  /** Units beside the energy. */
  readonly bandwidth?: bigint | null | undefined;
  /** Sun that an activation burns. */
  readonly accountFeeSun?: bigint | undefined;
  /** The parts of an order of several. */
  readonly items?: readonly OrderItem[];
  readonly durationSec: number;
  readonly uses: number;
  readonly price: Pick<PricedTime, 'priceSun' | 'credits' | 'rate'>;
}

/** Returns the price, the cost of burning TRX instead, and the balance after the purchase. */
export function previewOf(
  { receiver, amount, bandwidth = null, accountFeeSun = 0n, items = [], durationSec, uses, price }: Priced,
  fees: SaleFigures['fees'],
  limits: PurchaseLimits,
): PurchasePreview {
  const ofEnergy = burnPrice(amount, fees.energyFeeSun, uses);
  const ofBandwidth = bandwidth === null ? 0n : bandwidthBurnPrice({ units: bandwidth, durationSec, uses }, fees);
  const burnt = sun(ofEnergy + ofBandwidth + accountFeeSun);
  const obstacle = obstacleOf(limits, price.credits);
  return {
    receive_address: receiver,
    energy: toJsonInteger(amount),
    ...(items.length > 1 && { items: items.map(itemShape) }),
    duration_sec: durationSec,
    expected_uses: uses,
    price: money(price.credits),
    price_trx: trxOf(price.priceSun),
    burning: money(creditsOf(burnt, price.rate)),
    burning_trx: trxOf(burnt),
    balance_after: money(limits.balance_credits - price.credits),
    ...(obstacle !== undefined && { obstacle }),
  };
}

/** Throws if the price rose above the one that was confirmed. */
export function assertConfirmed(credits: bigint, confirmed: number): void {
  if (credits > BigInt(confirmed)) throw priceRose();
}

export function priceRose(): ApiError {
  return new ApiError(
    'QUOTE_EXPIRED',
    'The price has changed, and nothing was bought. Go back and check the new price.',
  );
}

/**
 * Returns the refusal of a receiver, as far as it is known without a node; undefined otherwise. An account that is not
 * on chain is found at the delivery.
 */
export function receiverRefusal(address: string, isTest: boolean, activates = false): ApiError | undefined {
  return isTest ? playedRefusal(address, activates ? 'activation' : 'rental') : testAddressRefusal(address, false);
}
