/**
 * Takes an order exactly once. The steps of `take`, each in the one before: wait for the first request of the key, replay
 * or price, in the project's turn create or replay, and ask the database until it is known which.
 * Postgres referees keys and quotes; an answer that was lost on the way is asked for again, never called a failure.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs, sleep, withDeadline, DeadlineError } from '../base/clock.js';
import { Config } from '../config/config.js';
import { ApiError, invariant, isErrorCode, messageOf } from '../domain/errors.js';
import { FairQueue } from '../base/fair-queue.js';
import { Log } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { WakeUps } from '../queue/jobs.js';
import {
  Database,
  isConnectionFault,
  isDatabaseAway,
  isLockTimeout,
  isRefusal,
  isRetryable,
  isTooSlow,
} from '../store/database.js';
import { acceptOrder, type AcceptRow } from './accept-statement.js';
import { KeyCache } from './key-cache.js';
import { LockWait } from './lock-wait.js';
import { OrdersByKey, type OrderRow } from './order-rows.js';
import type { OrderKind } from '../domain/order-state.js';
import type { Accepted, OrderTerms, Prepared, Purchase } from './purchase.js';
import { RefusedLately } from './refused-lately.js';
import { refusalOf } from './refusals.js';

/** How long a request waits for the first one of its key, and for its turn (docs/interface.md §10). */
const WAIT_MS = 10_000;
/** How long a lost answer is read again before the caller is asked to. */
const RECOVERY_MS = 8000;
const RECOVERY_STEP_MS = 50;
const RECOVERY_STEP_MS_MAX = 500;
/** Connections that orders never take, for reads and balances. */
const CONNECTIONS_KEPT_FREE = 2;
/** More would only queue on the project's balance row, holding connections. */
const PER_PROJECT_MAX = 8;
const WAITING_MAX = 20_000;
const WAITING_PER_PROJECT = 10_000;
/** Times that a statement is run of which the database says that it may be run again. */
const RETRIES_MAX = 3;

interface Outcome {
  readonly row: AcceptRow;
  /** Whether an answer was lost on the way, so that an order found may be one that this request made. */
  readonly isRecovered: boolean;
}

@Injectable()
export class Acceptance {
  /** Orders are never refused for their rate (docs/interface.md §4): a burst waits here, without a connection. */
  private readonly queue: FairQueue;
  private readonly lockWait = new LockWait();
  /** Requests of this process whose key is being worked on; the same request again waits for the first. */
  private readonly inFlight = new Map<string, { readonly hash: Buffer; readonly outcome: Promise<Accepted> }>();
  private readonly accepted: Counter<'kind' | 'outcome'>;

  constructor(
    private readonly database: Database,
    private readonly orders: OrdersByKey,
    private readonly keys: KeyCache,
    private readonly refusedLately: RefusedLately,
    private readonly wakeUps: WakeUps,
    config: Config,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    const total = Math.max(1, config.database.poolMax - CONNECTIONS_KEPT_FREE);
    const perProject = Math.min(total, PER_PROJECT_MAX);
    this.queue = new FairQueue({
      total,
      perProject,
      waitingMax: WAITING_MAX,
      waitingPerProject: WAITING_PER_PROJECT,
      waitMs: WAIT_MS,
    });
    this.accepted = new Counter({
      name: 'order_requests_total',
      help: 'Purchases by what became of them: created, replayed, conflict (key reused), or the refusal.',
      labelNames: ['kind', 'outcome'],
      registers: [metrics.registry],
    });
  }

  /**
   * Creates the order or replays the one its key already has. Every refusal leaves nothing behind. Of a 503 the
   * outcome may be unknown: the same key finds it, and every error names the key.
   */
  async take(purchase: Purchase): Promise<Accepted> {
    const key = purchase.key.value;
    try {
      const result = await this.waitForFirstOfKey(purchase, key);
      this.accepted.inc({ kind: purchase.kind, outcome: result.isReplay ? 'replayed' : 'created' });
      return result;
    } catch (error) {
      const refusal = asRefusal(error, key);
      this.accepted.inc({ kind: purchase.kind, outcome: refusal.code });
      throw refusal;
    }
  }

  /** The same request again, while this process works on the first, gets the outcome of the first as its replay. */
  private async waitForFirstOfKey(purchase: Purchase, key: string): Promise<Accepted> {
    if (!purchase.key.isGiven) return this.replayOrPrice(purchase, key);
    const name = `${purchase.projectId}\n${key}`;
    const first = this.inFlight.get(name);
    if (first?.hash.equals(purchase.hash) === true) {
      const { row } = await withDeadline(first.outcome, WAIT_MS, 'the first request of this key');
      return { row, isReplay: true };
    }
    const outcome = this.replayOrPrice(purchase, key);
    // Another request of the key may be under way: the index lets this one wait for it and then compares.
    if (first !== undefined) return outcome;
    this.inFlight.set(name, { hash: purchase.hash, outcome });
    try {
      return await outcome;
    } finally {
      this.inFlight.delete(name);
    }
  }

  /** A key that was seen lately is looked up before anything is judged; any other is priced, and waits for its turn. */
  private async replayOrPrice(purchase: Purchase, key: string): Promise<Accepted> {
    const isSeen = purchase.key.isGiven && this.keys.seen(purchase.projectId, key);
    // Both at once; pricing never rejects for a reason that a replay must not wait for.
    const preparing = purchase.prepare();
    preparing.catch(() => undefined);
    if (await isSeen) {
      const replay = await this.replayOf(purchase, key);
      if (replay !== undefined) return replay;
    }
    const prepared = await preparing;
    // Without a key of the caller's there is nothing to replay, and without a quote nothing that comes before.
    if (prepared.refusal !== undefined && !purchase.key.isGiven && prepared.terms?.quote === undefined) {
      throw prepared.refusal;
    }
    const refusal = await this.refusedLately.refusalOf(purchase, key, prepared);
    if (refusal !== undefined) throw refusalNamed(refusal, prepared.refusal);
    return this.queue.run(purchase.projectId, () => this.createOrReplay(purchase, key, prepared));
  }

