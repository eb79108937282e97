/**
 * Sells the activation of a chain account as a kind of order: priced from the chain's fees, then accepted, charged and
 * fulfilled like a rental. Sends nothing itself.
 */
import { Injectable } from '@nestjs/common';
import { Rates } from '../billing/rates.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import { creditsOf } from '../../domain/conversion.js';
import { sun } from '../../domain/units.js';
import { Acceptance } from '../orders/acceptance.js';
import type { Prepared } from '../orders/purchase.js';
import { OrdersService, type OrderAnswer } from '../orders/orders.service.js';
import type { OrderContext } from '../orders/purchase.js';
import { ReceiverCheck, chainUnavailable, playedRefusal } from '../orders/receiver.js';
import { requestHash } from '../orders/request-hash.js';
import { Market } from '../quotes/market.js';
import { testAddressRefusal } from '../quotes/test-receivers.js';

@Injectable()
export class ActivationService {
  constructor(
    private readonly acceptance: Acceptance,
    private readonly orders: OrdersService,
    private readonly receivers: ReceiverCheck,
    private readonly market: Market,
    private readonly rates: Rates,
    private readonly config: Config,
  ) {}

  /** Buys the activation of `address`. Throws ALREADY_ACTIVATED and the errors of an order, except those of quotes. */
  async create(address: string, context: OrderContext): Promise<OrderAnswer> {
    const accepted = await this.acceptance.takeOrder({
      projectId: context.project.id,
      isTest: context.project.isTest,
      apiKeyId: context.apiKeyId,
      kind: 'activation',
      key: context.key,
      hash: requestHash({ kind: 'activation', receiveAddress: address }),
      requestId: context.requestId,
      labels: context.labels,
      prepare: () => this.prepare(address, context.project.isTest),
    });
    return this.orders.answer(accepted, context);
  }

  private async prepare(address: string, isTest: boolean): Promise<Prepared> {
    try {
      const refusal = await this.refusalOf(address, isTest);
      if (refusal !== undefined) return { terms: undefined, refusal };
      const { createAccountFeeSun } = this.market.current();
      const priceSun = sun(createAccountFeeSun + BigInt(this.config.sales.activationMarkupSun));
      const { rate } = this.rates.current();
      return {
        terms: {
          receiveAddress: address,
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
    } catch (error) {
      if (error instanceof ApiError) return { terms: undefined, refusal: error };
      if (error instanceof ChainUnavailableError) return { terms: undefined, refusal: chainUnavailable(error) };
      throw error;
    }
  }

  /** For a test project, the address alone decides. Throws ChainUnavailableError. */
  private async refusalOf(address: string, isTest: boolean): Promise<ApiError | undefined> {
    if (isTest) return playedRefusal(address, 'activation');
    const refusal = testAddressRefusal(address, isTest);
    if (refusal !== undefined) return refusal;
    if ((await this.receivers.stateOf(address)) === 'not-activated') return undefined;
    return new ApiError('ALREADY_ACTIVATED', 'This address already exists on chain. Nothing was charged.');
  }
}
