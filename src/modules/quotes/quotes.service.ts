/**
 * Prices rentals and issues quotes from memory. A quote with a named energy reads neither database nor chain. Writes
 * nothing.
 */
import { Injectable } from '@nestjs/common';
import { Rates } from '../billing/rates.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { burnPrice, creditsOf } from '../../domain/conversion.js';
import { feeLimitFor, type FeeLimit } from '../../domain/fee-limit.js';
import { sumOfParts } from '../../domain/order-items.js';
import { sun, type Credits, type Energy, type Sun } from '../../domain/units.js';
import { Sealers } from '../../platform/support/sealers.js';
import { sunForBandwidth, type BandwidthRatio } from '../pool/bandwidth-stake.js';
import { marginFor, sunForEnergy } from '../pool/energy-ratio.js';
import { bandwidthBurnPrice, priceBandwidth } from './bandwidth-price.js';
import { Market, type MarketState } from './market.js';
import { DEFAULT_DURATION_SEC, rentalPrice, type PriceRow } from '../../domain/price.js';
import {
  assertWorthRenting,
  floorOf,
  leastEnergy,
  priceDirect,
  priceTime,
  rowOf,
  type PricedTime,
  type SaleFigures,
} from './direct-price.js';
import { newQuoteId, openQuote, sealQuote, type OpenQuote, type QuoteTerms } from './quote-token.js';
import { Receivers } from './receivers.js';
import { SalesTerms } from './sales-terms.js';
import { energyFor, type Recipient, type RecipientState } from '../../domain/sizing.js';
import { TransferSizing, type TokenTransfer } from './transfer-sizing.js';
import { playedRecipient, refuseTestAddress } from './test-receivers.js';

export interface RentalRequest {
  readonly receiveAddress: string;
  /** Sized by the receiver's balance if absent. */
  readonly energy?: Energy | undefined;
  /** Seconds; DEFAULT_DURATION_SEC if absent. */
  readonly durationSec?: number | undefined;
  /** The transfer that sizes the rental, instead of the receiver's balance; never beside `energy`. */
  readonly transfer?: TokenTransfer | undefined;
  /** Expected number of uses of the energy during the rental; one if absent. */
  readonly expectedUses?: number | undefined;
  /** Units of bandwidth beside the energy. */
  readonly bandwidth?: bigint | undefined;
  /** True to activate the receiver first. */
  readonly activate?: boolean | undefined;
  /** True for a test project, whose receivers and capacity are simulated. */
  readonly isTest: boolean;
}

/** A rental at its present price. */
export interface PricedRental extends QuoteTerms, FeeLimit {
  /** Of as many burns as uses are expected. */
  readonly burnPriceSun: Sun;
  readonly burnPriceCredits: Credits;
  /** True if the rate is fresh enough to show dollars. */
  readonly rateFresh: boolean;
  readonly recipientState: RecipientState;
  readonly needsActivation: boolean;
}

export interface IssuedQuote {
  readonly ref: string;
  readonly rental: PricedRental;
  readonly expiresAtMs: number;
  readonly holdSec: number;
}

type FurtherAsked = Pick<RentalRequest, 'bandwidth' | 'activate'>;

const UNKNOWN_RECEIVER: Recipient = { state: 'unknown', needsActivation: false };

/** The inputs of a rental's price. */
interface Asked extends FurtherAsked {
  readonly receiveAddress: string;
  readonly energy: Energy;
  readonly durationSec: number;
  readonly expectedUses: number | undefined;
  readonly row: PriceRow;
  readonly market: MarketState;
  readonly recipient: Recipient;
}

@Injectable()
export class QuotesService {
  /** Each getter returns the figure of the moment it is read. */
  readonly figures: SaleFigures;

  constructor(
    private readonly config: Config,
    private readonly sealers: Sealers,
    private readonly market: Market,
    private readonly salesTerms: SalesTerms,
    private readonly rates: Rates,
    private readonly receivers: Receivers,
    private readonly transferSizing: TransferSizing,
  ) {
    this.figures = this.readFigures();
  }

  /** Prices a rental for a quote. Throws as `price` does, and CAPACITY_UNAVAILABLE for more than the whole pool. */
  async quote(request: RentalRequest): Promise<PricedRental> {
    return this.withinPool(await this.price(request), request);
  }

