/** What keeping an address supplied costs at the prices of the moment. */
import { Injectable } from '@nestjs/common';
import { ApiError } from '../domain/errors.js';
import { divCeil, energy, toJsonInteger } from '../domain/units.js';
import { leastEnergy, priceDirect, priceTime, type SaleFigures } from '../quotes/direct-price.js';
import { QuotesService } from '../quotes/quotes.service.js';
import type { AutoDelegationCosts, AutoDelegationTerms } from './auto-delegations.dto.js';

const DAY_SEC = 86_400n;

export type PricedTerms = Pick<AutoDelegationTerms, 'keepEnergy' | 'refillBelow' | 'durationSec'>;

/**
 * Throws ApiError INVALID_REQUEST for a duration that is not on sale, CHAIN_UNAVAILABLE, and NOT_WORTH_RENTING as an order
 * of all that is kept would. What the pool holds is left to the purchases.
 */
export function keepingCosts(
  figures: SaleFigures,
  { keepEnergy, refillBelow, durationSec }: PricedTerms,
): Required<AutoDelegationCosts> {
  priceDirect(figures, keepEnergy, durationSec);
  const least = leastEnergy(figures, durationSec);
  const need = energy(keepEnergy - refillBelow);
  const { credits: refill } = priceDirect(figures, need > least ? need : least, durationSec);
  const { credits: kept } = priceTime(figures, keepEnergy, durationSec);
  return {
    idle_cost_credits_per_day: toJsonInteger(divCeil(kept * DAY_SEC, BigInt(durationSec))),
    cost_per_refill_credits: toJsonInteger(refill),
  };
}

@Injectable()
export class AutoDelegationPrices {
  constructor(private readonly quotes: QuotesService) {}

  /** Throws as `keepingCosts`. */
  costs(terms: PricedTerms): Required<AutoDelegationCosts> {
    return keepingCosts(this.quotes.figures, terms);
  }

  /**
   * `costs` by the figures of this call, returned or thrown by the function it gives: the terms were resolved by the same
   * price table, which may change before their worth is judged.
   */
  costsOfNow(terms: PricedTerms): () => Required<AutoDelegationCosts> {
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

  /** Nothing where they cannot be known, or nothing would be sold, just now. */
  costsIfKnown(terms: PricedTerms): AutoDelegationCosts {
    try {
      return this.costs(terms);
    } catch (error) {
      if (error instanceof ApiError) return {};
      throw error;
    }
  }
}
