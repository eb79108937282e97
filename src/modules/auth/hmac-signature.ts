/**
 * The newer signature, HMAC-SHA256 v1: the headers of a claim, the string to sign, and the signature
 * (docs/interface.md §2). Pure: knows no project, clock or store.
 */
import { createHash, createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import { ApiError } from '../../domain/errors.js';
import { headerValues } from '../../platform/http/pipeline/headers.js';

/** Maximum difference between a request's timestamp and our clock, in either direction. */
export const WINDOW_SEC = 300;

/** The signature headers of a request, not verified yet. */
export interface HmacHeaders {
  readonly merchant: string;
  readonly timestamp: string;
  readonly nonce: string;
  /** 32 bytes. */
  readonly signature: Buffer;
  /** Empty when none was sent. */
  readonly idempotencyKey: string;
}

/** The signed parts besides the headers. */
export interface SignedParts {
  readonly method: string;
  /** As in the request line, with its query; still percent-encoded. */
  readonly target: string;
  readonly body: Buffer;
}

/** Version, timestamp, nonce, method, path, query, merchant, Idempotency-Key, SHA-256 of the body. */
export type SignedLines = readonly [string, string, string, string, string, string, string, string, string];

const VERSION = 'CC-HMAC-SHA256-REQ-V1';
const OWN_HEADERS = ['x-cc-timestamp', 'x-cc-nonce', 'x-cc-signature'] as const;
const TIMESTAMP = /^(?:0|[1-9][0-9]{0,17})$/;
const NONCE = /^[A-Za-z0-9_-]{16,64}$/;
const SIGNATURE = /^v1=([0-9A-Fa-f]{64})$/;
const LINE_BREAK = /[\r\n]/;

/** Returns true if the request has any HMAC header, regardless of other headers. */
export function claimsHmac(rawHeaders: readonly string[]): boolean {
  return OWN_HEADERS.some((name) => headerValues(rawHeaders, name).length > 0);
}

/** Reads the headers, each once and well formed. Throws 400 BAD_AUTH_HEADERS naming the first bad one. */
export function readHmacHeaders(rawHeaders: readonly string[]): HmacHeaders {
  const merchant = once(rawHeaders, 'Merchant');
  const timestamp = once(rawHeaders, 'X-CC-Timestamp');
  const nonce = once(rawHeaders, 'X-CC-Nonce');
  const signature = SIGNATURE.exec(once(rawHeaders, 'X-CC-Signature'))?.[1];
  const idempotencyKey = once(rawHeaders, 'Idempotency-Key');
  if (merchant === '' || LINE_BREAK.test(merchant)) throw badHeader('Merchant', 'must be the UUID of the project');
  if (!TIMESTAMP.test(timestamp)) throw badHeader('X-CC-Timestamp', 'must be a time in whole Unix seconds');
  if (!NONCE.test(nonce)) throw badHeader('X-CC-Nonce', 'must have 16 to 64 characters of A-Z a-z 0-9 _ -');
  if (signature === undefined) throw badHeader('X-CC-Signature', 'must be v1= and 64 hex digits');
  if (LINE_BREAK.test(idempotencyKey)) throw badHeader('Idempotency-Key', 'must be one line');
  return { merchant, timestamp, nonce, signature: Buffer.from(signature, 'hex'), idempotencyKey };
}

/** Returns the header's only value without surrounding spaces and tabs; empty when it was not sent. */
function once(rawHeaders: readonly string[], name: string): string {
  const [value = '', ...more] = headerValues(rawHeaders, name.toLowerCase());
  if (more.length > 0) throw badHeader(name, 'must be sent once');
  return trimmed(value);
}

/**
 * Removes surrounding spaces and tabs. Not by a regular expression, which would rescan inner spaces from each of them.
 */
function trimmed(value: string): string {
  const isEdge = (index: number): boolean => value[index] === ' ' || value[index] === '\t';
  let from = 0;
  let to = value.length;
  while (from < to && isEdge(from)) from += 1;
  while (to > from && isEdge(to - 1)) to -= 1;
  return value.slice(from, to);
}

function badHeader(name: string, rule: string): ApiError {
  return new ApiError(
    'BAD_AUTH_HEADERS',
    `${name} ${rule}. Sign with Merchant, X-CC-Timestamp, X-CC-Nonce and X-CC-Signature.`,
  );
}

const PARAMETER = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[^"\\]|\\.)*")$/s;

/**
 * Throws 400 BAD_AUTH_HEADERS unless there is one Content-Type, application/json in any case, with well-formed
 * parameters.
 */
export function requireJsonType(rawHeaders: readonly string[]): void {
  const [type, ...parameters] = once(rawHeaders, 'Content-Type').split(';');
  const given = parameters.map(trimmed);
  // A single trailing semicolon is tolerated.
  if (given.at(-1) === '') given.pop();
  const isJson = trimmed(type ?? '').toLowerCase() === 'application/json';
  if (!isJson || !given.every((parameter) => PARAMETER.test(parameter))) {
    throw badHeader('Content-Type', 'must be application/json if there is a body');
  }
}

/**
 * Returns the nine signed lines. Throws 400 BAD_AUTH_HEADERS when the decoded path has a line break. The query is not
 * decoded and cannot have one.
 */
export function stringToSign(headers: Omit<HmacHeaders, 'signature'>, parts: SignedParts): string {
  return linesToSign(headers, parts).join('\n');
}

/** Returns the nine lines separately. Throws as `stringToSign` does. */
export function linesToSign(
  headers: Omit<HmacHeaders, 'signature'>,
  { method, target, body }: SignedParts,
): SignedLines {
  const [path = '', ...rest] = target.split('?');
  const decoded = decodePath(path);
  if (decoded === undefined || LINE_BREAK.test(decoded)) throw badHeader('The path', 'must be one line of UTF-8');
  return [
    VERSION,
    headers.timestamp,
    headers.nonce,
    method.toUpperCase(),
    decoded,
    rest.join('?'),
    headers.merchant,
    headers.idempotencyKey,
    createHash('sha256').update(body).digest('hex'),
  ];
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Returns 32 bytes. */
export function hmacOf(message: string, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(message, 'utf8').digest();
}

/** Compares in constant time. */
export function isHmac(message: string, key: KeyObject, claimed: Buffer): boolean {
  return timingSafeEqual(hmacOf(message, key), claimed);
}
