// Random bodies and texts with their properties, judged by JSON.parse and independent rules in this file.
import fc from 'fast-check';
import { canonicalForms, signCanonical, verifySignature } from '../../../src/modules/auth/signature.js';
import {
  StrictJsonError,
  readStrictJson,
  type StrictBody,
  type StrictNode,
} from '../../../src/platform/http/body/strict-json.js';
import { canonical } from '../../support/api/client.js';

export type Counts = Record<string, number>;

const API_KEY = 'fuzz-key-0123456789abcdef0123456789abcdef';

/** Text that challenges canonicalisers: escapes, HTML characters, separators, astral and private characters. */
const string = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom(
      '<',
      '>',
      '&',
      '"',
      '\\',
      '/',
      '\b',
      '\f',
      '\n',
      '\u2028',
      '\u2029',
      '\u007f',
      '\u0000',
      'é',
      '\ue000',
      '🚀',
      'a',
      'b',
      'u',
    ),
    maxLength: 8,
  }),
);
const key = string.filter((text) => !['__proto__', 'constructor', 'prototype'].includes(text));
/** Doubles that survive JSON.stringify and JSON.parse; -0 becomes 0. */
const number = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .map((value) => value + 0);
const value = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(string, number, fc.boolean(), fc.constant(null)),
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(key, tie('node'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).node;
const body = fc.dictionary(key, value, { maxKeys: 6, noNullPrototype: true });

/** Returns a generator of numbers in [0, 1), deterministic by seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Writes a value as any client might: members in any order, any whitespace, arbitrary escapes. */
function loosely(node: unknown, random: () => number): string {
  const space = () => [' ', '\n', '\t', '\r', '', '', ''][Math.floor(random() * 7)] ?? '';
  const escaped = (point: string) =>
    point
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
  // By code point: a surrogate pair with one half raw and one escaped is not valid text.
  const literal = (text: string) =>
    `"${Array.from(text, (point) => (random() > 0.1 ? JSON.stringify(point).slice(1, -1) : escaped(point))).join('')}"`;
  const write = (inner: unknown): string => {
    if (typeof inner === 'string') return literal(inner);
    if (Array.isArray(inner)) return `[${space()}${inner.map(write).join(`${space()},${space()}`)}${space()}]`;
    if (typeof inner !== 'object' || inner === null) return JSON.stringify(inner);
    const members = Object.entries(inner).sort(() => random() - 0.5);
    return `{${space()}${members.map(([name, member]) => `${literal(name)}${space()}:${space()}${write(member)}`).join(`,${space()}`)}${space()}}`;
  };
  return `${space()}${write(node)}${space()}`;
}

/** Checks that a body verifies in any member order, spacing and dialect, and that no other meaning verifies. */
export function checkCanonicaliser(runs: number, seed: number): Counts {
  const counts: Counts = { verified: 0, 'other meanings refused': 0 };
  fc.assert(
    fc.property(body, body, fc.nat(), (sent, other, shuffle) => {
      const random = randomFrom(shuffle);
      if (countKeys(sent) > 64) return;
      const signed = canonical(sent);
      const signature = signCanonical(signed, API_KEY);
      const read = readStrictJson(Buffer.from(loosely(sent, random)));
      if (!verifySignature(read, signature, API_KEY)) throw new Error(`not verified: ${read.text}`);
      const go = goDialect(signed);
      if (!verifySignature(read, signCanonical(go, API_KEY), API_KEY)) throw new Error(`Go dialect: ${read.text}`);
      // The received form, sorted by the reader: for clients that sign their own number and string notation.
      const [received = ''] = canonicalForms(read);
      if (canonical(JSON.parse(received)) !== signed) throw new Error(`the canonical form means another: ${received}`);
      counts['verified'] = (counts['verified'] ?? 0) + 1;
      if (canonical(other) === signed) return;
      if (verifySignature(readStrictJson(Buffer.from(canonical(other))), signature, API_KEY)) {
        throw new Error(`another meaning verified: ${canonical(other)}`);
      }
      for (const changed of changes(signed)) {
        if (!isChange(changed, signed)) continue;
        const altered = accepted(changed);
        if (altered !== undefined && verifySignature(altered, signature, API_KEY))
          throw new Error(`verified: ${changed}`);
        counts['other meanings refused'] = (counts['other meanings refused'] ?? 0) + 1;
      }
    }),
    { numRuns: runs, seed },
  );
  return counts;
}

function goDialect(text: string): string {
  return text
    .replace(/[<>&\u2028\u2029]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(
      /(?<!\\)((?:\\\\)*)\\([bf])/g,
      (_all, before: string, letter: string) => `${before}\\u00${letter === 'b' ? '08' : '0c'}`,
    );
}

/** Small changes of a text, most of which change its meaning. */
function* changes(text: string): Generator<string> {
  for (const [from, to] of [
    ['1', '2'],
    ['true', 'false'],
    ['null', '0'],
    ['"', '" '],
    ['a', 'b'],
    [':', ':-'],
    ['0', '00'],
  ] as const) {
    if (text.includes(from)) yield text.replace(from, to);
  }
  yield text.replace(/.}$/, '}');
  yield `${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"zz":1}`;
}

function isChange(changed: string, original: string): boolean {
  try {
    return canonical(JSON.parse(changed)) !== original;
  } catch {
    return false;
  }
}

function accepted(text: string): StrictBody | undefined {
  try {
    return readStrictJson(Buffer.from(text));
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined;
    throw error;
  }
}

const FRAGMENTS = [
  ...Array.from('{}[]:,"\\ \n01e.-+'),
  'true',
  'false',
  'null',
  '"a"',
  '"b"',
  '"a":1',
  '"__proto__":1',
  '"constructor":{}',
  '\\u0061',
  '\\ud83d',
  '\\ude80',
  '\\u',
  '1e400',
  '-0',
  '1.0',
  '01',
  'é',
  '🚀',
  '\ufeff',
  '\u2028',
  '\u0000',
  '[[[[[[[[',
  ']]]]]]]]',
  '{"a":{"a":{"a":{"a":',
  '}}}}',
];

/** Valid texts, texts with one to three edits, and concatenated fragments. */
const text = fc.oneof(
  fc
    .tuple(
      body,
      fc.array(fc.tuple(fc.noBias(fc.nat(10_000)), fc.nat(4), fc.constantFrom(...FRAGMENTS)), { maxLength: 3 }),
    )
    .map(([valid, edits]) =>
      edits.reduce((current, [at, cut, insert]) => {
        const place = current.length === 0 ? 0 : at % current.length;
        return current.slice(0, place) + insert + current.slice(place + cut);
      }, JSON.stringify(valid)),
    ),
  fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 14 }).map((parts) => parts.join('')),
  fc
    .tuple(fc.nat(80), fc.boolean())
    .map(
      ([keys, isTwice]) =>
        `{${Array.from({ length: keys }, (_, index) => `"k${(isTwice ? index % 40 : index).toString()}":${index.toString()}`).join(',')}}`,
    ),
);

