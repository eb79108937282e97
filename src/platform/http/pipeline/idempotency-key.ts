/** Reads the Idempotency-Key header (docs/interface.md §10). The meaning of a key belongs to orders. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ApiError, invalidField } from '../../../domain/errors.js';
import type { Caller } from './request-context.js';
import { headerValues } from './headers.js';

const HEADER = 'Idempotency-Key';
const KEY_LENGTH_MAX = 255;
const KEY = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/;
/** Prefixes of keys that the service derives itself. */
const RESERVED = /^(?:ext|nonce|auto)_/;

/**
 * Returns the caller's key, or undefined if none was sent. Throws 400 INVALID_REQUEST for an empty, malformed or
 * repeated key, and 400 IDEMPOTENCY_KEY_REQUIRED if the project requires one.
 */
export function readIdempotencyKey(caller: Pick<Caller, 'rawHeaders' | 'project'>): string | undefined {
  const values = headerValues(caller.rawHeaders, 'idempotency-key');
  const [key] = values;
  if (key === undefined) {
    if (!caller.project.requireIdempotencyKey) return undefined;
    throw new ApiError('IDEMPOTENCY_KEY_REQUIRED', `This project requires the ${HEADER} header on every purchase.`);
  }
  if (values.length > 1) throw invalidField(HEADER, 'must be sent once');
  if (key === '') throw invalidField(HEADER, 'must not be empty; omit the header to have a key generated');
  if (key.length > KEY_LENGTH_MAX)
    throw invalidField(HEADER, `must have at most ${KEY_LENGTH_MAX.toString()} characters`);
  // Check the length first: the pattern then runs over 255 characters at most.
  if (!KEY.test(key)) throw invalidField(HEADER, 'must be printable ASCII, with spaces only between other characters');
  if (key === '.' || key === '..') {
    throw invalidField(HEADER, 'must not be . or .., which cannot be part of a URL path');
  }
  if (!mayBeSent(key))
    throw invalidField(HEADER, 'must not begin with ext_, nonce_ or auto_, which are reserved for generated keys');
  return key;
}

/** Returns true if a caller may send the key again. A key that the service derived can only be read. */
export function mayBeSent(key: string): boolean {
  return !RESERVED.test(key);
}

/** The key of a purchase. `isGiven` is false for a new key, which cannot have an earlier request. */
export interface PurchaseKey {
  readonly value: string;
  readonly isGiven: boolean;
}

/**
 * Returns the caller's key, the key derived from its nonce, or a new key. From here on every answer, also an error,
 * carries it. With the nonce a replay is the same order even if the nonce store was lost. Throws like
 * `readIdempotencyKey`.
 */
export function takePurchaseKey(
  caller: Pick<Caller, 'rawHeaders' | 'project' | 'nonce'>,
  response: ServerResponse,
): PurchaseKey {
  const given = readIdempotencyKey(caller) ?? (caller.nonce === undefined ? undefined : `nonce_${caller.nonce}`);
  const value = given ?? newKey();
  response.setHeader(HEADER, value);
  return { value, isGiven: given !== undefined };
}

/** Like `takePurchaseKey`, but the caller must send a key. Throws 400 IDEMPOTENCY_KEY_REQUIRED without one. */
export function requirePurchaseKey(
  caller: Pick<Caller, 'rawHeaders' | 'project' | 'nonce'>,
  response: ServerResponse,
): PurchaseKey {
  if (headerValues(caller.rawHeaders, 'idempotency-key').length === 0) {
    throw new ApiError(
      'IDEMPOTENCY_KEY_REQUIRED',
      `Send the ${HEADER} header, so that a repeated request buys only once.`,
    );
  }
  return takePurchaseKey(caller, response);
}

/** Returns 128 random bits in `[A-Za-z0-9_-]`, as a key that a caller may send again. */
function newKey(): string {
  const key = randomBytes(16).toString('base64url');
  return mayBeSent(key) ? key : newKey();
}

/** Copies the caller's key to the answer, for any outcome of the request. Omits a malformed key. */
export function echoIdempotencyKey(rawHeaders: readonly string[], response: ServerResponse): void {
  const [key, ...more] = headerValues(rawHeaders, 'idempotency-key');
  if (key === undefined || more.length > 0 || key.length > KEY_LENGTH_MAX || !KEY.test(key)) return;
  response.setHeader(HEADER, key);
}
