/** Prices and buys the refill of a plan: an order at the current price, or the extension of a running rental. */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { longestDurationSec, usesOfRefill } from '../../domain/price.js';
import { energy, type Energy, type Sun } from '../../domain/units.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { DirectTerms } from '../orders/direct-terms.js';
import type { OrderTerms } from '../orders/purchase.js';
import { WakeUps } from '../../platform/queue/jobs.js';
import type { PricedTime } from '../quotes/direct-price.js';
import { QuotesService } from '../quotes/quotes.service.js';
import { Database } from '../../platform/database/database.js';
import type { ClaimedAutoDelegation } from './auto-delegation-claims.js';
import { chooseDuration, usualDurationSec } from './duration-choice.js';
import type { Refill, RefillPlan, StandingRental } from './refill-plan.js';
import { buy, extend, MOVED, nextKey, type Bought } from './refill-statement.js';
import { measuredUses, usesExpected } from './use-history.js';

export type Outcome =
  /** Nothing is needed, or less than is worth renting. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'ordered' }
  /** Check again after this time. */
  | { readonly kind: 'again'; readonly inMs: number }
  /** Paused for this reason. */
  | { readonly kind: 'refused'; readonly reason: string };

const NOTHING: Outcome = { kind: 'nothing' };
const IMMEDIATELY: Outcome = { kind: 'again', inMs: 0 };
const SOON: Outcome = { kind: 'again', inMs: 2000 };

/** Refusals that pass without intervention. */
const PASSING: ReadonlySet<string> = new Set(['CHAIN_UNAVAILABLE', 'SERVICE_UNAVAILABLE', 'INVALID_REQUEST']);
/** The rental is being reclaimed, was ended, or its wallet cannot sell now: a new order replaces it. */
const REPLACED: ReadonlySet<string> = new Set(['NOT_EXTENDABLE', 'CAPACITY_UNAVAILABLE']);
const PRICE_ABOVE_MAX = 'PRICE_ABOVE_MAX';
/** The price table no longer covers the duration. */
const DURATION_NOT_SOLD = 'DURATION_NOT_SOLD';
/** The database's code when the paying key is revoked. */
const KEY_REFUSED = 'INVALID_SIGNATURE';
const KEY_REVOKED = 'API_KEY_REVOKED';

interface TimeToBuy {
  readonly durationSec: number;
  readonly expectedUses: number;
}

/** A running rental's end, and the time now, both by the chain's clock. */
interface RentalEnd {
  readonly endsAtMs: number;
  readonly clockMs: number;
}

/** A purchase before its duration is known. */
interface Purchase {
  readonly amount: Energy;
  /** The longest time that it may cover. */
  readonly longestSec: number;
  readonly clockMs: number;
  readonly price: (durationSec: number, uses: number) => PricedTime;
}

@Injectable()
export class RefillPurchases {
  private readonly bought: Counter<'kind' | 'outcome'>;

  constructor(
    private readonly directTerms: DirectTerms,
    private readonly quotes: QuotesService,
    private readonly wakeUps: WakeUps,
    private readonly database: Database,
    private readonly config: Config,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    this.bought = new Counter({
      name: 'auto_delegation_purchases_total',
      help: 'Purchases for auto-delegations, by `kind` and `outcome`.',
      labelNames: ['kind', 'outcome'] as const,
      registers: [metrics.registry],
    });
  }

  /** Buys nothing for the plan, because of a reason known in advance. */
  refuse({ refill }: RefillPlan, code: string): Outcome {
    return refill === undefined ? NOTHING : this.refused('order', code);
  }

  /** Buys the plan's refill at the chain's time `clockMs`. Throws database errors other than refusals. */
  async buy(row: ClaimedAutoDelegation, { refill }: RefillPlan, clockMs: number): Promise<Outcome> {
    switch (refill?.kind) {
      case undefined:
        return NOTHING;
      case 'wait':
        return SOON;
      case 'order':
        return this.buyOrder(row, refill.energy, clockMs);
      case 'extension':
        return this.buyExtension(row, refill, clockMs);
    }
  }

