/** The documentation text of each error code; exhaustive by type (docs/interface.md §3). */
import type { ErrorCode } from '../../domain/errors.js';

export const ERROR_MEANINGS: Readonly<Record<ErrorCode, string>> = {
  ADDRESS_NOT_ALLOWED:
    'Webhooks may not be sent there: https, a public host name, an allowed port, no user or password',
  BAD_AUTH_HEADERS: 'A header of the signature is missing, malformed or repeated',
  INVALID_REQUEST: 'The body cannot be read, or a member is unknown or wrong; details names each',
  IDEMPOTENCY_KEY_REQUIRED: 'This project demands the Idempotency-Key header on every purchase',
  QUOTE_REQUIRED: 'This project orders only by quote_ref',
  INVALID_SIGNATURE:
    'The signature does not match, or there is no such project. Usual causes: keys not sorted, or a body changed after signing',
  SIGNATURE_TIMESTAMP_OUT_OF_RANGE:
    'X-CC-Timestamp is more than 300 s from server_time; sign again with a time near it. Also for a signature from before nonces were lost',
  SIGNATURE_REPLAYED: 'The X-CC-Nonce was used already; sign every request with a new one',
  INSUFFICIENT_CREDITS: 'The charge would pass the balance (prepaid) or the debt limit (postpaid)',
  SPEND_CAP_REACHED: 'The charge would pass the daily cap of the project or of the API key',
  PROJECT_FROZEN: 'The project is frozen; unfreeze it on the platform',
  SOURCE_NOT_ALLOWED: 'The project may not be used from this address',
  HMAC_REQUIRED: 'This path, this project or this member takes requests signed by HMAC only',
  KEY_SCOPE: 'The API key may not do this: it lacks the scope of this path',
  NOT_FOUND: 'This project has nothing of this key or id',
  QUOTE_NOT_FOUND: 'The quote_ref is not one of this project',
  METHOD_NOT_ALLOWED: 'The path answers other methods; see Allow',
  REQUEST_TIMEOUT: 'The request did not arrive in time',
  NOT_WORTH_RENTING: 'Renting costs no less than burning TRX right now; msg names the smallest amount worth it',
  QUOTE_EXPIRED: 'The hold of the quote is over; ask for a new one',
  QUOTE_ALREADY_USED: 'The quote became an order already; retry that order with its Idempotency-Key',
  QUOTE_MISMATCH: 'The order also names an address, energy or duration, and it differs from the quote',
  LIMIT_REACHED: 'The project has or did as much of this as it may, or a replay of this webhook is under way',
  NOT_EXTENDABLE:
    'Not a settled rental that runs, or it is being reclaimed; a rental is extended a hundred times at most',
  RECEIVER_NOT_ACTIVATED: 'The receiver is not on chain yet; activate it first',
  ALREADY_ACTIVATED: 'The account exists on chain already',
  EVENTS_EXPIRED: 'Events after this position are not kept any more; oldest_position is that of the oldest one',
  PAYLOAD_TOO_LARGE: 'The body is over the limit of this endpoint',
  UNSUPPORTED_MEDIA_TYPE: 'The body must be application/json in UTF-8, not compressed',
  IDEMPOTENCY_KEY_REUSED: 'The Idempotency-Key belongs to a different request',
  RECEIVER_NOT_SUPPORTED:
    'Energy cannot be delivered to this receiver: it is a contract, a wallet of the service, or an address for test projects',
  RATE_LIMITED:
    'Too many requests of this kind, too many held open, or too many wrong signatures from this address; see Retry-After',
  HEADERS_TOO_LARGE: 'The headers are over 8 KiB',
  INTERNAL_ERROR: 'Something went wrong on our side; quote the request_id when you ask about it',
  TOPUP_NOT_CONFIGURED: 'Credits cannot be bought through this interface',
  SIMULATION_FAILED: 'The call could not be simulated; msg says why',
  AUTH_UNAVAILABLE: 'The request could not be verified just now; repeat it',
  CHAIN_UNAVAILABLE: 'The state of the chain that this needs is not known just now; repeat it',
  CAPACITY_UNAVAILABLE: 'The pool cannot deliver this amount',
  SERVICE_UNAVAILABLE:
    'This could not be completed just now; repeat it, a purchase with the Idempotency-Key that the answer names, or read the order by it where msg says so',
};
