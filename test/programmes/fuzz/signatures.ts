// HMAC-signed requests with random headers over real connections. Independent rules in this file determine the expected
// answer. Any other answer, a 5xx or a hang is a failure.
import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { sendFrame, type Customer } from '../../support/api/client.js';
import type { Counts } from './json.js';

const HANG_LIMIT_MS = 15_000;
const CONCURRENCY = 32;
/** Tolerance of a timestamp. */
const WINDOW_SEC = 300;

/** Values of a repeated header; empty if it is not sent. */
type Sent = readonly string[];

/** Texts are bytes, one per character. */
interface Draft {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: string | undefined;
  readonly body: string;
  readonly merchant: Sent;
  /** Seconds from now, or any text. */
  readonly timestamp: readonly (number | string)[];
  readonly nonce: Sent;
  readonly key: Sent;
  readonly type: Sent;
  /** The signatures to send instead of the right one. */
  readonly sign: (right: string) => Sent;
  readonly isRepeated: boolean;
}

const trim = (value: string): string => value.replace(/^[ \t]+|[ \t]+$/g, '');
const bytes = (value: string): Buffer => Buffer.from(value, 'latin1');
const text = (units: string, minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...Array.from(units)), minLength, maxLength });

const PRINTABLE = Array.from({ length: 0x7f - 0x20 }, (_, at) => String.fromCharCode(0x20 + at)).join('');
/** Every character that Node's parser accepts. */
const anything = text(`${PRINTABLE}\t\xa0\xe9\xff`, 0, 80);

/** Mostly a right value; otherwise one of `others`, none, or several. */
const sent = <T>(right: fc.Arbitrary<T>, others: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> =>
  fc.oneof(
    { weight: 24, arbitrary: right.map((value) => [value]) },
    { weight: 4, arbitrary: others.map((value) => [value]) },
    { weight: 1, arbitrary: fc.oneof(fc.constant([]), fc.tuple(right, right), fc.tuple(right, others)) },
  );
const spaced = (right: string): fc.Arbitrary<string> =>
  fc.constantFrom(right, right, right, ` ${right}\t`, `\t ${right}`, `${right}  `);

const SEGMENTS = ['a', 'key-1', '%41', '%2F', '%2f', '%C3%A9', '%e2%82%ac', '%20', '%25', '+', '~', ':', '..', '%00'];
const BROKEN = ['%', '%zz', '%c3%28', '%ff', '%0A', '%0d', '%E2%80%A8'];
const QUERY = ['a=1', '&', '=', '?', '%2F', '%zz', '%0A', '+', '#', 'b', '%C3%A9', '/'];
const listOf = (parts: readonly string[], minLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...parts), { minLength, maxLength: 5 }).map((chosen) => chosen.join(''));
const paths = fc
  .oneof({ weight: 6, arbitrary: listOf(SEGMENTS, 1) }, listOf([...SEGMENTS, ...BROKEN], 1))
  .map((segment) => `/v1/things/${segment}`);

/** Bodies and content types, with the answer if all else is right. */
const BODIES = new Map([
  ['{}', 'OK'],
  [' {\r\n "b" : 1,\t"a":[ ] }\n', 'OK'],
  ['{"a":1e400,"note":"\xc3\xa9<>&"}', 'OK'],
  ['{"a":1,"a":1}', 'INVALID_REQUEST'],
  ['{"a":"\xff"}', 'INVALID_REQUEST'],
  ['[1]', 'INVALID_REQUEST'],
  ['no json', 'INVALID_REQUEST'],
  ['', 'INVALID_REQUEST'],
]);
const TYPES = new Map([
  ['application/json', 'OK'],
  ['Application/JSON ; charset=UTF-8', 'OK'],
  ['application/json;', 'OK'],
  ['application/json; v=1; charset="utf-8"', 'OK'],
  ['application/json; charset=latin1', 'UNSUPPORTED_MEDIA_TYPE'],
  ['application/json; charset=', 'BAD_AUTH_HEADERS'],
  ['application/json; =utf-8', 'BAD_AUTH_HEADERS'],
  ['application/jsonp', 'BAD_AUTH_HEADERS'],
  ['text/plain', 'BAD_AUTH_HEADERS'],
]);
const WRONG_SIGNATURES: readonly ((right: string) => Sent)[] = [
  (right) => [`V1=${right.slice(3)}`],
  (right) => [right.slice(3)],
  (right) => [right.slice(0, -1)],
  (right) => [`${right}0`],
  (right) => [`v1= ${right.slice(3)}`],
  (right) => [`${right.slice(0, -1)}g`],
  (right) => [`${right.slice(0, -1)}${right.endsWith('0') ? '1' : '0'}`],
  (right) => [right, right],
  () => [],
];
const TIMESTAMPS = ['0', '-1', '+1', '00', '01', '1.5', '1e9', '0x10', '9'.repeat(18), '9'.repeat(19), '\xb2', '1 2'];

