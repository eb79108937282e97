/** Prices of keeping an address supplied, at current rates. */
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import { feeLimitFor } from '../../domain/fee-limit.js';
import { usesOfRefill } from '../../domain/price.js';
import { divCeil, energy, toJsonInteger, type Energy } from '../../domain/units.js';
import {
  leastEnergy,
  priceDirect,
  priceTime,
  rowOf,
  type PricedTime,
  type SaleFigures,
} from '../quotes/direct-price.js';
import { feeLimitMembers, pricePerUse } from '../quotes/quote.dto.js';
import { QuotesService } from '../quotes/quotes.service.js';
import { TransferSizing } from '../quotes/transfer-sizing.js';
import {
  levelsOf,
  type AutoDelegationCosts,
  type AutoDelegationJson,
  type AutoDelegationTerms,
  type DurationCost,
  type DurationCosts,
} from './auto-delegations.dto.js';
import type { Judged } from './auto-delegations.service.js';
import { chooseDuration, sortedDurations } from './duration-choice.js';
import { raised } from './refill-size.js';
import { measuredUses, usesExpected, type MeasuredUses } from './use-history.js';

const DAY_SEC = 86_400n;

export type PricedTerms = Pick<AutoDelegationTerms, 'keepEnergy' | 'refillBelow' | 'durationSec'>;

/**
 * Returns the costs. Throws ApiError INVALID_REQUEST for a duration that is not on sale, CHAIN_UNAVAILABLE, and
 * NOT_WORTH_RENTING if an order of the whole `keepEnergy` would. The pool's capacity is checked only when purchasing.
 */
export function keepingCosts(
  figures: SaleFigures,
  { keepEnergy, refillBelow, durationSec }: PricedTerms,
): Required<AutoDelegationCosts> {
  // An address that is kept supplied spends its energy day after day; an idle one is let go.
  const uses = usesOfRefill(durationSec);
  priceDirect(figures, keepEnergy, durationSec, uses);
  const least = leastEnergy(figures, durationSec, uses);
  const need = energy(keepEnergy - refillBelow);
  const { credits: refill } = priceDirect(figures, need > least ? need : least, durationSec, uses);
  const { credits: kept } = priceTime(figures, keepEnergy, durationSec, uses);
  return {
    idle_cost_credits_per_day: toJsonInteger(divCeil(kept * DAY_SEC, BigInt(durationSec))),
    cost_per_refill_credits: toJsonInteger(refill),
  };
}

export interface DurationTerms {
  readonly keepEnergy: Energy;
  readonly maxSunPerEnergy: bigint | null;
  readonly measured: MeasuredUses | undefined;
}

/**
 * Returns the price of `keepEnergy` by each row of the price table that the auto-delegation can buy, shortest first:
 * on sale, worth renting for an address in daily use, and not above its highest price. Throws CHAIN_UNAVAILABLE.
 */
function durationCosts(figures: SaleFigures, terms: DurationTerms): DurationCost[] {
  return sortedDurations(figures.priceRows).flatMap((durationSec) => {
    const priced = priceIfSold(figures, durationSec, terms);
    if (priced === undefined) return [];
    const uses = usesExpected(durationSec, terms.measured);
    return {
      duration_sec: durationSec,
      sun_per_energy: toJsonInteger(rowOf(figures, durationSec).sunPerEnergy),
      expected_uses: uses,
      price_sun: toJsonInteger(priced.priceSun),
      price_per_use_sun: pricePerUse(priced.priceSun, uses),
    };
  });
}

function priceIfSold(figures: SaleFigures, durationSec: number, terms: DurationTerms): PricedTime | undefined {
  const { keepEnergy, maxSunPerEnergy: max } = terms;
  try {
    const priced = priceDirect(figures, keepEnergy, durationSec, usesOfRefill(durationSec));
    return max !== null && priced.priceSun > max * keepEnergy ? undefined : priced;
  } catch (error) {
    if (error instanceof ApiError && error.code !== 'CHAIN_UNAVAILABLE') return undefined;
    throw error;
  }
}

