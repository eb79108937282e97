/**
 * Every error a caller can meet, its HTTP status, and the one class that carries them.
 * A caller's mistake says what was wrong; an upstream's fault says only what to do about it.
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

interface ApiErrorExtras {
  readonly details?: readonly FieldFault[];
  readonly retryAfterSec?: number;
  /** Additional response headers, e.g. `Allow` of a 405. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The Idempotency-Key that finds out what became of a purchase. */
  readonly key?: string;
  /** Whole Unix seconds, where the caller's own were refused. */
  readonly serverTime?: number;
  /** Where the log of events begins, where the caller's position is older. */
  readonly oldestPosition?: number;
  /** What went wrong underneath; logged, never answered. */
  readonly cause?: unknown;
}

/**
 * A refusal that reaches the caller as `{ ok: false, error, msg, request_id }`.
 * `message` is one sentence the caller can act on and holds nothing secret.
 */
export class ApiError extends Error {
  readonly details: readonly FieldFault[] | undefined;
  readonly retryAfterSec: number | undefined;
  readonly key: string | undefined;
  readonly serverTime: number | undefined;
  readonly oldestPosition: number | undefined;
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
    this.headers = extras.headers ?? {};
  }

  get status(): number {
    return HTTP_STATUS[this.code];
  }
}

/** Refuses who waited too long for a turn, or has too many before: 503. `says` is all of the message but what to do. */
export function serviceBusy(says: string): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', `${says}; repeat the request.`, { retryAfterSec: 1 });
}

/** Refuses a request for one wrong field: 400 INVALID_REQUEST with `details`. */
export function invalidField(field: string, msg: string): ApiError {
  return new ApiError('INVALID_REQUEST', `${field}: ${msg}`, { details: [{ field, msg }] });
}

/** A broken promise of our own code: never caught to go on, always a 500 or a stopped job. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Throws InvariantError unless `condition` holds; `rule` states what must be true. */
export function invariant(condition: boolean, rule: string): asserts condition {
  if (!condition) throw new InvariantError(rule);
}

/** The message of anything thrown, for logs. */
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
  | 'UNSECURED_ROWS'
  | 'WRONG_KEY';

/** Why a process cannot start or a command cannot run: the message names the cause and the cure, on one line. */
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

/** The reason in anything thrown, on one line. Several addresses tried at once fail without a message of their own. */
export function reasonOf(thrown: unknown): string {
  const isBare = thrown instanceof AggregateError && thrown.message === '';
  const reason = isBare ? thrown.errors.map((error: unknown) => messageOf(error)).join('; ') : messageOf(thrown);
  return reason.replace(/\s+/g, ' ').replace(/[.\s]+$/, '');
}
