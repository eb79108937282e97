import { StrictJsonError, compareUtf8, readStrictJson } from '../../../src/platform/http/body/strict-json.js';

const read = (text: string | Buffer) => readStrictJson(Buffer.isBuffer(text) ? text : Buffer.from(text));
const nested = (depth: number, open = '{"a":', close = '}') => `${open.repeat(depth)}1${close.repeat(depth)}`;
const keys = (count: number) =>
  `{${Array.from({ length: count }, (_, index) => `"k${index.toString()}":1`).join(',')}}`;

describe('the strict reader', () => {
  test.each([
    ['an empty body', ''],
    ['only whitespace', ' \n'],
    ['not JSON', '{energy:1}'],
    ['single quotes', "{'a':1}"],
    ['a trailing comma', '{"a":1,}'],
    ['a leading comma', '{,"a":1}'],
    ['a missing colon', '{"a" 1}'],
    ['a missing value', '{"a":}'],
    ['a comment', '{"a":1/*x*/}'],
    ['an unfinished object', '{"a":1'],
    ['an unfinished string', '{"a":"x'],
    ['an unfinished escape', '{"a":"\\'],
    ['an unknown escape', String.raw`{"a":"\x41"}`],
    ['a short unicode escape', String.raw`{"a":"\u12"}`],
    ['a control character', '{"a":"\u0001"}'],
    ['a raw newline in a string', '{"a":"\n"}'],
    ['an array', '[1,2]'],
    ['a string', '"a"'],
    ['null', 'null'],
    ['two values', '{} {}'],
    ['garbage behind', '{}x'],
    ['a byte order mark', '\ufeff{}'],
    ['a non-breaking space between tokens', '{"a":\u00a01}'],
    ['a leading zero', '{"a":01}'],
    ['a plus sign', '{"a":+1}'],
    ['a bare minus', '{"a":-}'],
    ['a bare point', '{"a":1.}'],
    ['a bare exponent', '{"a":1e}'],
    ['hexadecimal', '{"a":0x10}'],
    ['NaN', '{"a":NaN}'],
    ['Infinity', '{"a":-Infinity}'],
    ['a word run on', '{"a":nulll}'],
    ['a word cut short', '{"a":tru}'],
    ['a duplicate key', '{"a":1,"a":1}'],
    ['a duplicate key in disguise', String.raw`{"a":1,"\u0061":1}`],
    ['a nested duplicate key', '{"b":{"a":1,"a":1}}'],
    ['__proto__', '{"__proto__":1}'],
    ['__proto__ in disguise', String.raw`{"__pr\u006fto__":1}`],
    ['constructor, nested', '{"a":[{"constructor":1}]}'],
    ['prototype', '{"prototype":1}'],
    ['nine levels', nested(9)],
    ['nine levels with arrays', `{"a":${nested(8, '[', ']')}}`],
    ['65 keys', keys(65)],
    ['65 keys over two objects', `{"x":${keys(32)},"y":${keys(31)}}`],
    ['half a surrogate pair', String.raw`{"a":"\ud83d"}`],
    ['the halves swapped', String.raw`{"a":"\ude80\ud83d"}`],
    ['half a surrogate pair in a key', String.raw`{"\ud83d":1}`],
    ['an overlong UTF-8 form', Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])],
    ['a raw surrogate in UTF-8', Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
    ['Latin-1', Buffer.from('{"a":"é"}', 'latin1')],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
  ])('refuses %s', (_name, text) => {
    expect(() => read(text)).toThrow(StrictJsonError);
  });

  test('accepts the deepest and widest allowed bodies', () => {
    expect(read(nested(8)).root.members).toHaveLength(1);
    expect(read(keys(64)).root.members).toHaveLength(64);
    expect(read(`{"x":${keys(32)},"y":${keys(30)}}`).root.members).toHaveLength(2);
  });

  test('rejects a depth that would kill a recursive parser', () => {
    expect(() => read(nested(1_000_000))).toThrow(/nested deeper/);
    expect(() => read('['.repeat(1_000_000))).toThrow(StrictJsonError);
  });

  test('keeps literals as received and unescapes strings', () => {
    const [number, escaped, pair] = read(
      String.raw`{"n":12345678901234567890.50e+1,"s":"a\/\u00e9\n\"","p":"\ud83d\ude80"}`,
    ).root.members;
    expect(number?.value).toEqual({ kind: 'number', literal: '12345678901234567890.50e+1' });
    expect(escaped?.value).toMatchObject({ value: 'a/é\n"', literal: String.raw`"a\/\u00e9\n\""` });
    expect(pair?.value).toMatchObject({ value: '🚀' });
  });

  test('a body knows if it is its own canonical form', () => {
    expect(read('{"a":{"b":1,"c":2},"b":[1,2]}').isCanonical).toBe(true);
    for (const text of ['{"b":1,"a":2}', '{"a": 1}', '{"a":1}\n', ' {}', '{"a":[1, 2]}', '{"a":{"c":1,"b":2}}']) {
      expect(read(text).isCanonical).toBe(false);
    }
  });

  test('compares strings by their UTF-8 bytes', () => {
    const samples = ['', 'a', 'ab', 'b', 'é', '\ud7ff', '\ue000', '\uffff', '🚀', '🚀a', '\u{10ffff}'];
    for (const left of samples) {
      for (const right of samples) {
        expect(Math.sign(compareUtf8(left, right))).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)));
      }
    }
  });

  test('a refusal never quotes the body', () => {
    for (const text of ['{"a":secretword}', 'secretword', '{"secretword":1,"secretword":2}']) {
      expect(() => read(text)).toThrow(/^(?!.*secretword).*body/);
    }
  });
});