function drafts({ merchant }: Customer): fc.Arbitrary<Draft> {
  const common = {
    merchant: sent(
      spaced(merchant),
      fc.oneof(fc.constantFrom(merchant.toUpperCase(), `\xa0${merchant}`, `${merchant}0`), fc.uuid(), anything),
    ),
    timestamp: sent<number | string>(
      fc.constantFrom(5, 5, 5, 5, -290, 290),
      fc.oneof(fc.constantFrom(-310, -1000, 320, 1000, ...TIMESTAMPS), anything),
    ),
    nonce: sent(
      fc.oneof(text('0123456789abcdef', 32, 32), text('aB3_-', 16, 64).filter(isRandom)).chain(spaced),
      fc.oneof(text('aB3_-', 13, 15), text('aB3_-', 65, 67), text('aB3_-.\xa0 ', 16, 40), anything),
    ),
    key: fc.oneof(fc.constant<Sent>([]), sent(text('k0-', 1, 8).chain(spaced), anything)),
    sign: fc.oneof(
      { weight: 12, arbitrary: fc.constant((right: string): Sent => [right]) },
      { weight: 2, arbitrary: fc.constant((right: string): Sent => [`\tv1=${right.slice(3).toUpperCase()} `]) },
      { weight: 4, arbitrary: fc.constantFrom(...WRONG_SIGNATURES) },
      anything.map((value) => (): Sent => [value]),
    ),
    isRepeated: fc.integer({ min: 0, max: 9 }).map((at) => at === 0),
  };
  const query = fc.oneof(fc.constant(undefined), listOf(QUERY, 0));
  const type = sent(fc.constant('application/json'), fc.constantFrom(...TYPES.keys()));
  const body = fc.constantFrom(...BODIES.keys());
  return fc.oneof(
    fc.record({
      ...common,
      method: fc.constant('GET' as const),
      path: paths,
      query,
      body: fc.constant(''),
      type: fc.constant<Sent>([]),
    }),
    fc.record({ ...common, method: fc.constant('POST' as const), path: fc.constant('/v1/echo'), query, body, type }),
  );
}

/** Random enough that nonces do not collide by chance. */
const isRandom = (nonce: string): boolean => nonce.length >= 30 && new Set(nonce).size > 3;

/** A draft as bytes, with its permitted answer codes. */
interface Built {
  readonly frame: Buffer;
  readonly expected: readonly string[];
}

function build(draft: Draft, customer: Customer): Built {
  const nowSec = Math.floor(Date.now() / 1000);
  const timestamps = draft.timestamp.map((value) => (typeof value === 'number' ? (nowSec + value).toString() : value));
  const [timestamp, nonce, merchant, key] = [timestamps, draft.nonce, draft.merchant, draft.key].map(([value = '']) =>
    trim(value),
  ) as [string, string, string, string];
  const path = decoded(draft.path);
  const lines = [
    'CC-HMAC-SHA256-REQ-V1',
    timestamp,
    nonce,
    draft.method,
    path ?? draft.path,
    draft.query ?? '',
    merchant,
    key,
    createHash('sha256').update(bytes(draft.body)).digest('hex'),
  ];
  const right = `v1=${createHmac('sha256', customer.apiKey).update(lines.join('\n')).digest('hex')}`;
  const signatures = draft.sign(right);
  const headers = [
    ...draft.merchant.map((value) => `Merchant: ${value}`),
    ...timestamps.map((value) => `X-CC-Timestamp: ${value}`),
    ...draft.nonce.map((value) => `x-cc-NONCE: ${value}`),
    ...signatures.map((value) => `X-CC-Signature: ${value}`),
    ...draft.key.map((value) => `Idempotency-Key: ${value}`),
    ...draft.type.map((value) => `Content-Type: ${value}`),
    ...(draft.method === 'POST' ? [`Content-Length: ${draft.body.length.toString()}`] : []),
  ];
  const target = draft.query === undefined ? draft.path : `${draft.path}?${draft.query}`;
  const head = [`${draft.method} ${target} HTTP/1.1`, 'Host: api', 'Connection: close', ...headers, '', ''];
  const isOnce = [draft.merchant, timestamps, draft.nonce, signatures].every(({ length }) => length === 1);
  const signature = trim(signatures[0] ?? '');
  const facts = {
    isFound: path !== undefined,
    isHeaded:
      isOnce &&
      draft.key.length <= 1 &&
      merchant !== '' &&
      /^(0|[1-9][0-9]{0,17})$/.test(timestamp) &&
      /^[A-Za-z0-9_-]{16,64}$/.test(nonce) &&
      /^v1=[0-9a-fA-F]{64}$/.test(signature) &&
      !/[\r\n]/.test(path ?? '') &&
      (draft.body === '' || (draft.type.length === 1 && TYPES.get(draft.type[0] ?? '') !== 'BAD_AUTH_HEADERS')),
    isInTime: Math.abs(Number(timestamp) - nowSec) <= WINDOW_SEC,
    isPast: Number(timestamp) <= nowSec,
    isSigned: merchant.toLowerCase() === customer.merchant && signature.toLowerCase() === right && merchant !== '',
  };
  return { frame: bytes(head.join('\r\n') + draft.body), expected: codesFor(draft, facts) };
}

