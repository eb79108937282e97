/**
 * Where a page of a list ended, as its answer says it. No caller can make sense of it, so none depends on what is inside:
 * a letter for the list, and the place.
 */
import { invalidField } from './errors.js';

/** The longest id that fits a bigint of Postgres, in digits. */
const BIGINT_DIGITS = 18;
const ID = /^[1-9]\d*$/;

export const cursorAt = (list: string, place: bigint | number | string): string =>
  Buffer.from(`${list}${place.toString()}`, 'latin1').toString('base64url');

/** The place in a cursor of this list; undefined for a text that `cursorAt` does not make. */
export function placeIn(list: string, cursor: string): string | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  // Reading passes over what is no base64, and over bits that stand for nothing.
  if (bytes.toString('base64url') !== cursor) return undefined;
  const text = bytes.toString('latin1');
  return text.startsWith(list) ? text.slice(list.length) : undefined;
}

/** The id in a cursor of this list, of so many digits at most. Throws 400 for one that no page of `what` returned. */
export function idIn(list: string, cursor: string, what: string, digits = BIGINT_DIGITS): bigint {
  const id = placeIn(list, cursor);
  if (id === undefined || id.length > digits || !ID.test(id)) throw unknownCursor(what);
  return BigInt(id);
}

export const unknownCursor = (what: string, field = 'cursor') =>
  invalidField(field, `is not one that a page of ${what} returned`);
