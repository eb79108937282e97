/** Reads the Idempotency-Key header (Contract 6); what a key means belongs to orders. */
import { ApiError, invalidField } from '../errors.js';
import type { Caller } from './caller.js';
import { headerValues } from './headers.js';

const HEADER = 'Idempotency-Key';
const KEY_LENGTH_MAX = 255;
const KEY = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/;

/**
 * The caller's key, or undefined when none was sent. Throws 400 INVALID_REQUEST for an empty, malformed or repeated
 * one and 400 IDEMPOTENCY_KEY_REQUIRED when the project demands one.
 */
export function readIdempotencyKey(caller: Pick<Caller, 'rawHeaders' | 'project'>): string | undefined {
  const values = headerValues(caller.rawHeaders, 'idempotency-key');
  const [key] = values;
  if (key === undefined) {
    if (!caller.project.requireIdempotencyKey) return undefined;
    throw new ApiError('IDEMPOTENCY_KEY_REQUIRED', `This project requires the ${HEADER} header on every purchase.`);
  }
  if (values.length > 1) throw invalidField(HEADER, 'must be sent once');
  if (key === '') throw invalidField(HEADER, 'must not be empty; leave the header out to have a key made');
  if (key.length > KEY_LENGTH_MAX)
    throw invalidField(HEADER, `must have at most ${KEY_LENGTH_MAX.toString()} characters`);
  // The length is checked first: the pattern then runs over 255 characters at most.
  if (!KEY.test(key)) throw invalidField(HEADER, 'must be printable ASCII, with spaces only between other characters');
  return key;
}
