/**
 * Takes an order exactly once: one statement (refuse_or_accept_order) that charges, reserves and records, or leaves nothing.
 * Postgres referees keys and quotes; an answer that was lost on the way is asked for again, never called a failure.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { monotonicMs, sleep, withDeadline, DeadlineError } from '../base/clock.js';
import { Config } from '../config/config.js';
import { ApiError, invariant, isErrorCode } from '../domain/errors.js';
import { FairQueue } from '../base/fair-queue.js';
import type { PurchaseKey } from '../http/pipeline/idempotency-key.js';
import { Log } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import type { Credits, Energy, RateE8, Sun } from '../domain/units.js';
import { WakeUps } from '../queue/jobs.js';
import { REFUSAL_SQLSTATE } from '../store/functions/accept-order.js';
import { Database, isConnectionFault, isDatabaseAway, isTooSlow, sqlStateOf } from '../store/database.js';
import { KeyCache } from './key-cache.js';
import { LockWait } from './lock-wait.js';
import { OrdersByKey, type OrderRow } from './order-rows.js';
import type { OrderKind } from '../domain/order-state.js';
import { refusalOf } from './refusals.js';

/** What will be charged and delivered, priced before any transaction. */
export interface OrderTerms {
  readonly receiveAddress: string;
  readonly energy: Energy | undefined;
  readonly durationSec: number | undefined;
  readonly priceSun: Sun;
  readonly credits: Credits;
  readonly rate: RateE8;
  /** What is taken of the pool's capacity: sun to delegate, or to spend for an activation. */
  readonly amountSun: Sun;
  /** Sun worth one energy, for each further leg. */
  readonly legSlackSun: Sun;
  /** Over how many wallets the order may be spread: each leg costs two transactions. */
  readonly legsMax: bigint;
  readonly quote?: { readonly id: string; readonly expiresAtMs: number };
}

/** The outcome of pricing. A refusal waits until replay, used and expired quote are judged (docs/interface.md §9). */
export interface Prepared {
  /** Absent when the refusal left nothing to charge. */
  readonly terms: OrderTerms | undefined;
  readonly refusal: ApiError | undefined;
}

export interface Purchase {
  readonly projectId: string;
  readonly kind: OrderKind;
  readonly key: PurchaseKey;
  readonly hash: Buffer;
  readonly requestId: string;
  readonly prepare: () => Promise<Prepared>;
}

export interface Accepted {
  readonly row: OrderRow;
  readonly isReplay: boolean;
}

interface AcceptRow {
  /** The code of the refusal; all else is absent then. */
  readonly refusal: string | null;
  readonly created: boolean;
  readonly order_id: bigint;
  readonly order_created_at: Date;
  readonly same_request: boolean;
}

