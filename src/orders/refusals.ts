/** The messages of refusals that the database decides. */
import { ApiError, invariant, isErrorCode, type ErrorCode } from '../domain/errors.js';

const WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  QUOTE_ALREADY_USED:
    'This quote has become an order already; GET /v1/orders/{key}, by the key of that order, shows it.',
  QUOTE_EXPIRED: 'This quote has expired; get a new one.',
  INSUFFICIENT_CREDITS: 'The charge would pass what the project may spend; top up, or raise the debt limit.',
  INVALID_SIGNATURE: 'The API key of this request is revoked.',
  PROJECT_FROZEN: 'This project is frozen; unfreeze it on the platform.',
  SPEND_CAP_REACHED: 'The charge would pass the daily spend cap of this project or of its API key.',
  NOT_FOUND: 'This project has no order with this key.',
  NOT_EXTENDABLE:
    'Only a settled rental that runs and is not being reclaimed can be extended, a hundred times at most; order anew.',
  CAPACITY_UNAVAILABLE: 'The pool cannot deliver this amount just now; try again shortly or order less.',
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
    'This Idempotency-Key belongs to another request, whose order stands, or extension; GET /v1/orders/{key} shows an order.',
  );
}