  /**
   * Prices a rental, and sizes it if no energy is named. It ignores the pool's free stake, because an order is judged
   * by the slots themselves and not by an earlier reading of them.
   *
   * Throws ApiError INVALID_REQUEST for a duration that is not on sale, CHAIN_UNAVAILABLE, NOT_WORTH_RENTING,
   * TRANSFER_WOULD_FAIL, and RECEIVER_NOT_SUPPORTED if a live project names a test address.
   */
  async price(request: RentalRequest): Promise<PricedRental> {
    const { receiveAddress, isTest } = request;
    refuseTestAddress(receiveAddress, isTest);
    const durationSec = request.durationSec ?? DEFAULT_DURATION_SEC;
    const row = rowOf(this.figures, durationSec);
    const market = this.market.current();
    const { expectedUses, bandwidth, activate } = request;
    const asked = { receiveAddress, durationSec, expectedUses, bandwidth, activate, row, market };
    if (request.energy !== undefined) {
      return this.rental({ ...asked, energy: request.energy, recipient: UNKNOWN_RECEIVER });
    }
    const played = playedRecipient(receiveAddress);
    // A test project has no tokens to transfer: it is sized as without a transfer.
    if (request.transfer !== undefined && !isTest) {
      const [needed, { needsActivation }] = await Promise.all([
        this.transferSizing.energyOf(receiveAddress, request.transfer),
        this.receivers.lookUp(receiveAddress),
      ]);
      return this.rental({ ...asked, energy: needed, recipient: { state: 'unknown', needsActivation } });
    }
    const recipient = played ?? (await this.receivers.lookUp(receiveAddress));
    if (played === undefined && recipient.state === 'warm') this.market.learnHolder(receiveAddress);
    return this.rental({ ...asked, energy: energyFor(recipient.state, market.sizing), recipient });
  }

  /**
   * Prices a measured energy for a quote. The bounds on named energy do not apply to it (docs/interface.md §8). Throws
   * as `quote` does.
   */
  priceMeasured(request: RentalRequest & { readonly energy: Energy }): PricedRental {
    const { receiveAddress, energy: measured, durationSec = DEFAULT_DURATION_SEC } = request;
    const rental = this.rental({
      receiveAddress,
      energy: measured,
      durationSec,
      expectedUses: request.expectedUses,
      row: rowOf(this.figures, durationSec),
      market: this.market.current(),
      recipient: UNKNOWN_RECEIVER,
    });
    return this.withinPool(rental, request);
  }

  /** As in direct-price.ts; also throws ApiError CHAIN_UNAVAILABLE. */
  priceTime(amount: Energy, durationSec: number, uses = 1): PricedTime {
    return priceTime(this.figures, amount, durationSec, uses);
  }

  /** As in direct-price.ts. Throws as `priceTime` does. */
  priceDirect(amount: Energy, durationSec: number, uses = 1): PricedTime {
    return priceDirect(this.figures, amount, durationSec, uses);
  }

  /** As in direct-price.ts. Throws as `priceTime` does. */
  leastEnergy(durationSec: number, uses = 1): Energy {
    return leastEnergy(this.figures, durationSec, uses);
  }

  /** Holds the price for a project. The returned ref can become one order until it expires. */
  issue(projectId: string, rental: PricedRental): IssuedQuote {
    const holdSec = this.config.sales.quoteHoldSec;
    const nowMs = this.salesTerms.databaseNowMs();
    const expiresAtMs = nowMs + holdSec * 1000;
    const ref = sealQuote(this.sealers.quote, projectId, { ...rental, id: newQuoteId(nowMs), expiresAtMs });
    return { ref, rental, expiresAtMs, holdSec };
  }

  /** Returns the quote behind a ref, expired or not; undefined if it is unknown, forged or another project's. */
  openQuote(ref: string, projectId: string): OpenQuote | undefined {
    return openQuote(this.sealers.quote, projectId, ref);
  }

  private readFigures(): SaleFigures {
    const { config, salesTerms, market, rates } = this;
    return {
      rules: config.sales,
      get priceRows() {
        return salesTerms.priceRows;
      },
      get fees() {
        return market.current();
      },
      get rate() {
        return rates.current().rate;
      },
    };
  }