const ACCEPT = {
  name: 'accept-order',
  text: `SELECT refusal, created, order_id, order_created_at, same_request
           FROM refuse_or_accept_order($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
};

/** How long a request waits for the first one of its key, and for its turn (docs/interface.md §10). */
const WAIT_MS = 10_000;
/** How long a lost answer is asked for again before the caller is told to. */
const RECOVERY_MS = 8000;
const RECOVERY_STEP_MS = 50;
const RECOVERY_STEP_MS_MAX = 500;
/** The longest one statement may hold a request: longer than its own limits, for a connection that went silent. */
const STATEMENT_LIMIT_MS = 13_000;
/** Connections that orders never take, for reads and balances. */
const CONNECTIONS_KEPT_FREE = 2;
/** More would only queue on the project's balance row, holding connections. */
const PER_PROJECT_MAX = 8;
const WAITING_MAX = 20_000;
const WAITING_PER_PROJECT = 10_000;
/** deadlock_detected, serialization_failure: the transaction is gone and may be run again. */
const RETRYABLE = new Set(['40P01', '40001']);
/** lock_not_available, query_canceled: rolled back for its time limit. */
const RETRIES_MAX = 3;

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
    private readonly hints: KeyCache,
    private readonly wakes: WakeUps,
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
      const result = await this.takeOnce(purchase, key);
      this.accepted.inc({ kind: purchase.kind, outcome: result.isReplay ? 'replayed' : 'created' });
      return result;
    } catch (error) {
      const refusal = asRefusal(error, key);
      this.accepted.inc({ kind: purchase.kind, outcome: refusal.code });
      throw refusal;
    }
  }

  private async takeOnce(purchase: Purchase, key: string): Promise<Accepted> {
    if (!purchase.key.isGiven) return this.work(purchase, key);
    const name = `${purchase.projectId}\n${key}`;
    const first = this.inFlight.get(name);
    if (first?.hash.equals(purchase.hash) === true) {
      const { row } = await withDeadline(first.outcome, WAIT_MS, 'the first request of this key');
      return { row, isReplay: true };
    }
    const outcome = this.work(purchase, key);
    // Another request of the key may be under way: the index lets this one wait for it and then compares.
    if (first !== undefined) return outcome;
    this.inFlight.set(name, { hash: purchase.hash, outcome });
    try {
      return await outcome;
    } finally {
      this.inFlight.delete(name);
    }
  }

  private async work(purchase: Purchase, key: string): Promise<Accepted> {
    const isSeen = purchase.key.isGiven && this.hints.seen(purchase.projectId, key);
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
    return this.queue.run(purchase.projectId, () => this.accept(purchase, key, prepared));
  }

  /** The order of this key, if there is one; 422 when it was another request's. */
  private async replayOf(purchase: Purchase, key: string): Promise<Accepted | undefined> {
    const row = await this.orders.find(purchase.projectId, key);
    if (row === undefined) return undefined;
    if (!row.request_hash.equals(purchase.hash)) throw keyReused();
    return { row, isReplay: true };
  }

  private async accept(purchase: Purchase, key: string, prepared: Prepared): Promise<Accepted> {
    const { row: result, isRecovered } = await this.runAccept(purchase, key, prepared);
    if (result.refusal !== null) throw refusalNamed(result.refusal, prepared.refusal);
    if (result.created) {
      // Committed: what follows is best effort, and the order row itself is the work that a sweeper finds.
      this.wakes.wake(result.order_id);
      this.tellOfNew(purchase, result.order_id);
      if (purchase.key.isGiven) this.hints.remember(purchase.projectId, key, result.order_id);
      invariant(prepared.terms !== undefined, 'an order is created from terms');
      return { row: newRow(purchase.kind, key, result, prepared.terms), isReplay: false };
    }
    if (!result.same_request) throw keyReused();
    const row = await this.orders.find(purchase.projectId, key);
    invariant(row !== undefined, 'orders are never deleted');
    this.hints.remember(purchase.projectId, key, row.id);
    if (isRecovered) this.wakes.wake(row.id);
    return { row, isReplay: !(isRecovered && row.request_id === purchase.requestId) };
  }

  /** The line that leads from a request to its order; the worker's lines lead on to the transaction. */
  private tellOfNew({ projectId, requestId, kind }: Purchase, orderId: bigint): void {
    this.log.info({ orderId: orderId.toString(), projectId, requestId, kind }, 'order accepted');
  }

  /**
   * Runs the statement until its outcome is known. When the connection breaks, the commit may or may not have
   * happened; the same call tells, because it finds the order by its key or takes it now.
   */
  private async runAccept(
    purchase: Purchase,
    key: string,
    prepared: Prepared,
  ): Promise<{ readonly row: AcceptRow; readonly isRecovered: boolean }> {
    const deadlineMs = monotonicMs() + RECOVERY_MS;
    let isRecovered = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const params = acceptParams(purchase, key, prepared, this.lockWait.ms);
        const statement = this.database.query<AcceptRow>(ACCEPT, params);
        const [row] = await withDeadline(statement, STATEMENT_LIMIT_MS, 'taking an order');
        invariant(row !== undefined, 'refuse_or_accept_order answers one row');
        return { row, isRecovered };
      } catch (error) {
        const state = sqlStateOf(error) ?? '';
        if (state === REFUSAL_SQLSTATE) {
          throw refusalNamed(error instanceof Error ? error.message : '', prepared.refusal);
        }
        if (state === '55P03') this.lockWait.failed();
        const isLost = isConnectionFault(error);
        isRecovered ||= isLost;
        const mayRetry = isLost ? monotonicMs() < deadlineMs : RETRYABLE.has(state) && attempt < RETRIES_MAX;
        if (!mayRetry) throw error;
        await sleep(Math.min(RECOVERY_STEP_MS * attempt, RECOVERY_STEP_MS_MAX) * (0.5 + Math.random()));
      }
    }
  }
}

function keyReused(): ApiError {
  return new ApiError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key belongs to another request; use a new key.');
}

/** Satisfies the columns of a row that a refusal takes back in the same statement. */
const NO_TERMS = {
  price: 1n,
  credits: 1n,
  rate: 1n,
  amount: 1n,
  slack: 1n,
  energy: 1n,
  duration: 1,
  legs: 1n,
} as const;

function acceptParams(purchase: Purchase, key: string, { terms, refusal }: Prepared, lockMs: number): unknown[] {
  invariant(terms !== undefined || refusal !== undefined, 'what cannot be charged is refused');
  const isRental = purchase.kind === 'rental';
  return [
    purchase.projectId,
    key,
    purchase.hash,
    purchase.kind,
    terms?.quote?.id ?? null,
    terms?.quote === undefined ? null : new Date(terms.quote.expiresAtMs).toISOString(),
    terms?.receiveAddress ?? '',
    isRental ? (terms?.energy ?? NO_TERMS.energy) : null,
    isRental ? (terms?.durationSec ?? NO_TERMS.duration) : null,
    terms?.priceSun ?? NO_TERMS.price,
    terms?.credits ?? NO_TERMS.credits,
    terms?.rate ?? NO_TERMS.rate,
    terms?.amountSun ?? NO_TERMS.amount,
    terms?.legSlackSun ?? NO_TERMS.slack,
    refusal?.code ?? null,
    purchase.requestId,
    terms?.legsMax ?? NO_TERMS.legs,
    lockMs,
  ];
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

/** What the caller is told of a failure. While its outcome may be unknown, the key to ask with is among it. */
function asRefusal(error: unknown, key: string): ApiError {
  if (error instanceof ApiError) {
    if (error.code !== 'SERVICE_UNAVAILABLE') return error;
    const { cause, headers, retryAfterSec = 1 } = error;
    return new ApiError(error.code, error.message, { headers, cause, retryAfterSec, key });
  }
  // A key made of a nonce is no caller's to send; the order it has can be read.
  const again = key.startsWith('nonce_')
    ? `read GET /v1/orders/${key}`
    : `repeat the request with Idempotency-Key ${key}`;
  if (error instanceof DeadlineError || isDatabaseAway(error) || isTooSlow(error)) {
    const words = `It is not known yet whether the order was taken; ${again} to find out, or to have it taken once.`;
    return new ApiError('SERVICE_UNAVAILABLE', words, { key, cause: error, retryAfterSec: 2 });
  }
  const words = `Something went wrong on our side; to ${again} is safe, and takes the order at most once.`;
  return new ApiError('INTERNAL_ERROR', words, { key, cause: error });
}
