/**
 * Cursors of paged lists. Each encodes a letter for its list and a position, so that callers do not depend on either.
 */
import { invalidField } from './errors.js';

/** Every number of so many digits fits a Postgres bigint. */
const BIGINT_DIGITS = 18;
const ID = /^[1-9]\d*$/;

export const cursorAt = (list: string, place: bigint | number | string): string =>
  Buffer.from(`${list}${place.toString()}`, 'latin1').toString('base64url');

/** Returns the position in a cursor of this list; undefined for a text that `cursorAt` does not produce. */
export function placeIn(list: string, cursor: string): string | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  // Decoding ignores invalid base64 characters and unused bits.
  if (bytes.toString('base64url') !== cursor) return undefined;
  const text = bytes.toString('latin1');
  return text.startsWith(list) ? text.slice(list.length) : undefined;
}

/**
 * Returns the id, of at most `digits` digits, in a cursor of this list. Throws 400 for a cursor that no page of `what`
 * returned.
 */
export function idIn(list: string, cursor: string, what: string, digits = BIGINT_DIGITS): bigint {
  const id = placeIn(list, cursor);
  if (id === undefined || id.length > digits || !ID.test(id)) throw unknownCursor(what);
  return BigInt(id);
}

export const unknownCursor = (what: string, field = 'cursor') =>
  invalidField(field, `is not one that a page of ${what} returned`);
