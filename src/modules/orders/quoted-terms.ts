/** Returns the terms of an order by its quote, at the quote's price. */
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import type { FurtherParts } from '../../domain/order-items.js';
import { energy } from '../../domain/units.js';
import type { ProjectRecord } from '../../platform/http/pipeline/request-context.js';
import { QuotesService, type OpenQuote } from '../quotes/quotes.service.js';
import { DirectTerms } from './direct-terms.js';
import type { RequestedOrder, UnlabelledOrderRequest } from './orders.dto.js';
import type { PricedOrder } from './purchase.js';
import { ReceiverCheck } from './receiver.js';

@Injectable()
export class QuotedTerms {
  constructor(
    private readonly quotes: QuotesService,
    private readonly directTerms: DirectTerms,
    private readonly receiverCheck: ReceiverCheck,
  ) {}

  /**
   * Judges in the order of docs/interface.md §9: token (404) → used → expired → mismatch → receiver → capacity →
   * credits. The database judges use, expiry and credits.
   */
  async price(
    { ref, named }: Extract<RequestedOrder, { kind: 'quoted' }>,
    { id: projectId, isTest }: ProjectRecord,
  ): Promise<PricedOrder> {
    const quote = this.quotes.openQuote(ref, projectId);
    if (quote === undefined) {
      const refusal = new ApiError(
        'QUOTE_NOT_FOUND',
        'This quote does not exist or belongs to another project. Request a new one.',
      );
      return { terms: undefined, refusal };
    }
    const sized = this.directTerms.capacityOf(quote);
    const refusal =
      mismatchOf(named, quote) ??
      (await this.receiverCheck.refusalOf(quote.receiveAddress, isTest, quote.activation !== undefined)) ??
      (sized instanceof ApiError ? sized : undefined);
    const { id, expiresAtMs, priceSun, bandwidth, activation, ...rental } = quote;
    return {
      terms: {
        ...rental,
        priceSun,
        // Nothing is reserved after a refusal. The quote's own terms keep the order of judgement.
        ...(sized instanceof ApiError ? capacityAfterRefusal({ priceSun, bandwidth, activation }) : sized),
        quote: { id, expiresAtMs },
      },
      refusal,
    };
  }
}

/** Returns a capacity that satisfies the columns of a row which the same statement undoes. */
function capacityAfterRefusal({ priceSun, bandwidth, activation }: Pick<OpenQuote, 'priceSun' | keyof FurtherParts>) {
  const none = { amountSun: priceSun, legSlackSun: priceSun, legsMax: 1n };
  return {
    ...none,
    ...(bandwidth !== undefined && { bandwidth: { ...bandwidth, ...none } }),
    ...(activation !== undefined && { activation: { ...activation, ...none } }),
  };
}

/** Compares only members that the caller sent, not defaults (docs/interface.md §9). */
function mismatchOf(
  request: UnlabelledOrderRequest,
  quote: Pick<OpenQuote, 'receiveAddress' | 'energy' | 'durationSec' | 'expectedUses' | keyof FurtherParts>,
): ApiError | undefined {
  const named: readonly (readonly [string, boolean])[] = [
    ['receive_address', request.receive_address !== undefined && request.receive_address !== quote.receiveAddress],
    ['energy', request.energy !== undefined && energy(request.energy) !== quote.energy],
    ['duration_sec', request.duration_sec !== undefined && request.duration_sec !== quote.durationSec],
    ['expected_uses', request.expected_uses !== undefined && request.expected_uses !== (quote.expectedUses ?? 1)],
    ['bandwidth', request.bandwidth !== undefined && BigInt(request.bandwidth) !== quote.bandwidth?.units],
    ['activate', request.activate !== undefined && request.activate !== (quote.activation !== undefined)],
  ];
  const wrong = named.filter(([, differs]) => differs).map(([field]) => field);
  if (wrong.length === 0) return undefined;
  return new ApiError('QUOTE_MISMATCH', `The order has a different ${wrong.join(', ')} than its quote.`);
}
