/**
 * All errors that a caller can receive, their HTTP statuses, and their class. The message of a caller's mistake
 * describes the mistake; that of an upstream fault only the remedy.
 */

/** Every code of the interface and its status: exhaustive by type (docs/interface.md §3). */
export const HTTP_STATUS = {
  ADDRESS_NOT_ALLOWED: 400,
  BAD_AUTH_HEADERS: 400,
  INVALID_REQUEST: 400,
  IDEMPOTENCY_KEY_REQUIRED: 400,
  QUOTE_REQUIRED: 400,
  INVALID_SIGNATURE: 401,
  SIGNATURE_TIMESTAMP_OUT_OF_RANGE: 401,
  SIGNATURE_REPLAYED: 401,
  INSUFFICIENT_CREDITS: 402,
  SPEND_CAP_REACHED: 402,
  PROJECT_FROZEN: 403,
  SOURCE_NOT_ALLOWED: 403,
  HMAC_REQUIRED: 403,
  KEY_SCOPE: 403,
  NOT_FOUND: 404,
  QUOTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  NOT_WORTH_RENTING: 409,
  QUOTE_EXPIRED: 409,
  QUOTE_ALREADY_USED: 409,
  QUOTE_MISMATCH: 409,
  LIMIT_REACHED: 409,
  NOT_EXTENDABLE: 409,
  RECEIVER_NOT_ACTIVATED: 409,
  ALREADY_ACTIVATED: 409,
  EVENTS_EXPIRED: 410,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  RECEIVER_NOT_SUPPORTED: 422,
  TRANSFER_WOULD_FAIL: 422,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  TOPUP_NOT_CONFIGURED: 501,
  SIMULATION_FAILED: 502,
  AUTH_UNAVAILABLE: 503,
  CHAIN_UNAVAILABLE: 503,
  CAPACITY_UNAVAILABLE: 503,
  SERVICE_UNAVAILABLE: 503,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof HTTP_STATUS;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(HTTP_STATUS, text);
}

/** One wrong member of a request. */
export interface FieldFault {
  readonly field: string;
  readonly msg: string;
}

/** Credits that a refused charge needs, and those that its limit leaves. */
export interface ChargeFigures {
  readonly needed: bigint;
  readonly available: bigint;
}

interface ApiErrorExtras {
  readonly details?: readonly FieldFault[];
  readonly retryAfterSec?: number;
  /** Additional response headers, e.g. `Allow` of a 405. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The Idempotency-Key to find the outcome of a purchase with. */
  readonly key?: string;
  /** Unix seconds of the server, sent when the caller's timestamp was refused. */
  readonly serverTime?: number;
  /** Position of the oldest event, sent when the caller's position is older. */
  readonly oldestPosition?: number;
  /** Credits of a refused charge. */
  readonly charge?: ChargeFigures;
  /** The underlying error; logged, never sent. */
  readonly cause?: unknown;
}

/**
 * A refusal that the caller receives as `{ ok: false, error, msg, request_id }`. `message` is one sentence that the
 * caller can act on, without secrets.
 */
export class ApiError extends Error {
  readonly details: readonly FieldFault[] | undefined;
  readonly retryAfterSec: number | undefined;
  readonly key: string | undefined;
  readonly serverTime: number | undefined;
  readonly oldestPosition: number | undefined;
  readonly charge: ChargeFigures | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly code: ErrorCode,
    message: string,
    extras: ApiErrorExtras = {},
  ) {
    super(message, { cause: extras.cause });
    this.name = 'ApiError';
    this.details = extras.details;
    this.retryAfterSec = extras.retryAfterSec;
    this.key = extras.key;
    this.serverTime = extras.serverTime;
    this.oldestPosition = extras.oldestPosition;
    this.charge = extras.charge;
    this.headers = extras.headers ?? {};
  }

  get status(): number {
    return HTTP_STATUS[this.code];
  }
}

/**
 * Returns the 503 for a caller that waited too long for a turn, or has too many callers before it. `says` is the
 * message without the remedy.
 */
export function serviceBusy(says: string): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', `${says}. Repeat the request.`, { retryAfterSec: 1 });
}

/** Returns 400 INVALID_REQUEST with `details` for one wrong field. */
export function invalidField(field: string, msg: string): ApiError {
  return invalidFields([{ field, msg }]);
}

/** Returns the error for at least one wrong member. */
export function invalidFields(details: readonly FieldFault[]): ApiError {
  const words = details.map(({ field, msg }) => `${field}: ${msg}`);
  return new ApiError('INVALID_REQUEST', words.join(' '), { details });
}

/** A violated guarantee of our own code. Never caught and continued: always a 500 or a stopped job. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Throws InvariantError unless `condition` holds. `rule` states the guarantee. */
export function invariant(condition: boolean, rule: string): asserts condition {
  if (!condition) throw new InvariantError(rule);
}

/** Returns the message of any thrown value, for logs. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

export type StartCode =
  | 'CONFIGURATION'
  | 'DATABASE_BUSY'
  | 'DATABASE_SETTINGS'
  | 'DATABASE_UNAVAILABLE'
  | 'NETWORK_RESTRICTED'
  | 'NOT_MIGRATED'
  | 'PORT_UNAVAILABLE'
  | 'SIGNATURES_IN_JAVASCRIPT'
  | 'UNSECURED_ROWS'
  | 'WRONG_KEY';

/** The reason that a process cannot start or a command cannot run. The message gives cause and remedy on one line. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
  constructor(
    readonly code: StartCode,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/**
 * Returns the reason in any thrown value, on one line. An AggregateError of several connection attempts has no message
 * itself.
 */
export function reasonOf(thrown: unknown): string {
  const isBare = thrown instanceof AggregateError && thrown.message === '';
  const reason = isBare ? thrown.errors.map((error: unknown) => messageOf(error)).join('; ') : messageOf(thrown);
  return reason.replace(/\s+/g, ' ').replace(/[.\s]+$/, '');
}
