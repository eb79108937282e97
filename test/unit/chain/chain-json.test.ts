// Node answers are parsed exactly, with any foreign text in them.
import fc from 'fast-check';
import { int64, parseJson } from '../../../src/platform/chain/json.js';
import { hostileText, RUNS } from '../../support/chain/hostile-bytes.js';

const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** Prints as java-tron does: a space after the colon, bare integers. */
function printed(fields: ReadonlyMap<string, string | bigint>): string {
  const members = [...fields].map(
    ([name, value]) =>
      `${JSON.stringify(name)}: ${typeof value === 'bigint' ? value.toString() : JSON.stringify(value)}`,
  );
  return `{${members.join(',')}}`;
}

it('reads a block with a contract that is named like a long number', () => {
  const block = { blockID: 'ab', transactions: [{ name: ':1234567890123456,', amount: 1 }] };
  expect(parseJson(JSON.stringify(block))).toEqual(block);
});

it('keeps every int64 exact and every text unchanged', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(hostileText, long), { maxLength: 6 }), (pairs) => {
      const fields = new Map<string, string | bigint>();
      pairs.forEach(([text, number], index) => {
        fields.set(`text${index.toString()}`, text);
        fields.set(`number${index.toString()}`, number);
      });
      const read = parseJson(printed(fields));
      for (const [name, value] of fields) {
        if (typeof value === 'string') expect(read?.[name]).toBe(value);
        else expect(int64(read?.[name])).toBe(value);
      }
    }),
    { numRuns: RUNS },
  );
});

it('reads members of every name', () => {
  fc.assert(
    fc.property(hostileText, hostileText, long, (name, text, number) => {
      fc.pre(name !== 'amount' && name !== '__proto__');
      const read = parseJson(
        printed(
          new Map<string, string | bigint>([
            [name, text],
            ['amount', number],
          ]),
        ),
      );
      expect(read?.[name]).toBe(text);
      expect(int64(read?.['amount'])).toBe(number);
    }),
    { numRuns: RUNS },
  );
});

it.each([
  ['beyond 64 bits', '{"n": 9223372036854775808}'],
  ['below 64 bits', '{"n": -9223372036854775809}'],
  ['a text beyond 64 bits', '{"n": "9223372036854775808"}'],
  ['a huge exponent', '{"n": 1e999999, "long": 1234567890123456789}'],
  ['a huge exponent alone', '{"n": 1e999999}'],
  ['a fraction', '{"n": 1.5, "long": 1234567890123456789}'],
  ['a long fraction', '{"n": 1234567890123456.5}'],
  ['a text', '{"n": "1e5"}'],
])('rejects the number %s as an int64', (_what, text) => {
  expect(int64(parseJson(text)?.['n'])).toBeUndefined();
});

it('a member named __proto__ adds nothing to the answer', () => {
  for (const long of ['', ', "long": 1234567890123456789']) {
    const read = parseJson(`{"__proto__": {"balance": 5}${long}}`);
    expect(read?.['balance']).toBeUndefined();
    expect(({} as Record<string, unknown>)['balance']).toBeUndefined();
  }
});

it('uses the last value of a repeated member or none, never the first', () => {
  expect(parseJson('{"n": 1, "n": 2}')?.['n']).toBe(2);
  expect(parseJson('{"n": 1, "n": 2, "long": 1234567890123456789}')).toBeUndefined();
});

it('reads anything that is no object, or nested without end, as nothing', () => {
  const deep = '[1234567890123456789,'.repeat(200_000);
  for (const text of ['', '[]', 'null', '1', '"a"', '{', deep, `{"a":${'['.repeat(200_000)}`]) {
    expect(parseJson(text)).toBeUndefined();
  }
});
