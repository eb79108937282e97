/**
 * Extends running rentals, exactly once for each key. The price is computed here, before any transaction;
 * `extend_order` applies it.
 */
import { Injectable } from '@nestjs/common';
import { newPurchaseReference } from '../../platform/support/purchase-reference.js';
import { TtlCache } from '../../platform/support/ttl-cache.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { invalidField, messageOf, type ApiError } from '../../domain/errors.js';
import { priceAddedTime } from '../quotes/bandwidth-price.js';
import { QuotesService } from '../quotes/quotes.service.js';
import { Database, isRefusal } from '../../platform/database/database.js';
import { EXTEND, type AddedTime, type ExtensionPurchase, type PricedExtension } from './extend-statement.js';
import type { OrderAnswer } from './order-answers.js';
import { OrdersByKey, type KeyedOrderRow } from './order-rows.js';
import { orderBody } from './orders.dto.js';
import { PurchaseOutcomes } from './purchase-outcomes.js';
import { PurchaseQueue } from './purchase-queue.js';
import type { PurchaseContext } from './purchase.js';
import { ChargeRefusals, keyReused, pricingRefusal, refusalNamed } from './refusals.js';
import { requestHash } from './request-hash.js';
import { StatementRepeater } from './statement-repeater.js';

/**
 * Extensions share one head for less than a block's time, so that even unlimited requests cost the nodes one read a
 * second.
 */
const HEAD_LIMITS = { freshMs: 1000, staleMsMax: 1000, keysMax: 1 };

@Injectable()
export class ExtensionsService {
  /** The chain's time in ms. */
  private readonly chainHeads = new TtlCache<number>(HEAD_LIMITS);

  constructor(
    private readonly ordersByKey: OrdersByKey,
    private readonly quotes: QuotesService,
    private readonly client: TronClient,
    private readonly purchaseQueue: PurchaseQueue,
    private readonly statementRepeater: StatementRepeater,
    private readonly database: Database,
    private readonly chargeRefusals: ChargeRefusals,
    private readonly purchaseOutcomes: PurchaseOutcomes,
  ) {}

  /**
   * Moves the end of the project's rental `orderKey` by the added time, at the current price. Throws ApiError NOT_FOUND,
   * NOT_EXTENDABLE, and the errors of a direct order except those about its receiver. These leave nothing behind.
   */
  async extend(orderKey: string, time: AddedTime, context: PurchaseContext): Promise<OrderAnswer> {
    return this.purchaseOutcomes.countOutcome({ kind: 'extension', ...context }, this.place(orderKey, time, context));
  }

  private async place(orderKey: string, time: AddedTime, context: PurchaseContext): Promise<OrderAnswer> {
    const projectId = context.project.id;
    const order = await this.find(projectId, orderKey);
    const priced = await this.price(order, time);
    const hash = requestHash({ kind: 'extension', orderKey: order.key, ...time });
    const purchase = { ...context, orderId: order.id, time, hash, madeBy: newPurchaseReference(context.requestId) };
    const isReplay = await this.purchaseQueue.run(projectId, () => this.commit(purchase, priced));
    return { body: orderBody(await this.find(projectId, orderKey)), isReplay };
  }

  private async find(projectId: string, orderKey: string): Promise<KeyedOrderRow> {
    const order = await this.ordersByKey.find(projectId, orderKey);
    if (order === undefined) throw refusalNamed('NOT_FOUND', undefined);
    return order;
  }

  /** Returns a refusal as a result, since a replay takes precedence over it. */
  private async price(order: KeyedOrderRow, { durationSec, expectedUses }: AddedTime): Promise<PricedExtension> {
    // Only rentals have a price for time.
    const { energy: sold, bandwidth } = order;
    if (sold === null) return { terms: undefined, refusal: refusalNamed('NOT_EXTENDABLE', undefined) };
    try {
      if (!order.test) this.client.pool.assertAgreed();
      const terms = priceAddedTime(this.quotes.figures, { energy: sold, bandwidth }, durationSec, expectedUses);
      // For a test rental the database judges the end.
      const headAtMs = order.test ? order.created_at.getTime() : await this.chainTimeMs();
      return { terms: { ...terms, headAtMs }, refusal: undefined };
    } catch (error) {
      return { terms: undefined, refusal: pricingRefusal(error) };
    }
  }

  private async chainTimeMs(): Promise<number> {
    return this.chainHeads.get('', async () => (await this.client.head()).timestampMs);
  }

  /** Returns true if an earlier request extended the rental. Throws the refusal that the database chose. */
  private async commit(purchase: ExtensionPurchase, priced: PricedExtension): Promise<boolean> {
    try {
      const { row, isRecovered } = await this.statementRepeater.repeatUntilKnown((lockWaitMs) =>
        EXTEND.run(this.database, { purchase, priced, lockWaitMs }),
      );
      if (!row.same_request) throw keyReused();
      return !row.created && !(isRecovered && row.made_by === purchase.madeBy);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const code = messageOf(error);
      if (code === 'INVALID_REQUEST' && priced.terms !== undefined) throw tooLong(priced.terms.longestSec);
      throw await this.chargeRefusals.refusalOf(code, purchase, priced);
    }
  }
}

function tooLong(longestSec: number): ApiError {
  return invalidField('duration_sec', `must end the rental at most ${longestSec.toString()} seconds from now`);
}