@Injectable()
export class AutoDelegationPrices {
  constructor(
    private readonly quotes: QuotesService,
    private readonly transfers: TransferSizing,
  ) {}

  /** Throws as `keepingCosts`. */
  costs(terms: PricedTerms): Required<AutoDelegationCosts> {
    return keepingCosts(this.quotes.figures, terms);
  }

  /**
   * Computes `costs` now, and returns a function that returns or throws the result. The terms were resolved from the
   * same price table, which may change before they are judged.
   */
  private costsOfNow(terms: PricedTerms): () => Required<AutoDelegationCosts> {
    try {
      const costs = this.costs(terms);
      return () => costs;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return () => {
        throw error;
      };
    }
  }

  /**
   * Sizes the terms by their transfer, as far as they have one, and prices them. Throws as `costs` does, and ApiError
   * TRANSFER_WOULD_FAIL with the reason.
   */
  judge(address: string, terms: AutoDelegationTerms): () => Promise<Judged<Required<AutoDelegationCosts>>> {
    const { transfer, keepEnergy, refillBelow } = terms;
    if (transfer === undefined) {
      const costs = this.costsOfNow(terms);
      return async () => Promise.resolve({ costs: costs() });
    }
    return async () => {
      const transferEnergy = await this.transfers.energyOf(address, transfer);
      const levels = raised({ keep_energy: keepEnergy, refill_below: refillBelow }, transferEnergy);
      const sized = { ...terms, keepEnergy: levels.keep_energy, refillBelow: levels.refill_below };
      return { costs: this.costs(sized), transferEnergy };
    };
  }

  /** Returns the costs; nothing while they are unknown or nothing would be sold. */
  costsIfKnown(terms: PricedTerms): AutoDelegationCosts {
    return unlessUnknown(() => this.costs(terms));
  }

  /**
   * Returns the cost of each use by the durations on sale at the chain's time `clockMs`, and the duration that the next
   * purchase would have if the service chooses it. Returns nothing while prices are unknown.
   */
  durationsIfKnown(row: AutoDelegationJson, clockMs: number): DurationCosts {
    const measured = measuredUses(row, clockMs);
    const terms = {
      keepEnergy: energy(levelsOf(row).keep_energy),
      maxSunPerEnergy: row.max_sun_per_energy === null ? null : BigInt(row.max_sun_per_energy),
      measured,
    };
    return unlessUnknown(() => ({
      ...(row.auto_duration === true && { chosen_duration_sec: this.durationFor(row, terms, clockMs) }),
      durations: durationCosts(this.quotes.figures, terms),
      ...feeLimitMembers(feeLimitFor(terms.keepEnergy, this.quotes.figures.fees)),
    }));
  }

  /** The balance and the spending of today are not considered. */
  private durationFor(
    row: AutoDelegationJson,
    { keepEnergy, maxSunPerEnergy, measured }: DurationTerms,
    clockMs: number,
  ) {
    const { until } = row;
    return chooseDuration({
      priceRows: this.quotes.figures.priceRows,
      measured,
      longestSec: until === null ? Number.POSITIVE_INFINITY : Math.ceil((Date.parse(until) - clockMs) / 1000),
      creditsLeft: BigInt(row.daily_cap_credits),
      priceOf: (durationSec, uses) => {
        const priced = this.quotes.priceDirect(keepEnergy, durationSec, uses);
        return maxSunPerEnergy !== null && priced.priceSun > maxSunPerEnergy * keepEnergy ? undefined : priced;
      },
    });
  }
}

function unlessUnknown<T extends object>(price: () => T): Partial<T> {
  try {
    return price();
  } catch (error) {
    if (error instanceof ApiError) return {};
    throw error;
  }
}
