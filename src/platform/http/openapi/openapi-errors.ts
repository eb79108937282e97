/** The cause and the remedy of each error code, for openapi.json and docs/errors.md (docs/interface.md §3). */
import type { ErrorCode } from '../../../domain/errors.js';

interface ErrorHelp {
  /** One sentence without its full stop. */
  readonly cause: string;
  /** Sentences in Markdown. Links are relative to docs/. */
  readonly remedy: string;
}

/** Codes by topic, in the order of docs/errors.md. */
export const ERROR_TOPICS = {
  Authentication: {
    BAD_AUTH_HEADERS: {
      cause: 'A header of the signature is missing, empty, repeated or malformed',
      remedy: 'Send `Merchant`, `X-CC-Timestamp`, `X-CC-Nonce` and `X-CC-Signature` once each: [signing](signing.md).',
    },
    INVALID_SIGNATURE: {
      cause:
        'The signature does not match the request and key, or the project does not exist. Often the body changed after signing',
      remedy: '[Check your signature](check-your-signature.md). `GET /v1/requests` may name the mistake.',
    },
    SIGNATURE_TIMESTAMP_OUT_OF_RANGE: {
      cause: 'X-CC-Timestamp is more than 300 s from `server_time`, or the service lost its nonces after it',
      remedy: 'Sign again with `server_time` of the answer. Set your clock by NTP; send seconds.',
    },
    SIGNATURE_REPLAYED: {
      cause: 'This nonce was already used',
      remedy: 'Use a new nonce for every request. A purchase is **unknown**: send it again with the same key.',
    },
    HMAC_REQUIRED: {
      cause: 'The path, the project or `metadata` accepts only signatures by HMAC',
      remedy: 'Sign by HMAC.',
    },
    KEY_SCOPE: {
      cause: 'The API key lacks the scope of this path',
      remedy: 'Use another key, or have the operator widen this one.',
    },
    SOURCE_NOT_ALLOWED: {
      cause: 'The project or the key does not allow this IP address',
      remedy: 'Send from an allowed address, or have the operator add this one.',
    },
    PROJECT_FROZEN: {
      cause: 'The project is frozen',
      remedy: 'Ask the operator. Purchased energy is still delivered.',
    },
  },
  'The request': {
    INVALID_REQUEST: {
      cause:
        'The request is unreadable, or a member, parameter or `Idempotency-Key` is unknown, missing, repeated or wrong',
      remedy: '`details` names each. Correct your program.',
    },
    IDEMPOTENCY_KEY_REQUIRED: {
      cause: 'The project, `rent` or an extension requires an `Idempotency-Key`',
      remedy: 'Send one: [retries](retries.md).',
    },
    QUOTE_REQUIRED: {
      cause: 'The project may order only with a `quote_ref`',
      remedy: 'Request a quote, and order by its `ref`.',
    },
    ADDRESS_NOT_ALLOWED: {
      cause: 'Webhooks may not be sent to this URL',
      remedy: 'Use https, a public host name, port 443 or 8443, without user and password.',
    },
    NOT_FOUND: {
      cause: 'The path is unknown, or the project has nothing with this key or ID',
      remedy: 'Check the path. An order was not bought if no attempt can still arrive.',
    },
    QUOTE_NOT_FOUND: {
      cause: 'The `quote_ref` is not a quote of this project, or is incomplete',
      remedy: 'Send the whole `ref`, or request a new quote.',
    },
    METHOD_NOT_ALLOWED: {
      cause: 'The path does not support this method',
      remedy: '`Allow` of the answer lists the methods.',
    },
    REQUEST_TIMEOUT: {
      cause: 'The request did not arrive in time',
      remedy: 'Send it again, a purchase with the same key.',
    },
    PAYLOAD_TOO_LARGE: { cause: 'The body is larger than 16 KiB (a simulation: 128 KiB)', remedy: 'Send less.' },
    UNSUPPORTED_MEDIA_TYPE: {
      cause: 'The body is not application/json in UTF-8, or it is compressed',
      remedy: 'Send `Content-Type: application/json`, uncompressed.',
    },
    HEADERS_TOO_LARGE: {
      cause: 'The headers are larger than 8 KiB',
      remedy: 'Send fewer; often a proxy adds a cookie.',
    },
  },
  'The purchase': {
    INSUFFICIENT_CREDITS: {
      cause: 'The charge (`needed_credits`) exceeds what the balance or the debt limit leaves (`available_credits`)',
      remedy:
        '[Pay in](paying-in.md), or have the operator raise the debt limit. Then send it again with the same key.',
    },
    SPEND_CAP_REACHED: {
      cause:
        'The charge (`needed_credits`) exceeds what the daily cap of the project or key leaves (`available_credits`)',
      remedy: 'Wait for the next UTC day, or have the operator raise the cap.',
    },
    NOT_WORTH_RENTING: {
      cause: 'Renting costs no less than burning TRX now',
      remedy:
        'Burn, rent for a shorter time, or rent more (`msg` names the least). For a wallet that sends daily, send `expected_uses`.',
    },
    QUOTE_EXPIRED: { cause: 'The quote has expired', remedy: 'Request a new quote. The key is free.' },
    QUOTE_ALREADY_USED: {
      cause: 'The quote became an order under another key; a refund does not free it',
      remedy: 'Read your order by that key, or request a new quote.',
    },
    QUOTE_MISMATCH: {
      cause: 'The order names a member that differs from its quote',
      remedy: 'Send `quote_ref` alone.',
    },
    RECEIVER_NOT_ACTIVATED: {
      cause: 'The receiver is not on chain yet',
      remedy: 'Order with `activate`, use `POST /v1/activate`, or send it some TRX first.',
    },
    RECEIVER_NOT_SUPPORTED: {
      cause:
        'The receiver is a contract, a wallet of the service, or an address for test projects; or a test project set an auto-delegation',
      remedy: 'Name the wallet that *sends* the transfer. Test addresses: [rehearse](rehearse-the-bad-days.md).',
    },
    TRANSFER_WOULD_FAIL: {
      cause: 'The transfer that sizes the rental would fail',
      remedy: 'Remove the cause in `msg`, or name the energy instead of `transfer_to`.',
    },
    ALREADY_ACTIVATED: {
      cause: 'The account already exists on chain',
      remedy: 'Order without `activate`.',
    },
    NOT_EXTENDABLE: {
      cause: 'The rental is not settled, is over, is being reclaimed, or was extended a hundred times',
      remedy: 'Buy a new rental.',
    },
    LIMIT_REACHED: {
      cause:
        'Too many webhooks, changes of webhooks in 24 hours or auto-delegations, or this webhook is being replayed or rotated',
      remedy: '`msg` says which. Delete one, or wait for the replay or the next day.',
    },
    EVENTS_EXPIRED: {
      cause: 'The events after this position are no longer kept',
      remedy:
        'Continue from `oldest_position`, then compare your orders: [never miss an order](never-miss-an-order.md).',
    },
    IDEMPOTENCY_KEY_REUSED: {
      cause: 'The Idempotency-Key belongs to a different request',
      remedy: 'Read the order of the key. Use a new key for a new purchase.',
    },
  },
  Temporary: {
    RATE_LIMITED: {
      cause: 'Too many requests in a minute, open requests, or wrong signatures from this IP address',
      remedy: 'Wait for `Retry-After`. Orders are never refused for their rate.',
    },
    INTERNAL_ERROR: {
      cause: 'The service failed unexpectedly',
      remedy: 'A purchase is **unknown**: as for `SERVICE_UNAVAILABLE`. Give the operator the `request_id`.',
    },
    TOPUP_NOT_CONFIGURED: {
      cause: 'The service sells no credits through its API, or this is a test project',
      remedy: 'Ask the operator for credits.',
    },
    SIMULATION_FAILED: {
      cause: 'The call could not be simulated',
      remedy: '`msg` gives the reason. Check contract, function and arguments.',
    },
    AUTH_UNAVAILABLE: {
      cause: 'The project could not be looked up',
      remedy: 'Wait for `Retry-After`, then send it again with the same key.',
    },
    CHAIN_UNAVAILABLE: {
      cause: 'The state of the chain is too old or unreachable, or nodes contradict each other',
      remedy: 'Wait for `Retry-After`, then send it again with the same key.',
    },
    CAPACITY_UNAVAILABLE: {
      cause: 'The pool cannot deliver this much now; of a quote: it is more than the whole pool',
      remedy: 'Buy less energy, buy later, or burn. The key is free.',
    },
    SERVICE_UNAVAILABLE: {
      cause:
        'The database is away or slow, prices are not known yet, a queue is full, or the first request of this key still runs after 10 s',
      remedy:
        'A purchase is **unknown**: wait for `Retry-After`, then send it again with the `key` of the answer, or read the order of a key that begins with `nonce_`.',
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Partial<Record<ErrorCode, ErrorHelp>>>>>;

/** Every code; the compiler refuses a missing one. */
export const ERROR_HELP: Readonly<Record<ErrorCode, ErrorHelp>> = {
  ...ERROR_TOPICS.Authentication,
  ...ERROR_TOPICS['The request'],
  ...ERROR_TOPICS['The purchase'],
  ...ERROR_TOPICS.Temporary,
};

/** Returns the cause and the remedy in one line of plain text and code spans. */
export function describeError(code: ErrorCode): string {
  const { cause, remedy } = ERROR_HELP[code];
  return `\`${code}\`: ${cause}. ${remedy.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll(/\*+/g, '')}`;
}
