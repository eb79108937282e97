/** Prices of keeping an address supplied, at current rates. */
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import { usesOfRefill } from '../../domain/price.js';
import { divCeil, energy, toJsonInteger } from '../../domain/units.js';
import { leastEnergy, priceDirect, priceTime, type SaleFigures } from '../quotes/direct-price.js';
import { QuotesService } from '../quotes/quotes.service.js';
import type { AutoDelegationCosts, AutoDelegationTerms } from './auto-delegations.dto.js';

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

@Injectable()
export class AutoDelegationPrices {
  constructor(private readonly quotes: QuotesService) {}

  /** Throws as `keepingCosts`. */
  costs(terms: PricedTerms): Required<AutoDelegationCosts> {
    return keepingCosts(this.quotes.figures, terms);
  }

  /**
   * Computes `costs` now, and returns a function that returns or throws the result. The terms were resolved from the
   * same price table, which may change before they are judged.
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

  /** Returns the costs; nothing while they are unknown or nothing would be sold. */
  costsIfKnown(terms: PricedTerms): AutoDelegationCosts {
    try {
      return this.costs(terms);
    } catch (error) {
      if (error instanceof ApiError) return {};
      throw error;
    }
  }
}
