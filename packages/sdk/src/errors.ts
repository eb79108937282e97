// What a call may throw. All of it is an EnergyError, whose `name` says which where `instanceof` cannot (two copies of this
// package in one program).
import type * as Api from './api-types.js';
import type { ErrorCode, Order } from './model.js';

export class EnergyError extends Error {
  override name = 'EnergyError';

  constructor(
    message: string,
    /** X-Request-Id of the last attempt: what to give the operator. */
    readonly requestId: string | undefined,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/**
 * The service refused. Of a purchase: no attempt of this call bought anything, and its key is free.
 *
 * `code` is the code of the interface; `HTTP_<status>` when what answered was not the service (a proxy).
 */
export class ApiError extends EnergyError {
  override name = 'ApiError';
  /** Of INVALID_REQUEST: every member at fault. */
  readonly details: readonly { readonly field: string; readonly msg: string }[];
  /** Seconds after which to try again, of 429 and 503. */
  readonly retryAfterSec: number | undefined;
  /** Unix seconds by the clock of the service, of SIGNATURE_TIMESTAMP_OUT_OF_RANGE. */
  readonly serverTime: number | undefined;
  /** Of EVENTS_EXPIRED: the oldest event that is kept. */
  readonly oldestPosition: number | undefined;
  /** The answer as it came; undefined when it was not the service's. */
  readonly body: Partial<Api.Error> | undefined;

  constructor(
    readonly status: number,
    readonly code: ErrorCode | (string & {}),
    message: string,
    more: {
      readonly requestId: string | undefined;
      readonly retryAfterSec?: number | undefined;
      readonly body?: Partial<Api.Error>;
    },
  ) {
    super(`${code}: ${message}`, more.requestId);
    this.body = more.body;
    this.details = more.body?.details ?? [];
    this.retryAfterSec = more.retryAfterSec;
    this.serverTime = more.body?.server_time;
    this.oldestPosition = more.body?.oldest_position;
  }
}

/** There was no answer that could be read, in time. Nothing can have come of the call, or it changes nothing. */
export class NetworkError extends EnergyError {
  override name = 'NetworkError';
}

/**
 * It is not known whether the service did what it was asked: an answer was lost, or the service could not say. Not a
 * failure: for a purchase, make the same call again with `key`, until it answers an order or an ApiError. It is one
 * order and one charge, however often you do; a new key would be a second purchase.
 */
export class UnknownOutcomeError extends EnergyError {
  override name = 'UnknownOutcomeError';

  constructor(
    /** The Idempotency-Key to repeat with. Undefined of a change that has none (webhooks): read what is there first. */
    readonly key: string | undefined,
    requestId: string | undefined,
    /** Why no further attempt was made: an ApiError, a NetworkError, or the reason of your signal. */
    cause: unknown,
  ) {
    const how =
      key === undefined
        ? 'read what is there before you repeat it'
        : `repeat the same call with idempotencyKey ${JSON.stringify(key)}`;
    super(`It is not known whether this was done: ${how}. Last: ${messageOf(cause)}`, requestId, cause);
  }
}

/** The order was taken and is not delivered: `order.status` is `refunded`, or it was still open when the time was up. */
export class NotDeliveredError extends EnergyError {
  override name = 'NotDeliveredError';

  constructor(
    /** As it was last read. While it is not settled, wait for it with `orders.wait`; do not buy again. */
    readonly order: Order,
    cause?: unknown,
  ) {
    const what =
      order.status === 'refunded'
        ? `was refunded: ${order.error ?? 'it could not be delivered'}`
        : `is ${order.status}, and goes on without this call`;
    super(`The order ${JSON.stringify(order.key)} ${what}`, undefined, cause);
  }
}

/** A request that is not the service's webhook, or not a fresh one: answer 400 and do nothing. */
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
