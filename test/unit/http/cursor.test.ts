// A cursor is accepted only unchanged and only by its own list.
import fc from 'fast-check';
import { cursorAt, idIn, placeIn } from '../../../src/domain/cursor.js';

const id = fc.bigInt({ min: 1n, max: 999_999_999_999_999_999n });

it('a cursor returns its place, and only to its own list', () => {
  fc.assert(
    fc.property(id, (place) => {
      const cursor = cursorAt('o', place);
      expect(cursor).toMatch(/^[\w-]+$/);
      expect(idIn('o', cursor, 'orders')).toBe(place);
      expect(placeIn('d', cursor)).toBeUndefined();
    }),
  );
});

it('rejects a cursor with any addition that no page returned', () => {
  const DIGITS = Array.from({ length: 64 }, (_, value) => Buffer.of(0, 0, value).toString('base64url').slice(-1));
  fc.assert(
    fc.property(id, fc.constantFrom('=', '!', ' ', '.', 'é', '+', '/'), fc.nat(), (place, foreign, at) => {
      const cursor = cursorAt('o', place);
      const where = at % (cursor.length + 1);
      expect(placeIn('o', cursor.slice(0, where) + foreign + cursor.slice(where))).toBeUndefined();
      // The last digit may hold unused bits.
      const texts = DIGITS.map((digit) => cursor.slice(0, -1) + digit);
      const same = texts.filter((text) => placeIn('o', text) === place.toString());
      expect(same).toEqual([cursor]);
    }),
  );
});

it.each(['', 'o', 'bzA', 'bzAx', 'bzEu', 'bzEyMzQ1Njc4OTAxMjM0NTY3ODk'])(
  'rejects a cursor without an id: %s',
  (text) => {
    expect(() => idIn('o', text, 'orders')).toThrow('cursor: is not one that a page of orders returned');
  },
);