  /** The order of this key, if there is one; 422 when it was another request's. */
  private async replayOf(purchase: Purchase, key: string): Promise<Accepted | undefined> {
    const row = await this.orders.find(purchase.projectId, key);
    if (row === undefined) return undefined;
    if (!row.request_hash.equals(purchase.hash)) throw keyReused();
    return { row, isReplay: true };
  }

  /** What the database made of it: a refusal, a new order, or the one that the key already has. */
  private async createOrReplay(purchase: Purchase, key: string, prepared: Prepared): Promise<Accepted> {
    const { row: result, isRecovered } = await this.acceptUntilKnown(purchase, key, prepared);
    if (result.refusal !== null) {
      this.refusedLately.note(purchase.apiKeyId);
      throw refusalNamed(result.refusal, prepared.refusal);
    }
    if (result.created) {
      this.announce(purchase, key, result.order_id);
      invariant(prepared.terms !== undefined, 'an order is created from terms');
      return { row: newRow(purchase.kind, key, result, prepared.terms), isReplay: false };
    }
    if (!result.same_request) throw keyReused();
    const row = await this.orders.find(purchase.projectId, key);
    invariant(row !== undefined, 'orders are never deleted');
    this.keys.remember(purchase.projectId, key, row.id);
    if (isRecovered) this.wakeUps.wake(row.id);
    return { row, isReplay: !(isRecovered && row.request_id === purchase.requestId) };
  }

  /**
   * After the commit, best effort: the order's row itself is the work that a sweep finds. The log line leads from a
   * request to its order; the worker's lines lead on to the transaction.
   */
  private announce({ projectId, requestId, kind, key: { isGiven } }: Purchase, key: string, orderId: bigint): void {
    this.wakeUps.wake(orderId);
    this.log.info({ orderId: orderId.toString(), projectId, requestId, kind }, 'order accepted');
    if (isGiven) this.keys.remember(projectId, key, orderId);
  }

  /**
   * Runs the statement until its outcome is known. When the connection breaks, the commit may or may not have
   * happened; the same call shows it, because it finds the order by its key or takes it now.
   */
  private async acceptUntilKnown(purchase: Purchase, key: string, prepared: Prepared): Promise<Outcome> {
    const deadlineMs = monotonicMs() + RECOVERY_MS;
    let isRecovered = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const request = { purchase, key, prepared, lockWaitMs: this.lockWait.ms };
        return { row: await acceptOrder(this.database, request), isRecovered };
      } catch (error) {
        if (isRefusal(error)) throw refusalNamed(messageOf(error), prepared.refusal);
        if (isLockTimeout(error)) this.lockWait.failed();
        const isLost = isConnectionFault(error);
        isRecovered ||= isLost;
        const mayRetry = isLost ? monotonicMs() < deadlineMs : isRetryable(error) && attempt < RETRIES_MAX;
        if (!mayRetry) throw error;
        await sleep(Math.min(RECOVERY_STEP_MS * attempt, RECOVERY_STEP_MS_MAX) * (0.5 + Math.random()));
      }
    }
  }
}

function keyReused(): ApiError {
  return new ApiError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key belongs to another request, whose order stands; GET /v1/orders/{key} shows it.',
  );
}

/** The refusal the database decided for; what was known before comes back with its own words. */
function refusalNamed(code: string, known: ApiError | undefined): ApiError {
  if (known?.code === code) return known;
  invariant(isErrorCode(code), 'an order is refused with a code of the interface');
  return refusalOf(code);
}

/** A new order as its row was written, without reading it again. */
function newRow(kind: OrderKind, key: string, result: AcceptRow, terms: OrderTerms): OrderRow {
  return {
    id: result.order_id,
    key,
    kind,
    status: 'reserved',
    receive_address: terms.receiveAddress,
    energy: terms.energy ?? null,
    duration_sec: terms.durationSec ?? null,
    price_sun: terms.priceSun,
    credits: terms.credits,
    trx_usd_e8: terms.rate,
    delivered_energy: null,
    settled: false,
    needs_attention: false,
    error_code: null,
    error: null,
    created_at: result.order_created_at,
    delivered_at: null,
    ends_at: null,
    reclaimed_at: null,
    legs: null,
    compensations: null,
  };
}

/** What the caller learns of a failure. While its outcome may be unknown, the key to ask with is among it. */
function asRefusal(error: unknown, key: string): ApiError {
  if (error instanceof ApiError) {
    if (error.code !== 'SERVICE_UNAVAILABLE') return error;
    const { cause, headers, retryAfterSec = 1 } = error;
    return new ApiError(error.code, error.message, { headers, cause, retryAfterSec, key });
  }
  const again = `repeat the request with Idempotency-Key ${key}`;
  if (error instanceof DeadlineError || isDatabaseAway(error) || isTooSlow(error)) {
    const words = `It is not known yet whether the order was taken; ${again} to find out, or to have it taken once.`;
    return new ApiError('SERVICE_UNAVAILABLE', words, { key, cause: error, retryAfterSec: 2 });
  }
  const words = `Something went wrong on our side; to ${again} is safe, and takes the order at most once.`;
  return new ApiError('INTERNAL_ERROR', words, { key, cause: error });
}
