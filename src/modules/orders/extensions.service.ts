/**
 * Extends running rentals, exactly once for each key. The price is computed here, before any transaction;
 * `extend_order` applies it.
 */
import { Injectable } from '@nestjs/common';
import { TtlCache } from '../../platform/support/ttl-cache.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { ApiError, invalidField, messageOf } from '../../domain/errors.js';
import { energy } from '../../domain/units.js';
import { QuotesService } from '../quotes/quotes.service.js';
import { Database, isRefusal } from '../../platform/database/database.js';
import { extendOrder, type ExtendRow, type PreparedTime } from './extend-statement.js';
import { ChargeRefusals } from './charge-refusals.js';
import { OrdersByKey, type KeyedOrderRow } from './order-rows.js';
import { orderBody } from './orders.dto.js';
import type { OrderAnswer } from './orders.service.js';
import { PurchaseQueue, type KnownOutcome } from './purchase-queue.js';
import type { PurchaseContext } from './purchase.js';
import { keyReused, refusalNamed } from './refusals.js';
import { chainUnavailable } from './receiver.js';
import { requestHash } from './request-hash.js';

/**
 * Extensions share one head for less than a block's time, so that even unlimited requests cost the nodes one read a
 * second.
 */
const HEAD_LIMITS = { freshMs: 1000, staleMsMax: 1000, keysMax: 1 };

export interface AddedTime {
  /** Seconds. */
  readonly durationSec: number;
  /** Expected number of uses of the energy in the added time; one if absent. */
  readonly expectedUses?: number | undefined;
}

@Injectable()
export class ExtensionsService {
  /** The chain's time in ms. */
  private readonly chainHeads = new TtlCache<number>(HEAD_LIMITS);

  constructor(
    private readonly orders: OrdersByKey,
    private readonly quotes: QuotesService,
    private readonly purchaseQueue: PurchaseQueue,
    private readonly chain: TronClient,
    private readonly database: Database,
    private readonly chargeRefusals: ChargeRefusals,
  ) {}

  /**
   * Moves the end of the project's rental `orderKey` by the added time, at the current price. Throws ApiError NOT_FOUND,
   * NOT_EXTENDABLE, and the errors of a direct order except those about its receiver. These leave nothing behind.
   */
  async extend(orderKey: string, time: AddedTime, context: PurchaseContext): Promise<OrderAnswer> {
    const key = context.key.value;
    const { isTest } = context.project;
    return this.purchaseQueue.countOutcome({ kind: 'extension', isTest }, key, async () => {
      const order = await this.find(context.project.id, orderKey);
      const { row: made, isRecovered } = await this.take(order, time, context);
      if (!made.same_request) throw keyReused();
      const isOwn = made.created || (isRecovered && made.made_by === context.requestId);
      return { body: orderBody(await this.find(context.project.id, orderKey)), isReplay: !isOwn };
    });
  }

  private async find(projectId: string, orderKey: string): Promise<KeyedOrderRow> {
    const order = await this.orders.find(projectId, orderKey);
    if (order === undefined) throw refusalNamed('NOT_FOUND', undefined);
    return order;
  }

  private async take(
    order: KeyedOrderRow,
    time: AddedTime,
    { project, apiKeyId, key, requestId }: PurchaseContext,
  ): Promise<KnownOutcome<ExtendRow>> {
    const { durationSec, expectedUses } = time;
    const prepared = await this.prepare(order, time);
    const hash = requestHash({ kind: 'extension', orderKey: order.key, ...time });
    const request = { projectId: project.id, apiKeyId, key: key.value, hash, orderId: order.id };
    try {
      return await this.purchaseQueue.run(project.id, () =>
        this.purchaseQueue.repeatUntilKnown((lockWaitMs) =>
          extendOrder(this.database, { ...request, durationSec, expectedUses, requestId, prepared, lockWaitMs }),
        ),
      );
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const code = messageOf(error);
      if (code === 'INVALID_REQUEST' && 'terms' in prepared) throw tooLong(prepared.terms.longestSec);
      const [credits, known] =
        'terms' in prepared ? [prepared.terms.credits, undefined] : [undefined, prepared.refusal];
      throw await this.chargeRefusals.refusalOf(code, known, { projectId: project.id, apiKeyId, credits });
    }
  }

  /** Returns a refusal as a result, since a replay takes precedence over it. */
  private async prepare(order: KeyedOrderRow, { durationSec, expectedUses }: AddedTime): Promise<PreparedTime> {
    // Only rentals have a price for time.
    if (order.energy === null) return { refusal: refusalNamed('NOT_EXTENDABLE', undefined) };
    try {
      if (!order.test) this.chain.pool.assertAgreed();
      const terms = this.quotes.priceTime(energy(order.energy), durationSec, expectedUses);
      // For a test rental the database judges the end.
      if (order.test) return { terms: { ...terms, headAtMs: order.created_at.getTime() } };
      const headAtMs = await this.chainHeads.get('', async () => (await this.chain.head()).timestampMs);
      return { terms: { ...terms, headAtMs } };
    } catch (error) {
      if (error instanceof ApiError) return { refusal: error };
      if (error instanceof ChainUnavailableError) return { refusal: chainUnavailable(error) };
      throw error;
    }
  }
}

function tooLong(longestSec: number): ApiError {
  return invalidField('duration_sec', `must end the rental at most ${longestSec.toString()} seconds from now`);
}