interface Facts {
  readonly isFound: boolean;
  readonly isHeaded: boolean;
  readonly isInTime: boolean;
  readonly isPast: boolean;
  readonly isSigned: boolean;
}

function codesFor(draft: Draft, facts: Facts): readonly string[] {
  if (!facts.isFound) return ['NOT_FOUND'];
  if (!facts.isHeaded) return ['BAD_AUTH_HEADERS'];
  if (!facts.isInTime) return ['SIGNATURE_TIMESTAMP_OUT_OF_RANGE'];
  if (!facts.isSigned) return ['INVALID_SIGNATURE'];
  const type = draft.body === '' ? 'OK' : (TYPES.get(draft.type[0] ?? '') ?? '');
  const code = type === 'OK' && draft.method === 'POST' ? (BODIES.get(draft.body) ?? '') : type;
  // A Redis younger than the timestamp may have lost the nonce.
  return facts.isPast ? [code, 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE'] : [code];
}

/** Returns the path as signed; undefined if it cannot be decoded. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Sends `runs` requests, each over its own connection, some twice, and checks every answer. */
export async function checkSignatures(customer: Customer, runs: number, seed: number): Promise<Counts> {
  const counts: Counts = {};
  const work = fc.sample(drafts(customer), { numRuns: runs, seed }).values();
  const ask = async ({ frame, expected }: Built): Promise<string> => {
    const code = await codeOf(customer.baseUrl, frame);
    if (!expected.includes(code)) {
      throw new Error(`${code} in the place of ${expected.join(' or ')}: ${JSON.stringify(frame.toString('latin1'))}`);
    }
    counts[code] = (counts[code] ?? 0) + 1;
    return code;
  };
  const workers = Array.from({ length: CONCURRENCY }, async () => {
    for (const draft of work) {
      const built = build(draft, customer);
      const code = await ask(built);
      if (!draft.isRepeated) continue;
      // Every request with an accepted signature used its nonce.
      const isUsed = code === 'OK' || code === 'INVALID_REQUEST' || code === 'UNSUPPORTED_MEDIA_TYPE';
      const isEarly = code === 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE';
      await ask({
        ...built,
        expected: isUsed || isEarly ? ['SIGNATURE_REPLAYED', ...(isEarly ? [code] : [])] : [code],
      });
    }
  });
  await Promise.all(workers);
  return counts;
}

async function codeOf(baseUrl: string, frame: Buffer): Promise<string> {
  const shown = JSON.stringify(frame.toString('latin1'));
  const raw = await sendFrame(baseUrl, frame, { limitMs: HANG_LIMIT_MS }).catch((error: unknown) => {
    throw new Error(`a hang after ${shown}`, { cause: error });
  });
  const [, status, text = ''] = /^HTTP\/1\.1 (\d{3}) [\s\S]*?\r\n\r\n([\s\S]*)$/.exec(raw) ?? [];
  if (status === undefined || Number(status) >= 500) throw new Error(`${raw.slice(0, 300)} after ${shown}`);
  if (status === '200') return 'OK';
  const { ok, error } = JSON.parse(Buffer.from(text, 'latin1').toString('utf8')) as Record<string, unknown>;
  if (ok !== false || typeof error !== 'string') throw new Error(`an error out of shape after ${shown}`);
  return error;
}