  private rental(asked: Asked): PricedRental {
    const { receiveAddress, energy: amount, durationSec, expectedUses, row, market, recipient } = asked;
    const uses = expectedUses ?? 1;
    const floor = floorOf(this.config.sales, market);
    const energySun = rentalPrice(amount, row, floor);
    const wanted = { amount, durationSec, uses, priceSun: energySun, row, floor };
    assertWorthRenting(wanted, { fees: market, rules: this.config.sales });
    const further = this.priceFurther(asked);
    const { rate, fresh } = this.rates.current();
    const { bandwidth, activationSun } = further;
    const burnPriceSun = sun(burnPrice(amount, market.energyFeeSun, uses) + further.burnSun);
    return {
      receiveAddress,
      energy: amount,
      durationSec,
      expectedUses,
      ...sumOfParts({ energySun, bandwidth, activationSun }, rate),
      rate,
      burnPriceSun,
      burnPriceCredits: creditsOf(burnPriceSun, rate),
      ...feeLimitFor(amount, market),
      rateFresh: fresh,
      recipientState: recipient.state,
      needsActivation: recipient.needsActivation,
    };
  }

  /** Prices the parts beside energy, and adds up the costs of having them without renting. */
  private priceFurther({ bandwidth: units, activate, durationSec, expectedUses, market }: Asked) {
    const activationSun = activate === true ? activationPrice(market, this.config.sales) : undefined;
    const activationBurnSun = activate === true ? market.createAccountFeeSun : 0n;
    if (units === undefined) return { activationSun, burnSun: activationBurnSun };
    const wanted = { units, durationSec, uses: expectedUses ?? 1 };
    const { rules, priceRows } = this.figures;
    const priceSun = priceBandwidth({ rules, priceRows, fees: market }, wanted);
    const burnSun = activationBurnSun + bandwidthBurnPrice(wanted, market);
    return { activationSun, bandwidth: { units, priceSun }, burnSun };
  }

  /** A quote is limited only by the whole pool; the order judges the free part (docs/interface.md §7). */
  private withinPool(rental: PricedRental, { isTest }: RentalRequest): PricedRental {
    const { poolStakeSun: poolSun, poolBandwidthStakeSun: bandwidthSun } = this.salesTerms;
    if (isTest || poolSun === undefined) return rental;
    const marginBps = marginFor(rental.durationSec, this.config.pool.marginBps);
    const market = this.market.current();
    if (sunForEnergy(rental.energy, market.ratio, marginBps) > poolSun) throw beyondPool('energy', poolSun);
    if (rental.bandwidth !== undefined && bandwidthSun !== undefined) {
      const wanted = sunForBandwidth(rental.bandwidth.units, bandwidthRatioOf(market), marginBps);
      if (wanted > bandwidthSun) throw beyondPool('bandwidth', bandwidthSun);
    }
    return rental;
  }
}

function beyondPool(resource: string, poolSun: Sun): ApiError {
  const words =
    poolSun > 0n
      ? `This is more ${resource} than the whole pool has. Request less.`
      : resource === 'energy'
        ? 'Nothing can be delivered at present. Try again shortly.'
        : 'No bandwidth can be delivered at present. Order without bandwidth, or try again shortly.';
  return new ApiError('CAPACITY_UNAVAILABLE', words, { retryAfterSec: poolSun > 0n ? 60 : 10 });
}

/** Returns the network's totals of bandwidth. Throws ApiError CHAIN_UNAVAILABLE if they are unknown, or no account has staked. */
export function bandwidthRatioOf({ bandwidthRatio }: MarketState): BandwidthRatio {
  if (bandwidthRatio !== undefined && bandwidthRatio.totalNetWeight > 0n && bandwidthRatio.totalNetLimit > 0n) {
    return bandwidthRatio;
  }
  throw new ApiError('CHAIN_UNAVAILABLE', 'The bandwidth of the network is unknown at present. Try again shortly.', {
    retryAfterSec: 10,
  });
}

/** Returns the price of an activation: the chain's fees for it and the markup of the settings. */
export function activationPrice(
  { createAccountFeeSun }: Pick<MarketState, 'createAccountFeeSun'>,
  { activationMarkupSun }: Config['sales'],
): Sun {
  return sun(createAccountFeeSun + BigInt(activationMarkupSun));
}

export type { OpenQuote };
