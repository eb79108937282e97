/**
 * The steps that orders and extensions share before the database: the projects' turns and the lock waits. Also repeats
 * a statement until its outcome is known, and counts outcomes.
 */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { DeadlineError, monotonicMs, sleep } from '../../platform/support/clock.js';
import { FairQueue } from '../../platform/support/fair-queue.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import type { OrderKind } from '../../domain/order-state.js';
import { mayBeSent } from '../../platform/http/pipeline/idempotency-key.js';
import { Metrics } from '../../platform/observability/metrics.js';
import {
  isConnectionFault,
  isDatabaseAway,
  isLockTimeout,
  isRefusal,
  isRetryable,
  isTooSlow,
} from '../../platform/database/database.js';
import { LockWait } from './lock-wait.js';

/** Limit of a request's wait for the first one of its key, and for its turn (docs/interface.md §10). */
export const WAIT_MS = 10_000;
/** Time for which a statement with a lost answer is repeated. After it, the caller must retry. */
const RECOVERY_MS = 8000;
const RECOVERY_STEP_MS = 50;
const RECOVERY_STEP_MS_MAX = 500;
/** Connections that purchases never use, for reads and balances. */
const CONNECTIONS_KEPT_FREE = 2;
/** More would only queue on the project's balance row while holding connections. */
const PER_PROJECT_MAX = 8;
const WAITING_MAX = 20_000;
const WAITING_PER_PROJECT = 10_000;
/** Attempts of a statement whose error Postgres calls retryable. */
const RETRIES_MAX = 3;

export interface KnownOutcome<T> {
  readonly row: T;
  /** True if an answer was lost, so that the row found may be the one this request created. */
  readonly isRecovered: boolean;
}

@Injectable()
export class PurchaseQueue {
  /** Purchases are never refused for their rate (docs/interface.md §4): a burst waits here, without a connection. */
  private readonly queue: FairQueue;
  private readonly lockWait = new LockWait();
  private readonly requests: Counter<'kind' | 'outcome'>;

  constructor(config: Config, metrics: Metrics) {
    const total = Math.max(1, config.database.poolMax - CONNECTIONS_KEPT_FREE);
    this.queue = new FairQueue({
      total,
      perProject: Math.min(total, PER_PROJECT_MAX),
      waitingMax: WAITING_MAX,
      waitingPerProject: WAITING_PER_PROJECT,
      waitMs: WAIT_MS,
    });
    this.requests = new Counter({
      name: 'order_requests_total',
      help: 'Purchases by `kind` (`rental`, `activation`, `extension`) and `outcome`: `created`, `replayed` (idempotent replay), `IDEMPOTENCY_KEY_REUSED` and `QUOTE_ALREADY_USED` (conflicts), or another refusal.',
      labelNames: ['kind', 'outcome'],
      registers: [metrics.registry],
    });
  }

  /** Runs `work` when it is the project's turn. */
  async run<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    return this.queue.run(projectId, work);
  }

  /**
   * Counts the outcome of a purchase, except for tests. Converts errors to refusals, which contain the key where the
   * outcome is unknown.
   */
  async countOutcome<T extends { readonly isReplay: boolean }>(
    { kind, isTest }: { readonly kind: OrderKind | 'extension'; readonly isTest: boolean },
    key: string,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      const result = await work();
      if (!isTest) this.requests.inc({ kind, outcome: result.isReplay ? 'replayed' : 'created' });
      return result;
    } catch (error) {
      const refusal = asRefusal(error, key);
      if (!isTest) this.requests.inc({ kind, outcome: refusal.code });
      throw refusal;
    }
  }

  /**
   * Runs a statement until its outcome is known. After a broken connection the commit may or may not have happened.
   * Repeating the statement resolves this: it finds the result by its key, or creates it now. Rethrows refusals of the
   * database.
   */
  async repeatUntilKnown<T>(run: (lockWaitMs: number) => Promise<T>): Promise<KnownOutcome<T>> {
    const deadlineMs = monotonicMs() + RECOVERY_MS;
    let isRecovered = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return { row: await run(this.lockWait.limitMs), isRecovered };
      } catch (error) {
        if (isRefusal(error)) throw error;
        if (isLockTimeout(error)) this.lockWait.shorten();
        const isLost = isConnectionFault(error);
        isRecovered ||= isLost;
        const mayRetry = isLost ? monotonicMs() < deadlineMs : isRetryable(error) && attempt < RETRIES_MAX;
        if (!mayRetry) throw error;
        await sleep(Math.min(RECOVERY_STEP_MS * attempt, RECOVERY_STEP_MS_MAX) * (0.5 + Math.random()));
      }
    }
  }
}

/** Returns the refusal for an error. While the outcome may be unknown, it contains the key to retry with. */
function asRefusal(error: unknown, key: string): ApiError {
  if (error instanceof ApiError) {
    if (error.code !== 'SERVICE_UNAVAILABLE') return error;
    const { cause, headers, retryAfterSec = 1 } = error;
    return new ApiError(error.code, error.message, { headers, cause, retryAfterSec, key });
  }
  if (error instanceof DeadlineError || isDatabaseAway(error) || isTooSlow(error)) {
    const words = `It is unknown if this purchase was made. ${outcomeInstructions(key)}`;
    return new ApiError('SERVICE_UNAVAILABLE', words, { key, cause: error, retryAfterSec: 2 });
  }
  const words = `An error in the service; the purchase may have been made. ${outcomeInstructions(key)}`;
  return new ApiError('INTERNAL_ERROR', words, { key, cause: error });
}

function outcomeInstructions(key: string): string {
  if (mayBeSent(key)) {
    return `Repeat the request with Idempotency-Key ${key}: it is bought at most once, and you get its outcome.`;
  }
  return (
    `Read GET /v1/orders/${key} for the outcome: if there is no order after five minutes, nothing was bought. ` +
    'With an Idempotency-Key of your own, you can send the request again instead.'
  );
}
