// The errors that calls throw. Each one is an EnergyError. Compare `name` where `instanceof` fails: with two copies of
// this package in one program.
import type * as Api from './api-types.js';
import type { ErrorCode, Order } from './model.js';

export class EnergyError extends Error {
  override name = 'EnergyError';

  constructor(
    message: string,
    /** X-Request-Id of the last attempt. Give it to the operator. */
    readonly requestId: string | undefined,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/**
 * The service refused the request. For a purchase: no attempt of this call bought anything. Its key is still free,
 * unless `code` is IDEMPOTENCY_KEY_REUSED.
 *
 * `code` is an error code of the interface, or `HTTP_<status>` if a proxy answered instead of the service.
 */
export class ApiError extends EnergyError {
  override name = 'ApiError';
  /** With INVALID_REQUEST: every invalid member. */
  readonly details: readonly { readonly field: string; readonly msg: string }[];
  /** With 429 and 503: seconds to wait before the next attempt. */
  readonly retryAfterSec: number | undefined;
  /** With SIGNATURE_TIMESTAMP_OUT_OF_RANGE: the service's clock in Unix seconds. */
  readonly serverTime: number | undefined;
  /** With EVENTS_EXPIRED: the position of the oldest event that is kept. */
  readonly oldestPosition: number | undefined;
  /** With 402: the charge of the refused purchase, and what its limit leaves. Absent if the limit changed meanwhile. */
  readonly neededCredits: number | undefined;
  readonly availableCredits: number | undefined;
  /** URL of the page that explains `code`; undefined if the service did not send one. */
  readonly docUrl: string | undefined;
  /** The body of the answer; undefined if the service did not write it. */
  readonly body: Partial<Api.Error> | undefined;

  constructor(
    readonly status: number,
    readonly code: ErrorCode | (string & {}),
    message: string,
    more: {
      readonly requestId: string | undefined;
      readonly retryAfterSec?: number | undefined;
      readonly docUrl?: string | undefined;
      readonly body?: Partial<Api.Error>;
    },
  ) {
    super(`${code}: ${message}`, more.requestId);
    this.body = more.body;
    this.docUrl = more.docUrl;
    this.details = more.body?.details ?? [];
    this.retryAfterSec = more.retryAfterSec;
    this.serverTime = more.body?.server_time;
    this.oldestPosition = more.body?.oldest_position;
    this.neededCredits = more.body?.needed_credits;
    this.availableCredits = more.body?.available_credits;
  }
}

/** No readable answer arrived in time. The service did not execute the request, or the request was a read. */
export class NetworkError extends EnergyError {
  override name = 'NetworkError';
}

/**
 * The outcome is unknown: an answer was lost, or the service does not know it. This is not a failure. For a purchase,
 * repeat the same call with `key` until it returns an order or throws an ApiError. Any number of repetitions makes one
 * order and one charge; a new key would be a second purchase.
 */
export class UnknownOutcomeError extends EnergyError {
  override name = 'UnknownOutcomeError';

  constructor(
    /**
     * The Idempotency-Key to repeat the call with. Undefined for a change without a key (webhooks): read the current
     * state before you repeat it.
     */
    readonly key: string | undefined,
    requestId: string | undefined,
    /** The reason for not retrying further: an ApiError, a NetworkError, or the reason of your signal. */
    cause: unknown,
  ) {
    const how =
      key === undefined
        ? 'check the present state before you repeat it'
        : `repeat the same call with idempotencyKey ${JSON.stringify(key)}`;
    super(`The outcome is unknown: ${how}. Last error: ${messageOf(cause)}`, requestId, cause);
  }
}

/**
 * The order was accepted and is not delivered. `order.status` is `refunded`, or the order was still open at the last
 * read.
 */
export class NotDeliveredError extends EnergyError {
  override name = 'NotDeliveredError';

  constructor(
    /** The order as last read. While it is not settled, wait for it with `orders.wait`; do not buy again. */
    readonly order: Order,
    cause?: unknown,
  ) {
    const what =
      order.status === 'refunded'
        ? `was refunded: ${order.error ?? 'it could not be delivered'}`
        : `is ${order.status} and continues without this call`;
    super(`The order ${JSON.stringify(order.key)} ${what}`, undefined, cause);
  }
}

/** The request is not a webhook of the service, or it is too old or too new. Answer 400 and do nothing. */
export class WebhookVerificationError extends EnergyError {
  override name = 'WebhookVerificationError';

  constructor(
    readonly reason: 'headers' | 'timestamp' | 'signature' | 'body',
    message: string,
  ) {
    super(message, undefined);
  }
}

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
