// The outcome of one attempt: an answer, or a failure that says if a retry may help and if the service may have
// executed the request.
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
  /** True if another attempt may succeed. */
  readonly isTransient: boolean;
  /** True if the service may have executed the request. */
  readonly mayBeDone: boolean;
}

/** The parts of a response that decide its outcome. */
export interface Received {
  /** The URL of the request, which a relative `doc_url` refers to. */
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

type Codes = ReadonlySet<string>;
const codes = (...names: readonly ErrorCode[]): Codes => new Set(names);

/** Refusals that may pass within moments. SIMULATION_FAILED is left out: it reports the node's own answer. */
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
/**
 * Codes after which a purchase may have been executed (docs/interface.md §10). SIGNATURE_REPLAYED means that an earlier
 * copy of the same request arrived first, and that copy may have been executed.
 */
const UNCERTAIN = codes('INTERNAL_ERROR', 'SERVICE_UNAVAILABLE', 'SIGNATURE_REPLAYED');
/** The request never left: no connection was established, except if reading or writing failed (`IN_USE`). */
const NEVER_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|(?:CERT|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)_\w+)$/;
/** A route that is lost later ends an established connection with the code of one that was never established. */
const IN_USE = /^(?:read|write|shutdown)/;

/** Returns the failure for a request without a response, or with a response that was cut off. */
export function lost(thrown: unknown, requestId: string): Failure {
  const { code, syscall } = systemErrorOf(thrown);
  const error = new NetworkError(
    `no answer${code === '' ? '' : ` (${code})`}: ${messageOf(thrown)}`,
    requestId,
    thrown,
  );
  return { error, isTransient: true, mayBeDone: !NEVER_SENT.test(code) || IN_USE.test(syscall) };
}

/**
 * Returns the failure for a success status with a body that does not answer this request. The body was cut short, or a
 * proxy answered instead of the service or mixed up two responses.
 */
export function unreadable({ status, headers }: Pick<Received, 'status' | 'headers'>, requestId: string): Failure {
  const type = headers.get('content-type') ?? 'without a type';
  const message = `the answer (${status.toString()}, ${type}) was cut short or does not come from the service`;
  return { error: new NetworkError(message, requestId), isTransient: true, mayBeDone: true };
}

/** True if the answer has this media type, with any parameters. */
export function isOfType(headers: Headers, type: string): boolean {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() === type;
}

/** Returns the failure for a response with a status other than 2xx. */
export function refused({ url, status, headers, text }: Received, requestId: string): Failure {
  const body: Partial<Api.Error> | undefined = bodyOf(text);
  const isOwn = body?.ok === false && body.error !== undefined;
  const code = isOwn ? body.error : `HTTP_${status.toString()}`;
  const error = new ApiError(status, code, isOwn ? (body.msg ?? '') : foreignText(status, headers), {
    requestId: isOwn ? body.request_id : (headers.get('x-request-id') ?? requestId),
    retryAfterSec: retryAfterSec(headers),
    ...(isOwn && { body, docUrl: absolute(body.doc_url, url) }),
  });
  // A proxy answered instead of the service. Below 500 (except 408) the proxy refused the request itself; otherwise it
  // may have forwarded it.
  const isForeign = !isOwn && (status >= 500 || status === 408);
  return {
    error,
    isTransient: isOwn ? TRANSIENT.has(code) : isForeign || status === 429,
    mayBeDone: isOwn ? UNCERTAIN.has(code) : isForeign,
  };
}

function foreignText(status: number, headers: Headers): string {
  const location = status >= 300 && status < 400 ? headers.get('location') : null;
  const target = location === null ? '' : `; it redirects to ${location}, and baseUrl must name the service itself`;
  return `the answer does not come from the service${target}`;
}

/** Returns the JSON object in a text, or undefined if the text holds none. */
export function bodyOf(text: string): object | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function absolute(reference: string | undefined, base: URL): string | undefined {
  return reference !== undefined && URL.canParse(reference, base.href) ? new URL(reference, base).href : undefined;
}

function retryAfterSec(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/**
 * Returns the system's error code for a missing response, and the system call that failed. `fetch` puts them into the
 * `cause` of its error. An Error of another realm (a test runner's, for example) is no `instanceof Error` here.
 */
function systemErrorOf(thrown: unknown): { readonly code: string; readonly syscall: string } {
  for (let each = thrown; isObject(each); each = each['cause']) {
    const { code, syscall } = each;
    if (typeof code === 'string') return { code, syscall: typeof syscall === 'string' ? syscall : '' };
  }
  return { code: '', syscall: '' };
}

function messageOf(thrown: unknown): string {
  if (!isObject(thrown)) return String(thrown);
  const { message } = isObject(thrown['cause']) ? thrown['cause'] : thrown;
  return typeof message === 'string' ? message : 'no reason was given';
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
