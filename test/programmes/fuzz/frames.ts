// Randomly corrupted requests over real connections. No input may cause a 5xx, a malformed answer or a hang. No request
// with a meaning other than the signed one may reach a handler.
import fc from 'fast-check';
import { canonical, sendFrame, type Customer } from '../../support/api/client.js';
import type { Counts } from './json.js';

const HANG_LIMIT_MS = 30_000;
const QUIET_MS = 20;
const PATIENT_MS = 10_000;
const CONCURRENCY = 64;
const BODY = { energy: 65_000, note: 'a<b>é', receive_address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' };

const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  ':',
  ';',
  ',',
  '\t',
  '\r\n ',
  '\r\n\r\n',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/9.9',
  '%',
  '%00',
  '%zz',
  '/',
  '//',
  '..',
  '?',
  '#',
  'GET ',
  'POST ',
  'HEAD ',
  'Content-Length: 5\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip\r\n',
  'Content-Encoding: gzip\r\n',
  'Content-Type: text/plain\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: websocket\r\n',
  'Connection: upgrade\r\n',
  'Host: y\r\n',
  'Merchant: \r\n',
  'Signature: x\r\n',
  'Idempotency-Key: \r\n',
  'Idempotency-Key: k\r\n',
  'Prefer: wait=5\r\n',
  'X-Request-Id: mine\r\n',
  'X-Forwarded-For: 1.2.3.4\r\n',
  'ffffffffffffffff\r\n',
  '0\r\n\r\n',
  '{',
  '}',
  '"',
  '\\u0000',
  '\xff',
  '\xc0\xaf',
  'A'.repeat(9000),
];

/** Signed requests, valid until they are edited. */
function bases(customer: Customer): string[] {
  const body = Buffer.from(canonical(BODY)).toString('latin1');
  const head = (line: string, signed: string, more: string) => {
    const { Merchant, Signature } = customer.authHeaders(signed);
    return `${line} HTTP/1.1\r\nHost: api\r\nMerchant: ${Merchant}\r\nSignature: ${Signature}\r\n${more}\r\n`;
  };
  const signed = canonical(BODY);
  const json = 'Content-Type: application/json\r\n';
  const echo = head('POST /v1/echo', signed, `${json}Content-Length: ${body.length.toString()}\r\n`) + body;
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const things = head('GET /v1/things/key', '', '');
  return [
    echo,
    head('POST /v1/echo', signed, `${json}Transfer-Encoding: chunked\r\n`) + chunks,
    head('POST /v1/buy', signed, `${json}Idempotency-Key: k\r\nContent-Length: ${body.length.toString()}\r\n`) + body,
    things,
    things + echo + things,
  ];
}

const edits = fc.array(
  fc.record({
    // Uniform over the whole frame: fast-check's number generator favours the ends.
    at: fc.noBias(fc.nat(9999)).map((share) => share / 10_000),
    cut: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(40)),
    insert: fc.oneof(fc.constantFrom('', ...TOKENS), fc.string({ unit: 'binary-ascii', maxLength: 3 })),
  }),
  { minLength: 1, maxLength: 4 },
);

/** Sends `runs` corrupted frames, each over its own connection, and checks every answer. */
export async function checkFrames(customer: Customer, runs: number, seed: number): Promise<Counts> {
  const counts: Counts = {};
  const frames = bases(customer);
  const sample = fc.sample(fc.tuple(fc.nat(frames.length - 1), edits), { numRuns: runs, seed });
  const work = sample.values();
  const workers = Array.from({ length: CONCURRENCY }, async () => {
    for (const [base, changes] of work) {
      const frame = changes.reduce((current, { at, cut, insert }) => {
        const place = Math.floor(at * (current.length + 1));
        return current.slice(0, place) + insert + current.slice(place + cut);
      }, frames[base] ?? '');
      for (const outcome of await judge(customer.baseUrl, frame)) counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  });
  await Promise.all(workers);
  return counts;
}

async function judge(baseUrl: string, frame: string): Promise<string[]> {
  const answerWithin = (quietMs: number) =>
    sendFrame(baseUrl, Buffer.from(frame, 'latin1'), { limitMs: HANG_LIMIT_MS, quietMs }).catch((error: unknown) => {
      throw new Error(`a hang after ${JSON.stringify(frame)}`, { cause: error });
    });
  // On a busy machine the answer may take longer than the quiet time, and closing the connection would abandon it.
  const raw = (await answerWithin(QUIET_MS)) || (await answerWithin(PATIENT_MS));
  const complain = (what: string) =>
    new Error(`${what}\nframe: ${JSON.stringify(frame)}\nanswer: ${JSON.stringify(raw)}`);
  if (raw === '') throw complain('closed without an answer');
  const outcomes: string[] = [];
  for (let rest = raw; rest !== '';) {
    const match = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n([\s\S]*?)\r\n\r\n/.exec(rest);
    if (match === null) throw complain('no HTTP answer');
    const status = Number(match[1]);
    if (status >= 500) throw complain('a 5xx');
    // 100 Continue precedes its answer, and HEAD is answered without a body.
    const length = Number(/^content-length: (\d+)$/im.exec(match[2] ?? '')?.[1] ?? 0);
    const text = rest.slice(match[0].length).startsWith('HTTP/')
      ? ''
      : rest.slice(match[0].length, match[0].length + length);
    rest = rest.slice(match[0].length + text.length);
    if (text !== '') checkBody(status, Buffer.from(text, 'latin1').toString('utf8'), complain);
    outcomes.push(status.toString());
  }
  return outcomes;
}

function checkBody(status: number, text: string, complain: (what: string) => Error): void {
  const body = JSON.parse(text) as Record<string, unknown>;
  if (
    status >= 400 &&
    (body['ok'] !== false || typeof body['error'] !== 'string' || typeof body['request_id'] !== 'string')
  ) {
    throw complain('an error out of shape');
  }
  if (status === 200 && typeof body['text'] === 'string' && canonical(JSON.parse(body['text'])) !== canonical(BODY)) {
    throw complain('another meaning reached the handler');
  }
}
