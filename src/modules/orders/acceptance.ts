/**
 * Takes an order exactly once. Each step of `takeOrder` is nested in the one before. It waits for the first request of the
 * key, replays or prices, then creates or replays in the project's turn. The last step repeats the statement until the
 * outcome is known. Keys and quotes are unique in Postgres. A lost answer is requested again, never reported as a
 * failure.
 */
import { Injectable } from '@nestjs/common';
import { withDeadline } from '../../platform/support/clock.js';
import { ApiError, invariant, messageOf } from '../../domain/errors.js';
import { LookupQueue } from '../../platform/http/pipeline/lookup-queue.js';
import { Log } from '../../platform/observability/logger.js';
import { WakeUps } from '../../platform/queue/jobs.js';
import { Database, isRefusal } from '../../platform/database/database.js';
import { acceptOrder, type AcceptRow } from './accept-statement.js';
import { KeyCache } from './key-cache.js';
import { OrdersByKey, type OrderRow } from './order-rows.js';
import { ReplayCounts } from './replay-counts.js';
import { PurchaseQueue, WAIT_MS, type KnownOutcome } from './purchase-queue.js';
import type { Accepted, OrderTerms, Prepared, Purchase } from './purchase.js';
import { RefusalThrottle } from './refusal-throttle.js';
import { ChargeRefusals } from './charge-refusals.js';
import { keyReused } from './refusals.js';

@Injectable()
export class Acceptance {
  /** Requests in progress in this process, by project and key. The same request waits for the first one. */
  private readonly inFlight = new Map<string, { readonly hash: Buffer; readonly outcome: Promise<Accepted> }>();

  constructor(
    private readonly database: Database,
    private readonly ordersByKey: OrdersByKey,
    private readonly keyCache: KeyCache,
    private readonly refusalThrottle: RefusalThrottle,
    private readonly chargeRefusals: ChargeRefusals,
    private readonly wakeUps: WakeUps,
    private readonly lookupQueue: LookupQueue,
    private readonly purchaseQueue: PurchaseQueue,
    private readonly replayCounts: ReplayCounts,
    private readonly log: Log,
  ) {}

  /**
   * Creates the order, or replays the existing order of its key. A refusal leaves nothing behind. After a 503 the
   * outcome may be unknown: a retry with the same key finds it, and every error contains the key.
   */
  async takeOrder(purchase: Purchase): Promise<Accepted> {
    const key = purchase.key.value;
    const { kind, isTest } = purchase;
    const accepted = await this.purchaseQueue.countOutcome({ kind, isTest }, key, () =>
      this.waitForFirstOfKey(purchase, key),
    );
    if (accepted.isReplay) this.replayCounts.countReplay(accepted.row.id);
    return accepted;
  }

  /**
   * A repetition while this process handles the first request replays the first one's order. A refusal leaves nothing
   * to replay, and may concern only the first request: its API key, or its statements about the quote.
   */
  private async waitForFirstOfKey(purchase: Purchase, key: string): Promise<Accepted> {
    if (!purchase.key.isGiven) return this.replayOrPrice(purchase, key);
    const name = `${purchase.projectId}\n${key}`;
    const first = this.inFlight.get(name);
    if (first?.hash.equals(purchase.hash) === true) {
      const accepted = await withDeadline(first.outcome.catch(ignoreRefusal), WAIT_MS, 'the first request of this key');
      return accepted === undefined ? this.replayOrPrice(purchase, key) : { row: accepted.row, isReplay: true };
    }
    const outcome = this.replayOrPrice(purchase, key);
    // Another request of the key may be in progress. The unique index makes this one wait for it, and then compares
    // them.
    if (first !== undefined) return outcome;
    this.inFlight.set(name, { hash: purchase.hash, outcome });
    try {
      return await outcome;
    } finally {
      this.inFlight.delete(name);
    }
  }

  /** Finds the order of a recently seen key before any judgement. Any other request is priced and waits for its turn. */
  private async replayOrPrice(purchase: Purchase, key: string): Promise<Accepted> {
    const isSeen = purchase.key.isGiven && this.keyCache.hasSeen(purchase.projectId, key);
    // Run both concurrently. Pricing never rejects for a reason that should keep a replay waiting.
    const preparing = this.lookupQueue.run(purchase.projectId, purchase.prepare).catch(asRefusal);
    preparing.catch(() => undefined);
    if (await isSeen) {
      const replay = await this.findReplay(purchase, key);
      if (replay !== undefined) return replay;
    }
    const prepared = await preparing;
    // Without a key from the caller no replay is possible, and without a quote no other check takes precedence.
    if (prepared.refusal !== undefined && !purchase.key.isGiven && prepared.terms?.quote === undefined) {
      throw prepared.refusal;
    }
    const refusal = await this.refusalThrottle.refusalOf(purchase, key, prepared);
    if (refusal !== undefined) throw await this.refusalNamed(refusal, purchase, prepared);
    return this.purchaseQueue.run(purchase.projectId, () => this.createOrReplay(purchase, key, prepared));
  }

