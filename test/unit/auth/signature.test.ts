import { readFileSync } from 'node:fs';
import { canonicalForms, signCanonical, verifySignature } from '../../../src/modules/auth/signature.js';
import { StrictJsonError, readStrictJson, type StrictBody } from '../../../src/platform/http/body/strict-json.js';

interface Vector {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly key: string;
  readonly verify_with_key?: string;
  readonly body: string;
  readonly signed_string: string;
  readonly signature: string;
  readonly expect: 'accept' | 'reject' | 'malformed';
}

const { vectors } = JSON.parse(readFileSync('test/vectors/signature.json', 'utf8')) as { vectors: Vector[] };

/** Reads a request as the pipeline does: a POST needs a body, a GET has none. */
function judge(vector: Vector): Vector['expect'] {
  let body: StrictBody | undefined;
  try {
    if (vector.method === 'POST') body = readStrictJson(Buffer.from(vector.body));
  } catch (error) {
    if (error instanceof StrictJsonError) return 'malformed';
    throw error;
  }
  return verifySignature(body, vector.signature, vector.verify_with_key ?? vector.key) ? 'accept' : 'reject';
}

const read = (text: string) => readStrictJson(Buffer.from(text));
const forms = (text: string) => [...canonicalForms(read(text))];

describe('the signature', () => {
  test('has all 49 vectors', () => {
    expect(vectors).toHaveLength(49);
  });

  test.each(vectors.map((vector) => [vector.name, vector] as const))('vector: %s', (_name, vector) => {
    expect(judge(vector)).toBe(vector.expect);
  });

  test('a plain body has one canonical form, so that most requests cost one hash', () => {
    expect(forms('{"b": "x", "a": [1, {"d": null, "c": true}]}')).toEqual(['{"a":[1,{"c":true,"d":null}],"b":"x"}']);
    expect(forms('{"a":1}')).toEqual(['{"a":1}']);
  });

  test('an escaped body has its form as received, as JavaScript and as Go write it', () => {
    expect(forms(String.raw`{"a":"\u0041<\b\f\\b\n"}`)).toEqual([
      String.raw`{"a":"\u0041<\b\f\\b\n"}`,
      String.raw`{"a":"A<\b\f\\b\n"}`,
      String.raw`{"a":"A\u003c\u0008\u000c\\b\n"}`,
    ]);
  });

  test('sorts keys by their unescaped UTF-8 bytes, astral ones after the private use area', () => {
    expect(forms('{"🚀":1,"\uf8ff":2,"é":3,"z":4,"Z":5,"10":6,"9":7}')[0]).toBe(
      '{"10":6,"9":7,"Z":5,"z":4,"é":3,"\uf8ff":2,"🚀":1}',
    );
    expect(forms(String.raw`{"b":1,"\u0061":2}`)[0]).toBe(String.raw`{"\u0061":2,"b":1}`);
  });

  test('writes keys in each dialect too', () => {
    expect(forms('{"b":1,"a&":2}')).toEqual(['{"a&":2,"b":1}', String.raw`{"a\u0026":2,"b":1}`]);
  });

  test('a malformed signature matches nothing', () => {
    const body = read('{}');
    const right = signCanonical('{}', 'k');
    expect(verifySignature(body, right, 'k')).toBe(true);
    for (const wrong of ['', right.slice(1), `${right}0`, right.toUpperCase(), 'x'.repeat(32), `${right.slice(1)}é`]) {
      expect(verifySignature(body, wrong, 'k')).toBe(false);
    }
  });
});