/**
 * Checks that the reader accepts the texts that JSON.parse accepts, except those refused by docs/interface.md §1, with
 * equal results.
 */
export function checkReader(runs: number, seed: number): Counts {
  const counts: Counts = { accepted: 0, 'refused as JSON.parse does': 0, 'refused beyond JSON.parse': 0 };
  const count = (name: string) => (counts[name] = (counts[name] ?? 0) + 1);
  fc.assert(
    fc.property(text, (candidate) => {
      const read = accepted(candidate);
      const parsed = parse(candidate);
      // UTF-8 cannot encode a lone surrogate; as bytes it is another text.
      if (/\p{Surrogate}/u.test(candidate)) return;
      const expected = parsed !== undefined && !isRefused(candidate, parsed.value);
      if ((read !== undefined) !== expected) throw new Error(`${expected ? 'refused' : 'accepted'}: ${candidate}`);
      if (read === undefined) count(parsed === undefined ? 'refused as JSON.parse does' : 'refused beyond JSON.parse');
      else {
        if (canonical(plain(read.root)) !== canonical(parsed?.value)) throw new Error(`read otherwise: ${candidate}`);
        count('accepted');
      }
    }),
    { numRuns: runs, seed },
  );
  return counts;
}

/** Checks that random bytes are read or refused, without any other error. */
export function checkBytes(runs: number, seed: number): Counts {
  const counts: Counts = { accepted: 0, refused: 0 };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.boolean(), (bytes, isFramed) => {
      const buffer = isFramed ? Buffer.concat([Buffer.from('{"a":"'), bytes, Buffer.from('"}')]) : Buffer.from(bytes);
      try {
        readStrictJson(buffer);
        counts['accepted'] = (counts['accepted'] ?? 0) + 1;
      } catch (error) {
        if (!(error instanceof StrictJsonError)) throw error;
        counts['refused'] = (counts['refused'] ?? 0) + 1;
      }
    }),
    { numRuns: runs, seed },
  );
  return counts;
}

function parse(candidate: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(candidate) };
  } catch {
    return undefined;
  }
}

/** Returns true if docs/interface.md §1 refuses a JSON text; `parsed` is the result of JSON.parse. */
function isRefused(candidate: string, parsed: unknown): boolean {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return true;
  // Matches every string completely, so that no match begins at another string's end.
  const strings = Array.from(candidate.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/gs));
  const named = strings.filter(([, colon]) => colon !== undefined).length;
  if (named > 64 || countKeys(parsed) < named) return true;
  const isBad = (node: unknown, depth: number): boolean => {
    if (typeof node === 'string') return /\p{Surrogate}/u.test(node);
    if (typeof node !== 'object' || node === null) return false;
    if (depth > 8) return true;
    if (Array.isArray(node)) return node.some((item) => isBad(item, depth + 1));
    return Object.entries(node).some(
      ([name, member]) =>
        ['__proto__', 'constructor', 'prototype'].includes(name) || isBad(name, depth) || isBad(member, depth + 1),
    );
  };
  return isBad(parsed, 1);
}

function countKeys(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 0;
  if (Array.isArray(node)) return node.reduce<number>((sum, item) => sum + countKeys(item), 0);
  return Object.values(node).reduce<number>((sum, member) => sum + 1 + countKeys(member), 0);
}

function plain(node: StrictNode): unknown {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.members.map((member) => [member.key, plain(member.value)]));
    case 'array':
      return node.items.map(plain);
    case 'string':
      return node.value;
    default:
      return JSON.parse(node.literal);
  }
}
