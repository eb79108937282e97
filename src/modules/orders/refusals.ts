/** The refusals of purchases: those that the database decides, and those of pricing. */
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { ApiError, invariant, isErrorCode, type ErrorCode } from '../../domain/errors.js';

const WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  QUOTE_ALREADY_USED: 'This quote was already used. GET /v1/orders/{key} shows its order, by the key of that order.',
  QUOTE_EXPIRED: 'This quote has expired. Request a new one.',
  INSUFFICIENT_CREDITS:
    'The charge exceeds the balance or the debt limit of the project. Top up, or ask the operator to raise the debt limit.',
  INVALID_SIGNATURE: 'The API key of this request is revoked. Use another key.',
  PROJECT_FROZEN: 'This project is frozen. Contact the operator.',
  SPEND_CAP_REACHED:
    'The charge exceeds the daily spend cap of this project or of its API key. Wait for the next UTC day, or ask the operator to raise the cap.',
  NOT_FOUND: 'This project has no order with this key.',
  NOT_EXTENDABLE:
    'This order cannot be extended: it must be a settled rental that is running, not being reclaimed, and extended less than a hundred times. Place a new order.',
  CAPACITY_UNAVAILABLE: 'The pool cannot deliver this amount at present. Try again shortly, or order less.',
};

/** Capacity is free again as rentals end, every few seconds on a busy pool. */
const CAPACITY_RETRY_SEC = 10;

/** Returns the refusal for a code that the database returned or raised. */
function refusalOf(code: ErrorCode): ApiError {
  if (code === 'IDEMPOTENCY_KEY_REUSED') return keyReused();
  const retry = code === 'CAPACITY_UNAVAILABLE' ? { retryAfterSec: CAPACITY_RETRY_SEC } : {};
  return new ApiError(code, WORDS[code] ?? 'The order was refused.', retry);
}

/** Returns the refusal that the database chose. A refusal known in advance keeps its own message. */
export function refusalNamed(code: string, known: ApiError | undefined): ApiError {
  if (known?.code === code) return known;
  invariant(isErrorCode(code), 'a purchase is refused with a code of the interface');
  return refusalOf(code);
}

export function keyReused(): ApiError {
  return new ApiError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was already used for a different order or extension. Send a new key; GET /v1/orders/{key} shows an existing order.',
  );
}

/** Returns a pricing error as a refusal. Rethrows any other error. */
export function pricingRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ChainUnavailableError) return chainUnavailable(error);
  throw error;
}

/** Returns the 503 for a chain that cannot be read. */
function chainUnavailable(cause: unknown): ApiError {
  return new ApiError('CHAIN_UNAVAILABLE', 'The chain cannot be read at present. Repeat the request shortly.', {
    cause,
    retryAfterSec: 3,
  });
}
