/** Counts the outcomes of purchases, and turns every error into a refusal of the interface. */
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { ApiError } from '../../domain/errors.js';
import type { OrderKind } from '../../domain/order-state.js';
import { isDatabaseAway, isTooSlow } from '../../platform/database/database.js';
import { mayBeSent } from '../../platform/http/pipeline/idempotency-key.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { DeadlineError } from '../../platform/support/clock.js';
import type { PurchaseContext } from './purchase.js';

/** The members of a purchase that decide if it is counted, and as what. */
interface Counted {
  readonly kind: OrderKind | 'extension';
  readonly project: Pick<PurchaseContext['project'], 'isTest'>;
  readonly key: Pick<PurchaseContext['key'], 'value'>;
}

@Injectable()
export class PurchaseOutcomes {
  private readonly requests: Counter<'kind' | 'outcome'>;

  constructor(metrics: Metrics) {
    this.requests = new Counter({
      name: 'order_requests_total',
      help: 'Purchases, by `kind` and `outcome` (a refusal’s code).',
      labelNames: ['kind', 'outcome'],
      registers: [metrics.registry],
    });
  }

  /**
   * Returns the outcome and counts it, except for tests. Throws errors as refusals, which contain the key while the
   * outcome is unknown.
   */
  async countOutcome<T extends { readonly isReplay: boolean }>(
    { kind, project: { isTest }, key }: Counted,
    outcome: Promise<T>,
  ): Promise<T> {
    try {
      const result = await outcome;
      if (!isTest) this.requests.inc({ kind, outcome: result.isReplay ? 'replayed' : 'created' });
      return result;
    } catch (error) {
      const refusal = refusalOf(error, key.value);
      if (!isTest) this.requests.inc({ kind, outcome: refusal.code });
      throw refusal;
    }
  }
}

/** Returns the refusal for an error. While the outcome may be unknown, it contains the key to retry with. */
function refusalOf(error: unknown, key: string): ApiError {
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
