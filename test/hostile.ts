// Texts and bytes as a stranger would choose them to trip a reader.
import fc from 'fast-check';

/** How many random cases a property is tried with: PROPERTY_RUNS, or few enough for every run of the unit tests. */
export const RUNS = Number.parseInt(process.env['PROPERTY_RUNS'] ?? '2000', 10);

const piece = fc.oneof(
  fc.constantFrom(
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '\n',
    '\r',
    '\t',
    '\0',
    '\u001f',
    '\u2028',
    '\u007f',
    '\ud800',
  ),
  fc.constantFrom(':1234567890123456,', '":1234567890123456,"', '\\u0022', '__proto__', '1e999', '-', '0x', 'é', '🚀'),
  fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String),
  fc.string({ unit: 'binary', maxLength: 4 }),
);

/** Text of any length made of what JSON and our patterns are made of. */
export const hostileText = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
