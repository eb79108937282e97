/**
 * Commits a purchase: creates its order, or finds the existing order of its key. A lost answer is requested again,
 * never reported as a failure.
 */
import { Injectable } from '@nestjs/common';
import { invariant, messageOf } from '../../domain/errors.js';
import { Database, isRefusal } from '../../platform/database/database.js';
import { acceptOrder, type AcceptRow } from './accept-statement.js';
import { OrdersByKey, type OrderRow } from './order-rows.js';
import type { Accepted, OrderTerms, PricedOrder, Purchase } from './purchase.js';
import { RefusalThrottle } from './refusal-throttle.js';
import { ChargeRefusals, keyReused } from './refusals.js';
import { StatementRepeater, type KnownOutcome } from './statement-repeater.js';

export interface Committed extends Accepted {
  /** True if the last statement of this purchase created the order. */
  readonly isCreated: boolean;
  /** True if an answer was lost, so that an earlier statement of this purchase may have created the order. */
  readonly isRecovered: boolean;
}

@Injectable()
export class OrderCommits {
  constructor(
    private readonly database: Database,
    private readonly statementRepeater: StatementRepeater,
    private readonly ordersByKey: OrdersByKey,
    private readonly refusalThrottle: RefusalThrottle,
    private readonly chargeRefusals: ChargeRefusals,
  ) {}

  /** Throws the refusal that the database chose; it leaves nothing behind. */
  async commit(purchase: Purchase, priced: PricedOrder): Promise<Committed> {
    const { row: result, isRecovered } = await this.takeOrder(purchase, priced);
    if (result.refusal !== null) {
      this.refusalThrottle.noteRefusal(purchase.apiKeyId);
      throw await this.chargeRefusals.refusalOf(result.refusal, purchase, priced);
    }
    if (result.created) {
      invariant(priced.terms !== undefined, 'an order is created from terms');
      return { row: rowOfNewOrder(purchase, result, priced.terms), isReplay: false, isCreated: true, isRecovered };
    }
    if (!result.same_request) throw keyReused();
    const row = await this.ordersByKey.find(purchase.project.id, purchase.key.value);
    invariant(row !== undefined, 'an order is not deleted while it is taken');
    const isOwn = isRecovered && row.request_id === purchase.madeBy;
    return { row, isReplay: !isOwn, isCreated: false, isRecovered };
  }

  private async takeOrder(purchase: Purchase, priced: PricedOrder): Promise<KnownOutcome<AcceptRow>> {
    try {
      return await this.statementRepeater.repeatUntilKnown((lockWaitMs) =>
        acceptOrder(this.database, { purchase, priced, lockWaitMs }),
      );
    } catch (error) {
      throw isRefusal(error) ? await this.chargeRefusals.refusalOf(messageOf(error), purchase, priced) : error;
    }
  }
}

/** Returns a new order as its row was written, without reading it again. */
function rowOfNewOrder({ kind, key, project, labels }: Purchase, result: AcceptRow, terms: OrderTerms): OrderRow {
  return {
    id: result.order_id,
    key: key.value,
    kind,
    status: 'reserved',
    receive_address: terms.receiveAddress,
    energy: terms.energy ?? null,
    duration_sec: terms.durationSec ?? null,
    expected_uses: terms.expectedUses ?? null,
    energy_fee_sun: terms.energyFeeSun ?? null,
    max_fee_limit_sun: terms.maxFeeLimitSun ?? null,
    bandwidth: terms.bandwidth?.units ?? null,
    bandwidth_price_sun: terms.bandwidth?.priceSun ?? null,
    bandwidth_credits: terms.bandwidth?.credits ?? null,
    activation_price_sun: terms.activation?.priceSun ?? null,
    activation_credits: terms.activation?.credits ?? null,
    price_sun: terms.priceSun,
    credits: terms.credits,
    trx_usd_e8: terms.rate,
    delivered_energy: null,
    delivered_bandwidth: null,
    kept_credits: null,
    settled: false,
    needs_attention: false,
    error_code: null,
    error: null,
    reference: labels.reference ?? null,
    metadata: labels.metadata ?? null,
    created_at: result.order_created_at,
    delivered_at: null,
    ends_at: null,
    reclaimed_at: null,
    test: project.isTest,
    legs: null,
    compensations: null,
    extensions: null,
    measured_use: null,
  };
}
