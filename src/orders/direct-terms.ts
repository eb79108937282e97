/** The terms of an order at the price of this moment, and what the pool must hold for one: shared by all who buy. */
import { Injectable } from '@nestjs/common';
import { ChainUnavailableError } from '../chain/errors.js';
import { Config } from '../config/config.js';
import { ApiError } from '../domain/errors.js';
import { legsAffordable } from '../domain/price.js';
import type { Energy, Sun } from '../domain/units.js';
import { priceFloor } from '../pool/bandwidth.js';
import { marginFor, sunForEnergy, sunOfOneEnergy } from '../pool/energy-ratio.js';
import { Market } from '../quotes/market.js';
import { QuotesService } from '../quotes/quotes.service.js';
import type { OrderTerms, Prepared } from './purchase.js';
import { chainAway, ReceiverCheck } from './receiver.js';

export type Sized = Pick<OrderTerms, 'amountSun' | 'legSlackSun' | 'legsMax'>;

/** What decides how much the pool must hold for a sale, and in how many parts. */
export interface Sale {
  readonly energy: Energy;
  readonly durationSec: number;
  readonly priceSun: Sun;
}

/** What is bought, for whom; without an energy it is sized by the receiver. */
export interface DirectRequest {
  readonly receiveAddress: string;
  readonly energy: Energy | undefined;
  readonly durationSec: number;
  /** For a test project; live when absent. */
  readonly isTest?: boolean;
}

@Injectable()
export class DirectTerms {
  constructor(
    private readonly quotes: QuotesService,
    private readonly market: Market,
    private readonly receivers: ReceiverCheck,
    private readonly config: Config,
  ) {}

  /** The price of this moment, and what is known against the order. */
  async prepare({ receiveAddress, energy, durationSec, isTest = false }: DirectRequest): Promise<Prepared> {
    const wanted = { receiveAddress, durationSec, isTest, ...(energy !== undefined && { energy }) };
    const [priced, receiver] = await Promise.all([
      this.quotes.price(wanted).catch(asChainRefusal),
      this.receivers.refusalOf(receiveAddress, isTest),
    ]);
    if (priced instanceof ApiError) return { terms: undefined, refusal: priced };
    const sized = this.capacityOf({ ...priced, durationSec });
    if (sized instanceof ApiError) return { terms: undefined, refusal: receiver ?? sized };
    const { priceSun, credits, rate } = priced;
    return {
      terms: { receiveAddress, energy: priced.energy, durationSec, priceSun, credits, rate, ...sized },
      refusal: receiver,
    };
  }

  /**
   * What the pool must hold for this energy at the ratio of the moment, or why that is unknown. Our choice: the legs
   * of a quoted order too by the fee of now, since its price is sealed but its transactions are paid for now.
   */
  capacityOf({ energy: amount, durationSec, priceSun }: Sale): Sized | ApiError {
    try {
      const { ratio, transactionFeeSunPerByte } = this.market.current();
      return {
        legsMax: legsAffordable(priceSun, priceFloor(transactionFeeSunPerByte, this.config.sales.priceFloorBps)),
        amountSun: sunForEnergy(amount, ratio, marginFor(durationSec, this.config.pool.marginBps)),
        legSlackSun: sunOfOneEnergy(ratio),
      };
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }
}

/** A refusal is a result here, since a replay comes before it; anything else stays a fault. */
function asChainRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ChainUnavailableError) return chainAway(error);
  throw error;
}