  /** Returns the order of this key, if any. Throws 422 if a different request created it. */
  private async findReplay(purchase: Purchase, key: string): Promise<Accepted | undefined> {
    const row = await this.ordersByKey.find(purchase.projectId, key);
    if (row === undefined) return undefined;
    if (!row.request_hash.equals(purchase.hash)) throw keyReused();
    return { row, isReplay: true };
  }

  /** Applies the database's answer: a refusal, a new order, or the existing order of the key. */
  private async createOrReplay(purchase: Purchase, key: string, prepared: Prepared): Promise<Accepted> {
    const { row: result, isRecovered } = await this.acceptUntilKnown(purchase, key, prepared);
    if (result.refusal !== null) {
      this.refusalThrottle.noteRefusal(purchase.apiKeyId);
      throw await this.refusalNamed(result.refusal, purchase, prepared);
    }
    if (result.created) {
      this.announce(purchase, key, result.order_id);
      invariant(prepared.terms !== undefined, 'an order is created from terms');
      return { row: rowOfNewOrder(purchase, result, prepared.terms), isReplay: false };
    }
    if (!result.same_request) throw keyReused();
    const row = await this.ordersByKey.find(purchase.projectId, key);
    invariant(row !== undefined, 'an order is not deleted while it is taken');
    this.keyCache.remember(purchase.projectId, key, row.id);
    if (isRecovered) this.wakeUps.wake(row.id);
    return { row, isReplay: !(isRecovered && row.request_id === purchase.requestId) };
  }

  private async refusalNamed(code: string, purchase: Purchase, { terms, refusal }: Prepared): Promise<ApiError> {
    const { projectId, apiKeyId } = purchase;
    return this.chargeRefusals.refusalOf(code, refusal, { projectId, apiKeyId, credits: terms?.credits });
  }

  /**
   * Runs after the commit, best effort: a sweep finds the order's row anyway. The log line links the request to its
   * order; the worker's lines link the order to its transactions.
   */
  private announce(purchase: Purchase, key: string, orderId: bigint): void {
    const {
      projectId,
      requestId,
      kind,
      isTest,
      key: { isGiven },
    } = purchase;
    // Fulfilment does not handle test orders.
    if (!isTest) this.wakeUps.wake(orderId);
    this.log.info({ orderId: orderId.toString(), projectId, requestId, kind }, 'order accepted');
    if (isGiven) this.keyCache.remember(projectId, key, orderId);
  }

  private async acceptUntilKnown(
    purchase: Purchase,
    key: string,
    prepared: Prepared,
  ): Promise<KnownOutcome<AcceptRow>> {
    try {
      return await this.purchaseQueue.repeatUntilKnown((lockWaitMs) =>
        acceptOrder(this.database, { purchase, key, prepared, lockWaitMs }),
      );
    } catch (error) {
      throw isRefusal(error) ? await this.refusalNamed(messageOf(error), purchase, prepared) : error;
    }
  }
}

/** Returns a new order as its row was written, without reading it again. */
function rowOfNewOrder({ kind, key, isTest, labels }: Purchase, result: AcceptRow, terms: OrderTerms): OrderRow {
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
    price_sun: terms.priceSun,
    credits: terms.credits,
    trx_usd_e8: terms.rate,
    delivered_energy: null,
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
    test: isTest,
    legs: null,
    compensations: null,
    extensions: null,
  };
}

/** Turns a pricing error into a refusal, which is judged after a possible replay like any other. */
function asRefusal(error: unknown): Prepared {
  if (error instanceof ApiError) return { terms: undefined, refusal: error };
  throw error;
}

/** Returns undefined for a refusal, which leaves nothing behind. Rethrows any other error: its outcome is unknown. */
function ignoreRefusal(error: unknown): undefined {
  if (error instanceof ApiError && error.code !== 'SERVICE_UNAVAILABLE' && error.code !== 'INTERNAL_ERROR')
    return undefined;
  throw error;
}
