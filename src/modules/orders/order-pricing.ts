/** Prices orders of every kind. A refusal is a result: a replay, and the checks of a quote, take precedence over it. */
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import { LookupQueue } from '../../platform/http/pipeline/lookup-queue.js';
import { ActivationTerms } from './activation-terms.js';
import { DirectTerms } from './direct-terms.js';
import type { PricedOrder, Purchase } from './purchase.js';
import { QuotedTerms } from './quoted-terms.js';
import { pricingRefusal } from './refusals.js';

@Injectable()
export class OrderPricing {
  constructor(
    private readonly quotedTerms: QuotedTerms,
    private readonly directTerms: DirectTerms,
    private readonly activationTerms: ActivationTerms,
    private readonly lookupQueue: LookupQueue,
  ) {}

  /** Begins to price an order. The result may be left unused: a replay does not wait for it. */
  start(purchase: Purchase): Promise<PricedOrder> {
    const pricing = this.lookupQueue.run(purchase.project.id, () => this.price(purchase)).catch(asRefused);
    pricing.catch(() => undefined);
    return pricing;
  }

  private async price({ order, project }: Purchase): Promise<PricedOrder> {
    switch (order.kind) {
      case 'quoted':
        return this.quotedTerms.price(order, project);
      case 'direct':
        return project.requireQuote ? quoteRequired() : this.directTerms.price(order, project.isTest);
      case 'activation':
        return this.activationTerms.price(order.receiveAddress, project.isTest);
    }
  }
}

function quoteRequired(): PricedOrder {
  const refusal = new ApiError('QUOTE_REQUIRED', 'This project requires a quote. Send a quote_ref.');
  return { terms: undefined, refusal };
}

function asRefused(error: unknown): PricedOrder {
  return { terms: undefined, refusal: pricingRefusal(error) };
}
