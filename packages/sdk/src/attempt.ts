// What one attempt came to: an answer, or a failure of which is known whether repeating may help and whether the service may
// have done what it was asked all the same.
import type * as Api from './api-types.js';
import { ApiError, NetworkError } from './errors.js';
import type { ErrorCode } from './model.js';

export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface Failure {
  readonly error: ApiError | NetworkError;
  /** Whether another attempt may come to something else. */
  readonly isTransient: boolean;
  /** Whether the service may have taken the request. */
  readonly mayBeDone: boolean;
}

/** What of an answer is judged. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

type Codes = ReadonlySet<string>;
const codes = (...names: readonly ErrorCode[]): Codes => new Set(names);

/** Refusals that may be over a moment later. SIMULATION_FAILED is not among them: it says what the node said. */
const TRANSIENT = codes(
  'RATE_LIMITED',
  'REQUEST_TIMEOUT',
  'INTERNAL_ERROR',
  'AUTH_UNAVAILABLE',
  'CHAIN_UNAVAILABLE',
  'CAPACITY_UNAVAILABLE',
  'SERVICE_UNAVAILABLE',
  'SIGNATURE_REPLAYED',
);
/** After these a purchase may have been taken (docs/interface.md §10); after the last one by the copy that came first. */
const UNCERTAIN = codes('INTERNAL_ERROR', 'SERVICE_UNAVAILABLE', 'SIGNATURE_REPLAYED');
/** The request never left: no connection came about. */
const NEVER_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|(?:CERT|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)_\w+)$/;

/** The answer was lost, or never came. */
export function lost(thrown: unknown, requestId: string): Failure {
  const code = codeOf(thrown);
  const error = new NetworkError(
    `no answer${code === '' ? '' : ` (${code})`}: ${messageOf(thrown)}`,
    requestId,
    thrown,
  );
  return { error, isTransient: true, mayBeDone: !NEVER_SENT.test(code) };
}

/** What is no answer to this request, with the status of one: cut short, or of another by a proxy's mistake. */
export function unreadable(requestId: string): Failure {
  return { error: new NetworkError('the answer could not be read', requestId), isTransient: true, mayBeDone: true };
}

/** An answer that is not 2xx. */
export function refused({ status, headers, text }: Received, requestId: string): Failure {
  const body = bodyOf(text) as Partial<Api.Error> | undefined;
  const isOwn = body?.ok === false && body.error !== undefined;
  const code = isOwn ? body.error : `HTTP_${status.toString()}`;
  const error = new ApiError(status, code, isOwn ? (body.msg ?? '') : 'this is not an answer of the service', {
    requestId: isOwn ? body.request_id : (headers.get('x-request-id') ?? requestId),
    retryAfterSec: retryAfterSec(headers),
    ...(isOwn && { body }),
  });
  // Whatever stands before the service passed the request on, or did not: only below 500 it surely refused by itself.
  const isForeign = !isOwn && (status >= 500 || status === 408);
  return {
    error,
    isTransient: isOwn ? TRANSIENT.has(code) : isForeign || status === 429,
    mayBeDone: isOwn ? UNCERTAIN.has(code) : isForeign,
  };
}

/** The JSON object in a text; undefined when it is none. */
export function bodyOf(text: string): object | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function retryAfterSec(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/**
 * The system's code of why there was no answer; `fetch` has it in the cause of what it throws. An Error of another realm
 * (a test runner's, say) is no `instanceof Error` here.
 */
function codeOf(thrown: unknown): string {
  for (let each = thrown; isObject(each); each = each['cause']) {
    if (typeof each['code'] === 'string') return each['code'];
  }
  return '';
}

function messageOf(thrown: unknown): string {
  if (!isObject(thrown)) return String(thrown);
  const { message } = isObject(thrown['cause']) ? thrown['cause'] : thrown;
  return typeof message === 'string' ? message : 'no reason was given';
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
