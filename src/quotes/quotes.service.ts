/**
 * Prices rentals and issues quotes. Everything it needs is in memory, so a quote with a named energy asks neither the
 * database nor the chain; it writes nothing anywhere.
 */
import { Injectable } from '@nestjs/common';
import { Rates } from '../billing/rates.js';
import { Config } from '../config/config.js';
import { ApiError, invalidField } from '../domain/errors.js';
import { burnPrice, creditsOf } from '../domain/conversion.js';
import { sun, type Credits, type Energy, type RateE8, type Sun } from '../domain/units.js';
import { Sealers } from '../base/sealers.js';
import { priceFloor } from '../pool/bandwidth.js';
import { marginFor, sunForEnergy } from '../pool/energy-ratio.js';
import { Market, type MarketState } from './market.js';
import {
  DEFAULT_DURATION_SEC,
  isWorthRenting,
  leastWorthRenting,
  longestDurationSec,
  rentalPrice,
  rowFor,
  type PriceRow,
} from '../domain/price.js';
import { newQuoteId, openQuote, sealQuote, type OpenQuote, type QuoteTerms } from './quote-token.js';
import { Receivers } from './receivers.js';
import { SalesTerms } from './sales-terms.js';
import { energyFor, type Recipient, type RecipientState } from '../domain/sizing.js';

export interface RentalRequest {
  readonly receiveAddress: string;
  /** Sized by the receiver when absent. */
  readonly energy?: Energy | undefined;
  /** Seconds; DEFAULT_DURATION_SEC when absent. */
  readonly durationSec?: number | undefined;
}

/** A rental as it would be sold now. */
export interface PricedRental extends QuoteTerms {
  readonly burnPriceSun: Sun;
  readonly burnPriceCredits: Credits;
  /** Whether the rate is young enough to show dollars at. */
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

const NOBODY_LOOKED: Recipient = { state: 'unknown', needsActivation: false };

export interface PricedTime {
  readonly priceSun: Sun;
  readonly credits: Credits;
  readonly rate: RateE8;
  /** The longest rental on sale, which what is left of any may not pass. */
  readonly longestSec: number;
}

const NO_FLOOR = sun(0);

/** What a rental is priced by. */
interface Asked {
  readonly receiveAddress: string;
  readonly energy: Energy;
  readonly durationSec: number;
  readonly row: PriceRow;
  readonly market: MarketState;
  readonly recipient: Recipient;
}

@Injectable()
export class QuotesService {
  constructor(
    private readonly config: Config,
    private readonly sealers: Sealers,
    private readonly market: Market,
    private readonly terms: SalesTerms,
    private readonly rates: Rates,
    private readonly receivers: Receivers,
  ) {}

  /**
   * Prices a rental, sizing it when no energy is named. Throws ApiError INVALID_REQUEST for a duration that is
   * not on sale, CHAIN_UNAVAILABLE, NOT_WORTH_RENTING, CAPACITY_UNAVAILABLE for more than the whole pool.
   */
  async price(request: RentalRequest): Promise<PricedRental> {
    const durationSec = request.durationSec ?? DEFAULT_DURATION_SEC;
    const row = this.rowOf(durationSec);
    const market = this.market.current();
    const asked = { receiveAddress: request.receiveAddress, durationSec, row, market };
    if (request.energy !== undefined) {
      return this.rental({ ...asked, energy: request.energy, recipient: NOBODY_LOOKED });
    }
    const recipient = await this.receivers.look(request.receiveAddress);
    if (recipient.state === 'warm') this.market.learnHolder(request.receiveAddress);
    return this.rental({ ...asked, energy: energyFor(recipient.state, market.sizing), recipient });
  }

  /**
   * Prices an energy that was measured: the bounds on what callers name do not apply to it (docs/interface.md §8).
   * Throws as `price` does.
   */
  priceMeasured(receiveAddress: string, measured: Energy, durationSec?: number): PricedRental {
    const duration = durationSec ?? DEFAULT_DURATION_SEC;
    return this.rental({
      receiveAddress,
      energy: measured,
      durationSec: duration,
      row: this.rowOf(duration),
      market: this.market.current(),
      recipient: NOBODY_LOOKED,
    });
  }

