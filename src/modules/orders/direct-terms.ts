/** Computes the terms of an order at the current price, and the pool capacity of any rental. Also prices refills. */
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { legsAffordable } from '../../domain/price.js';
import type { Energy, Sun } from '../../domain/units.js';
import { priceFloor } from '../pool/bandwidth.js';
import { energyPartOf, type BandwidthPart, type FurtherParts, type PartPrice } from '../../domain/order-items.js';
import { sunForBandwidth, sunOfOneUnit, type BandwidthRatio } from '../pool/bandwidth-stake.js';
import { marginFor, sunForEnergy, sunOfOneEnergy } from '../pool/energy-ratio.js';
import { Market } from '../quotes/market.js';
import { bandwidthRatioOf, QuotesService } from '../quotes/quotes.service.js';
import type { OrderTerms, PartCapacity, PricedOrder } from './purchase.js';
import { ReceiverCheck } from './receiver.js';
import { pricingRefusal } from './refusals.js';
import type { DirectRequest } from './request-hash.js';

export type Sized = PartCapacity & Pick<OrderTerms, 'energyFeeSun' | 'maxFeeLimitSun' | 'bandwidth' | 'activation'>;

/** The inputs that decide how much capacity a sale needs, and in how many legs. */
export interface Sale extends PartPrice, FurtherParts {
  readonly energy: Energy;
  readonly durationSec: number;
}

@Injectable()
export class DirectTerms {
  constructor(
    private readonly quotes: QuotesService,
    private readonly market: Market,
    private readonly receiverCheck: ReceiverCheck,
    private readonly config: Config,
  ) {}

  /** Returns the current terms and any refusal known in advance. */
  async price(request: DirectRequest, isTest: boolean): Promise<PricedOrder> {
    const { receiveAddress, durationSec } = request;
    const [priced, receiver] = await Promise.all([
      this.quotes.price({ ...request, isTest }).catch(pricingRefusal),
      this.receiverCheck.refusalOf(receiveAddress, isTest, request.activate),
    ]);
    if (priced instanceof ApiError) {
      // An address that can receive no energy has no transfer to simulate either: the first reason is more useful.
      const cause = priced.code === 'TRANSFER_WOULD_FAIL' ? (receiver ?? priced) : priced;
      return { terms: undefined, refusal: cause };
    }
    const sized = this.capacityOf({ ...priced, durationSec });
    if (sized instanceof ApiError) return { terms: undefined, refusal: receiver ?? sized };
    const { expectedUses, priceSun, credits, rate } = priced;
    return {
      terms: {
        receiveAddress,
        transfer: request.transfer,
        energy: priced.energy,
        durationSec,
        expectedUses,
        priceSun,
        credits,
        rate,
        ...sized,
      },
      refusal: receiver,
    };
  }

  /**
   * Returns the pool capacity needed for this energy at the current ratio, or the refusal if the ratio is unknown. Our
   * choice: the number of legs of a quoted order also follows the current fee. Its price is sealed, but its
   * transactions are paid for now.
   */
  capacityOf(sale: Sale): Sized | ApiError {
    try {
      const market = this.market.current();
      const { energyFeeSun, maxFeeLimitSun, ratio, createAccountFeeSun } = market;
      const floorSun = priceFloor(market.transactionFeeSunPerByte, this.config.sales.priceFloorBps);
      const marginBps = marginFor(sale.durationSec, this.config.pool.marginBps);
      const { activation } = sale;
      return {
        legsMax: legsAffordable(energyPartOf(sale).priceSun, floorSun),
        amountSun: sunForEnergy(sale.energy, ratio, marginBps),
        legSlackSun: sunOfOneEnergy(ratio),
        energyFeeSun,
        maxFeeLimitSun,
        ...(sale.bandwidth !== undefined && {
          bandwidth: bandwidthOf(sale.bandwidth, bandwidthRatioOf(market), marginBps, floorSun),
        }),
        ...(activation !== undefined && { activation: { ...activation, amountSun: createAccountFeeSun } }),
      };
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }
}

function bandwidthOf(
  part: BandwidthPart,
  ratio: BandwidthRatio,
  marginBps: number,
  floorSun: Sun,
): BandwidthPart & PartCapacity {
  return {
    ...part,
    amountSun: sunForBandwidth(part.units, ratio, marginBps),
    legSlackSun: sunOfOneUnit(ratio),
    legsMax: legsAffordable(part.priceSun, floorSun),
  };
}
