/** Computes the terms of an activation from the chain's fees. */
import { Injectable } from '@nestjs/common';
import { creditsOf } from '../../domain/conversion.js';
import type { ApiError } from '../../domain/errors.js';
import { sun } from '../../domain/units.js';
import { Config } from '../../platform/config/config.js';
import { Rates } from '../billing/rates.js';
import { Market } from '../quotes/market.js';
import { activationPrice } from '../quotes/quotes.service.js';
import { testAddressRefusal } from '../quotes/test-receivers.js';
import type { PricedOrder } from './purchase.js';
import { alreadyActivated, playedRefusal, ReceiverCheck } from './receiver.js';

@Injectable()
export class ActivationTerms {
  constructor(
    private readonly receiverCheck: ReceiverCheck,
    private readonly market: Market,
    private readonly rates: Rates,
    private readonly config: Config,
  ) {}

  /** Throws ApiError CHAIN_UNAVAILABLE and ChainUnavailableError. */
  async price(receiveAddress: string, isTest: boolean): Promise<PricedOrder> {
    const refusal = await this.refusalOf(receiveAddress, isTest);
    if (refusal !== undefined) return { terms: undefined, refusal };
    const market = this.market.current();
    const { createAccountFeeSun } = market;
    const priceSun = activationPrice(market, this.config.sales);
    const { rate } = this.rates.current();
    return {
      terms: {
        receiveAddress,
        energy: undefined,
        durationSec: undefined,
        priceSun,
        credits: creditsOf(priceSun, rate),
        rate,
        amountSun: createAccountFeeSun,
        // An activation is one transaction from one wallet, so there is only one leg.
        legSlackSun: sun(0),
        legsMax: 1n,
      },
      refusal: undefined,
    };
  }

  /** For a test project, the address alone decides. Throws ChainUnavailableError. */
  private async refusalOf(address: string, isTest: boolean): Promise<ApiError | undefined> {
    if (isTest) return playedRefusal(address, 'activation');
    const refusal = testAddressRefusal(address, isTest);
    if (refusal !== undefined) return refusal;
    if ((await this.receiverCheck.stateOf(address)) === 'not-activated') return undefined;
    return alreadyActivated();
  }
}