  /**
   * The price of time for a rental that stands: a direct order's without the floor, which pays for transactions. Throws
   * ApiError INVALID_REQUEST, CHAIN_UNAVAILABLE, NOT_WORTH_RENTING.
   */
  priceTime(amount: Energy, durationSec: number): PricedTime {
    const row = this.rowOf(durationSec);
    const { energyFeeSun } = this.market.current();
    const priceSun = rentalPrice(amount, row, NO_FLOOR);
    if (!isWorthRenting(priceSun, burnPrice(amount, energyFeeSun))) {
      throw notWorthRenting(leastWorthRenting(row, NO_FLOOR, energyFeeSun), this.config.sales);
    }
    const { rate } = this.rates.current();
    return { priceSun, credits: creditsOf(priceSun, rate), rate, longestSec: longestDurationSec(this.terms.priceRows) };
  }

  /** Holds the price for a project: a ref that one order can be made of, until it expires. */
  issue(projectId: string, rental: PricedRental): IssuedQuote {
    const holdSec = this.config.sales.quoteHoldSec;
    const nowMs = this.terms.databaseNowMs();
    const expiresAtMs = nowMs + holdSec * 1000;
    const ref = sealQuote(this.sealers.quote, projectId, { ...rental, id: newQuoteId(nowMs), expiresAtMs });
    return { ref, rental, expiresAtMs, holdSec };
  }

  /** The quote behind a ref, expired or not; undefined when it is unknown, forged or another project's. */
  openQuote(ref: string, projectId: string): OpenQuote | undefined {
    return openQuote(this.sealers.quote, projectId, ref);
  }

  private rowOf(durationSec: number): PriceRow {
    const rows = this.terms.priceRows;
    const { durationMinSec } = this.config.sales;
    const row = durationSec < durationMinSec ? undefined : rowFor(rows, durationSec);
    if (row !== undefined) return row;
    throw invalidField(
      'duration_sec',
      `must be from ${durationMinSec.toString()} to ${longestDurationSec(rows).toString()} seconds`,
    );
  }

  private rental({ receiveAddress, energy: amount, durationSec, row, market, recipient }: Asked): PricedRental {
    const floor = priceFloor(market.transactionFeeSunPerByte, this.config.sales.priceFloorBps);
    const priceSun = rentalPrice(amount, row, floor);
    const burnPriceSun = burnPrice(amount, market.energyFeeSun);
    if (!isWorthRenting(priceSun, burnPriceSun)) {
      throw notWorthRenting(leastWorthRenting(row, floor, market.energyFeeSun), this.config.sales);
    }
    this.checkCapacity(amount, durationSec, market);
    const { rate, fresh } = this.rates.current();
    return {
      receiveAddress,
      energy: amount,
      durationSec,
      priceSun,
      credits: creditsOf(priceSun, rate),
      rate,
      burnPriceSun,
      burnPriceCredits: creditsOf(burnPriceSun, rate),
      rateFresh: fresh,
      recipientState: recipient.state,
      needsActivation: recipient.needsActivation,
    };
  }

  /** Only the whole pool is a limit here; what is free of it is judged by the order (docs/interface.md §7). */
  private checkCapacity(amount: Energy, durationSec: number, market: MarketState): void {
    const poolSun: Sun | undefined = this.terms.poolStakeSun;
    const marginBps = marginFor(durationSec, this.config.pool.marginBps);
    if (poolSun === undefined || sunForEnergy(amount, market.ratio, marginBps) <= poolSun) return;
    const words =
      poolSun > 0n
        ? 'This is more energy than the whole pool holds; ask for less.'
        : 'Nothing can be delivered just now; try again shortly.';
    throw new ApiError('CAPACITY_UNAVAILABLE', words, { retryAfterSec: poolSun > 0n ? 60 : 10 });
  }
}

function notWorthRenting(least: Energy | undefined, { energyMin, energyMax }: Config['sales']): ApiError {
  const lead = 'Renting this energy for this long costs no less than burning TRX for it right now';
  const isOnSale = least !== undefined && least <= BigInt(energyMax);
  const smallest = isOnSale && least < BigInt(energyMin) ? BigInt(energyMin) : least;
  return new ApiError(
    'NOT_WORTH_RENTING',
    isOnSale
      ? `${lead}; the smallest amount worth renting is ${String(smallest)} energy.`
      : `${lead}, whatever the amount; ask for a shorter rental, or send the transaction without renting.`,
  );
}

export type { OpenQuote };
