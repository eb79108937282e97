// The devnet's JSON: exact integers, and errors with java-tron's positions.
import fc from 'fast-check';
import { integerOf, member, printJson, readJson } from '../../../packages/devnet/src/json.js';
import { mergeJson } from '../../../packages/devnet/src/json-format.js';

test('reads any JSON as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      const node = readJson(text);
      expect(JSON.parse(node.raw)).toEqual(JSON.parse(text));
    }),
  );
});

test('keeps every digit of integers beyond 2^53, in both directions', () => {
  const text = '{"amount":9223372036854775807}';
  expect(integerOf(member(readJson(text), 'amount'))).toBe(9223372036854775807n);
  expect(printJson({ amount: 9223372036854775807n, none: undefined })).toBe(text);
});

test.each(['', '{', '{"a"', '{"a":}', '[1,]', '{"a":1}x', '"abc', '01x', 'nul'])('rejects %j as JSON', (text) => {
  expect(() => readJson(text)).toThrow(/pos \d+/);
});

test('bounds the nesting', () => {
  expect(() => readJson('['.repeat(100) + ']'.repeat(100))).toThrow('nested too deep');
});

const ADDRESS = '41' + '0a'.repeat(20);
// TRON: recorded messages. The column is the start of the value, counted from 1.
test.each([
  ['{"balance":"5"}', '1:12: Couldn\'t parse integer: For input string: ""5""'],
  ['{"balance":1.5}', '1:12: Couldn\'t parse integer: For input string: "1.5"'],
  ['{"resource":"energy"}', '1:13: Enum type "protocol.ResourceCode" has no value named "Energy".'],
  ['{"resource":9}', '1:13: Enum type "protocol.ResourceCode" has no value with number 9.'],
  ['{"owner_address":"zz"}', '1:18: INVALID hex String'],
  ['{"owner_address":5}', '1:18: Expected string.'],
  ['{\n"lock":"true"}', '2:8: Expected "true" or "false".'],
])('rejects %j with the text of the real node', (text, message) => {
  expect(() => mergeJson('DelegateResourceContract', readJson(text), text, false)).toThrow(message);
});

test('ignores unknown members, and accepts hex with 0x or of odd length', () => {
  const text = `{"owner_address":"${ADDRESS}","what":[1],"resource":"ENERGY"}`;
  expect(mergeJson('DelegateResourceContract', readJson(text), text, false)).toEqual({
    owner_address: ADDRESS,
    resource: 1,
  });
  expect(mergeJson('BytesMessage', readJson('{"value":"0xabc"}'), '', false)).toEqual({ value: '0abc' });
});
