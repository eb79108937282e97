// Node answers are parsed exactly, with any foreign text in them.
import fc from 'fast-check';
import { int64, parseJson } from '../../src/chain/json.js';
import { hostileText, RUNS } from '../hostile.js';

const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** Prints as java-tron does: a space after the colon, bare integers. */
function printed(fields: ReadonlyMap<string, string | bigint>): string {
  const members = [...fields].map(
    ([name, value]) =>
      `${JSON.stringify(name)}: ${typeof value === 'bigint' ? value.toString() : JSON.stringify(value)}`,
  );
  return `{${members.join(',')}}`;
}

it('a contract with a name like a long number leaves its block readable', () => {
  const block = { blockID: 'ab', transactions: [{ name: ':1234567890123456,', amount: 1 }] };
  expect(parseJson(JSON.stringify(block))).toEqual(block);
});

it('every int64 is exact, and every text is itself', () => {
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

it('members of every name are read as what they are', () => {
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
])('a number %s is no int64', (_what, text) => {
  expect(int64(parseJson(text)?.['n'])).toBeUndefined();
});

it('a member named __proto__ lends nothing to the answer', () => {
  for (const long of ['', ', "long": 1234567890123456789']) {
    const read = parseJson(`{"__proto__": {"balance": 5}${long}}`);
    expect(read?.['balance']).toBeUndefined();
    expect(({} as Record<string, unknown>)['balance']).toBeUndefined();
  }
});

it('a member twice is the last one or none, never the first', () => {
  expect(parseJson('{"n": 1, "n": 2}')?.['n']).toBe(2);
  expect(parseJson('{"n": 1, "n": 2, "long": 1234567890123456789}')).toBeUndefined();
});

it('what is no object, or nested without end, is nothing', () => {
  const deep = '[1234567890123456789,'.repeat(200_000);
  for (const text of ['', '[]', 'null', '1', '"a"', '{', deep, `{"a":${'['.repeat(200_000)}`]) {
    expect(parseJson(text)).toBeUndefined();
  }
});
