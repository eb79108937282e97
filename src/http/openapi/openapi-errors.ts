/** The documentation text of each error code; exhaustive by type (docs/interface.md §3). */
import type { ErrorCode } from '../../domain/errors.js';

export const ERROR_MEANINGS: Readonly<Record<ErrorCode, string>> = {
  ADDRESS_NOT_ALLOWED:
    'Webhooks may not be sent to this URL. Use https, a public host name and an allowed port, without user or password',
  BAD_AUTH_HEADERS: 'A signature header is missing, malformed or repeated',
  INVALID_REQUEST: 'The body is unreadable, or a member is unknown or wrong. details names each fault',
  IDEMPOTENCY_KEY_REQUIRED: 'This project requires the Idempotency-Key header on every purchase',
  QUOTE_REQUIRED: 'This project may order only with a quote_ref',
  INVALID_SIGNATURE:
    'The signature does not match, or the project does not exist. Usual causes: unsorted keys, or a body changed after signing',
  SIGNATURE_TIMESTAMP_OUT_OF_RANGE:
    'X-CC-Timestamp is more than 300 s from server_time, or the signature is from before the service lost its nonces. Sign again with server_time',
  SIGNATURE_REPLAYED: 'This X-CC-Nonce was already used. Sign every request with a new one',
  INSUFFICIENT_CREDITS: 'The charge would exceed the balance (prepaid) or the debt limit (postpaid)',
  SPEND_CAP_REACHED: 'The charge would exceed the daily cap of the project or of the API key',
  PROJECT_FROZEN: 'The project is frozen. Unfreeze it in the console',
  SOURCE_NOT_ALLOWED: 'The project does not accept requests from this IP address',
  HMAC_REQUIRED: 'This path, project or member accepts only requests signed by HMAC',
  KEY_SCOPE: 'The API key lacks the scope of this path',
  NOT_FOUND: 'The project has nothing with this key or ID',
  QUOTE_NOT_FOUND: 'The quote_ref is not a quote of this project',
  METHOD_NOT_ALLOWED: 'The path does not support this method. Allow lists those it supports',
  REQUEST_TIMEOUT: 'The request did not arrive in time',
  NOT_WORTH_RENTING: 'Renting costs no less than burning TRX now. msg names the smallest amount worth renting',
  QUOTE_EXPIRED: 'The quote has expired. Request a new one',
  QUOTE_ALREADY_USED: 'The quote was already used for an order. Retry that order with its Idempotency-Key',
  QUOTE_MISMATCH: 'The order names an address, energy or duration that differs from the quote',
  LIMIT_REACHED: 'The project reached a limit, or a replay of this webhook is in progress',
  NOT_EXTENDABLE:
    'The order is not a settled, running rental, it is being reclaimed, or it was extended a hundred times',
  RECEIVER_NOT_ACTIVATED: 'The receiver is not on chain yet. Activate it first',
  ALREADY_ACTIVATED: 'The account already exists on chain',
  EVENTS_EXPIRED: 'Events after this position are no longer kept. oldest_position is the position of the oldest one',
  PAYLOAD_TOO_LARGE: 'The body exceeds the limit of this endpoint',
  UNSUPPORTED_MEDIA_TYPE: 'The body must be application/json in UTF-8, not compressed',
  IDEMPOTENCY_KEY_REUSED: 'The Idempotency-Key belongs to a different request',
  RECEIVER_NOT_SUPPORTED:
    'Energy cannot be delivered to this receiver: a contract, a wallet of the service, or an address for test projects',
  RATE_LIMITED:
    'Too many requests of this kind, too many open requests, or too many wrong signatures from this IP address. See Retry-After',
  HEADERS_TOO_LARGE: 'The headers exceed 8 KiB',
  INTERNAL_ERROR: 'The service failed. Quote the request_id when you ask for support',
  TOPUP_NOT_CONFIGURED: 'This service does not sell credits through its API',
  SIMULATION_FAILED: 'The call could not be simulated. msg gives the reason',
  AUTH_UNAVAILABLE: 'The request cannot be verified at the moment. Repeat it',
  CHAIN_UNAVAILABLE: 'The required chain state is unavailable at the moment. Repeat the request',
  CAPACITY_UNAVAILABLE: 'The pool cannot deliver this amount',
  SERVICE_UNAVAILABLE:
    'The request could not be completed at the moment. Repeat it; for a purchase, use the Idempotency-Key of the answer, or read the order by that key if msg says so',
};