  private async buyOrder(row: ClaimedAutoDelegation, wanted: Energy, clockMs: number): Promise<Outcome> {
    const { energyMin, energyMax, durationMinSec } = this.config.sales;
    if (wanted < energyMin) return NOTHING;
    const amount = energy(wanted > energyMax ? energyMax : wanted);
    const longestSec = secondsLeft(row, clockMs);
    const price = (durationSec: number, uses: number) => this.quotes.priceDirect(amount, durationSec, uses);
    const durations = this.durationsFor(row, { amount, longestSec, clockMs, price });
    let outcome: Outcome = NOTHING;
    for (const wantedSec of durations) {
      // Pays for no time after `until`, as far as the shortest rental allows.
      const durationSec = Math.max(durationMinSec, Math.min(wantedSec, longestSec));
      outcome = await this.orderFor(row, amount, { durationSec, expectedUses: usesOf(row, durationSec, clockMs) });
      if (outcome.kind !== 'refused') break;
    }
    return outcome;
  }

  /**
   * Returns the durations to try: that of the request; or the chosen one, and then the one that the service begins with,
   * which binds less credits and stake.
   */
  private durationsFor(row: ClaimedAutoDelegation, purchase: Purchase): readonly number[] {
    if (!row.auto_duration) return [row.duration_sec];
    try {
      const { priceRows } = this.quotes.figures;
      const { amount, longestSec, clockMs, price } = purchase;
      const chosen = chooseDuration({
        priceRows,
        measured: measuredUses(row, clockMs),
        longestSec,
        creditsLeft: row.daily_cap_credits - row.spent_today,
        priceOf: (durationSec, uses) => {
          const priced = price(durationSec, uses);
          return isAbove(priced.priceSun, amount, row) ? undefined : priced;
        },
      });
      return [...new Set([chosen, usualDurationSec(longestDurationSec(priceRows))])];
    } catch (error) {
      // Prices are unknown: the purchase itself says so.
      if (error instanceof ApiError) return [row.duration_sec];
      throw error;
    }
  }

  private async orderFor(row: ClaimedAutoDelegation, amount: Energy, time: TimeToBuy): Promise<Outcome> {
    const { durationSec, expectedUses } = time;
    const request = { receiveAddress: row.address, energy: amount, durationSec, expectedUses };
    const { terms, refusal } = await this.directTerms.price(request, false);
    if (refusal?.code === 'NOT_WORTH_RENTING' && this.isTooLittle(row, time, amount)) return NOTHING;
    if (refusal !== undefined) return this.refused('order', reasonOf(refusal));
    if (terms === undefined) return SOON;
    if (isAbove(terms.priceSun, amount, row)) return this.outcomeAboveMax(row, time);
    const outcome = await buy(this.database, row, terms);
    if ('refused' in outcome) return this.refused('order', outcome.refused);
    if (outcome.orderId !== undefined) this.announce(row, outcome.orderId, terms);
    return outcome.orderId === undefined ? IMMEDIATELY : { kind: 'ordered' };
  }

  private async buyExtension(
    row: ClaimedAutoDelegation,
    { rental, endsAtMs, replacement }: Extract<Refill, { kind: 'extension' }>,
    clockMs: number,
  ): Promise<Outcome> {
    const outcome = await this.tryExtensions(row, rental, { endsAtMs, clockMs });
    if (!('refused' in outcome)) {
      this.bought.inc({ kind: 'extension', outcome: 'created' });
      this.log.info(
        { autoDelegationId: row.id.toString(), key: nextKey(row) },
        'extension accepted for an auto-delegation',
      );
      return IMMEDIATELY;
    }
    if (REPLACED.has(outcome.refused)) return this.buyOrder(row, replacement, clockMs);
    return this.refused('extension', outcome.refused);
  }

  private async tryExtensions(row: ClaimedAutoDelegation, rental: StandingRental, end: RentalEnd): Promise<Bought> {
    const longestSec = secondsLeft(row, end.endsAtMs);
    const price = (durationSec: number, uses: number) => this.quotes.priceTime(rental.energy, durationSec, uses);
    const purchase = { amount: rental.energy, longestSec, clockMs: end.clockMs, price };
    let outcome: Bought = { refused: MOVED };
    for (const wantedSec of this.durationsFor(row, purchase)) {
      outcome = await this.tryExtension(row, rental, { ...end, wantedSec });
      if (!('refused' in outcome) || outcome.refused === MOVED || REPLACED.has(outcome.refused)) break;
    }
    return outcome;
  }

  private async tryExtension(
    row: ClaimedAutoDelegation,
    rental: StandingRental,
    { endsAtMs, clockMs, wantedSec }: RentalEnd & { readonly wantedSec: number },
  ): Promise<Bought> {
    try {
      const { longestSec } = this.quotes.priceTime(rental.energy, wantedSec, usesOf(row, wantedSec, clockMs));
      const most = longestSec - Math.ceil((endsAtMs - clockMs) / 1000);
      const wanted = Math.min(wantedSec, secondsLeft(row, endsAtMs), most);
      const durationSec = Math.max(this.config.sales.durationMinSec, wanted);
      const expectedUses = usesOf(row, durationSec, clockMs);
      const priced = this.quotes.priceTime(rental.energy, durationSec, expectedUses);
      if (isAbove(priced.priceSun, rental.energy, row)) return { refused: PRICE_ABOVE_MAX };
      const terms = { ...priced, orderId: rental.orderId, durationSec, expectedUses, headAtMs: clockMs };
      return await extend(this.database, row, terms);
    } catch (error) {
      if (error instanceof ApiError) return { refused: reasonOf(error) };
      throw error;
    }
  }

  private refused(kind: 'order' | 'extension', code: string): Outcome {
    this.bought.inc({ kind, outcome: code });
    if (code === MOVED) return IMMEDIATELY;
    if (PASSING.has(code)) return SOON;
    return { kind: 'refused', reason: code === KEY_REFUSED ? KEY_REVOKED : code };
  }

  /** Returns true if the amount is not worth renting alone but the whole `keep_energy` would be: it waits to grow. */
  private isTooLittle(row: ClaimedAutoDelegation, { durationSec, expectedUses }: TimeToBuy, wanted: Energy): boolean {
    try {
      const least = this.quotes.leastEnergy(durationSec, expectedUses);
      return wanted < least && least <= row.keep_energy;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  /**
   * The minimum price makes small rentals expensive per energy. A small need waits if the whole amount would be within
   * the maximum.
   */
  private outcomeAboveMax(row: ClaimedAutoDelegation, { durationSec, expectedUses }: TimeToBuy): Outcome {
    try {
      const whole = this.quotes.priceDirect(row.keep_energy, durationSec, expectedUses);
      return isAbove(whole.priceSun, row.keep_energy, row) ? this.refused('order', PRICE_ABOVE_MAX) : NOTHING;
    } catch (error) {
      if (error instanceof ApiError) return this.refused('order', reasonOf(error));
      throw error;
    }
  }

  /** Runs after the commit, best effort: a sweep finds the order by its row. */
  private announce(row: ClaimedAutoDelegation, orderId: bigint, { energy: amount }: OrderTerms): void {
    this.wakeUps.wake(orderId);
    this.bought.inc({ kind: 'order', outcome: 'created' });
    this.log.info(
      { autoDelegationId: row.id.toString(), orderId: orderId.toString(), energy: amount?.toString() },
      'order accepted for an auto-delegation',
    );
  }
}

/** Returns the uses that a purchase is priced by. A duration of the request is priced for an address in daily use. */
function usesOf(row: ClaimedAutoDelegation, durationSec: number, clockMs: number): number {
  return row.auto_duration ? usesExpected(durationSec, measuredUses(row, clockMs)) : usesOfRefill(durationSec);
}

/** With these inputs, INVALID_REQUEST can only mean the duration. */
function reasonOf({ code }: ApiError): string {
  return code === 'INVALID_REQUEST' ? DURATION_NOT_SOLD : code;
}

/** Returns the seconds from the chain's time `fromMs` until the auto-delegation ends. */
function secondsLeft({ until }: ClaimedAutoDelegation, fromMs: number): number {
  return until === null ? Number.POSITIVE_INFINITY : Math.ceil((until.getTime() - fromMs) / 1000);
}

function isAbove(priceSun: Sun, amount: Energy, { max_sun_per_energy: max }: ClaimedAutoDelegation): boolean {
  return max !== null && priceSun > max * amount;
}
