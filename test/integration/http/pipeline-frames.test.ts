import { connect, type Socket } from 'node:net';
import { limited, until } from '../../../packages/local/src/wait.js';
import type { Customer } from '../../support/api/client.js';
import { canonical, sendFrame } from '../../support/api/client.js';
import { openPipeline, type PipelineApp } from '../../support/api/pipeline-fixture.js';
import { checkFrames } from '../../programmes/fuzz/frames.js';
import { checkSignatures } from '../../programmes/fuzz/signatures.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

/** Every possible outcome of an HMAC request here. */
const CODES_OF_HMAC = [
  'OK',
  'BAD_AUTH_HEADERS',
  'SIGNATURE_TIMESTAMP_OUT_OF_RANGE',
  'INVALID_SIGNATURE',
  'SIGNATURE_REPLAYED',
  'INVALID_REQUEST',
  'UNSUPPORTED_MEDIA_TYPE',
  'NOT_FOUND',
];

let testDatabase: TestDatabase;
let testRedis: TestRedis;
let pipeline: PipelineApp;
let customer: Customer;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  testRedis = await createTestRedis();
  pipeline = await openPipeline(testDatabase.url, {
    REDIS_URL: testRedis.url,
    HEADERS_TIMEOUT_SEC: '1',
    REQUEST_TIMEOUT_SEC: '2',
    BAD_SIGNATURES_PER_MINUTE: '1000000',
  });
  customer = await pipeline.customer('frames');
});

afterAll(async () => {
  await pipeline.close();
  await testRedis.close();
  await testDatabase.drop();
});

/** Splits the output of a connection into answers by their Content-Length. */
function answersIn(raw: string): { status: number; head: string; body: ReturnType<typeof JSON.parse> }[] {
  const answers = [];
  for (let rest = raw; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.slice(0, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const text = rest.slice(end + 4, end + 4 + length);
    answers.push({ status: Number(head.split(' ')[1]), head, body: text === '' ? undefined : JSON.parse(text) });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

const codesIn = (raw: string) =>
  answersIn(raw).map(({ status, body }) => `${status.toString()} ${body?.error ?? 'OK'}`);

/** Returns a signed request as bytes for the wire. */
function request(path: string, body: unknown, more: readonly string[] = []): string {
  const text = body === undefined ? '' : canonical(body);
  const { Merchant, Signature } = customer.authHeaders(text);
  const lines = [
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'Host: api.test',
    `Merchant: ${Merchant}`,
    `Signature: ${Signature}`,
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${text.length.toString()}`]),
    ...more,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

const CLOSE = ['Connection: close'];
const BODY = { receive_address: 'x', energy: 1000 };

describe('raw HTTP', () => {
  test('answers a plain frame, so that the others fail for their own reasons', async () => {
    expect(codesIn(await sendFrame(pipeline.baseUrl, request('/v1/buy', BODY, CLOSE)))).toEqual(['200 OK']);
    expect(codesIn(await sendFrame(pipeline.baseUrl, request('/v1/slow', undefined, CLOSE)))).toEqual(['200 OK']);
  });

  test.each([
    ['garbage', 'hello\r\n\r\n'],
    ['a TLS greeting', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00])],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown version', 'GET /v1/things HTTP/3.0\r\nHost: x\r\n\r\n'],
    ['a method with a space', 'G ET /v1/things HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'a length and chunks at once',
      'POST /v1/buy HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST /v1/buy HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd'],
    ['a negative length', 'POST /v1/buy HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    ['an unknown transfer coding', 'POST /v1/buy HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n'],
    ['a header without a name', 'GET /v1/things HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n'],
    ['a space before the colon', 'GET /v1/things HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['a NUL in a header', 'GET /v1/things HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n'],
    ['a query that is not ASCII', Buffer.from('GET /v1/things?a=\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['no Host', 'GET /v1/things HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('%s is 400 in our shape and ends the connection', async (_name, frame) => {
    const [answer, ...more] = answersIn(await sendFrame(pipeline.baseUrl, frame));
    expect(more).toEqual([]);
    expect(answer).toMatchObject({
      status: 400,
      body: {
        ...{ ok: false, error: 'INVALID_REQUEST', request_id: expect.any(String) },
        doc_url: '/docs/errors#INVALID_REQUEST',
      },
    });
    expect(answer?.head.toLowerCase()).toContain(`x-request-id: ${answer?.body.request_id}`);
    expect(answer?.head.toLowerCase()).toContain('connection: close');
  });

  test('a bad chunk ends the request it belongs to', async () => {
    const frame = request('/v1/buy', undefined, ['Content-Type: application/json', 'Transfer-Encoding: chunked']);
    expect(codesIn(await sendFrame(pipeline.baseUrl, `${frame.replace('GET', 'POST')}zz\r\n`))).toEqual([
      '400 INVALID_REQUEST',
    ]);
  });

  test('headers beyond 8 KiB are 431', async () => {
    const frame = `GET /v1/things HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(9000)}\r\n\r\n`;
    expect(codesIn(await sendFrame(pipeline.baseUrl, frame))).toEqual(['431 HEADERS_TOO_LARGE']);
    const path = `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: x\r\n\r\n`;
    expect(codesIn(await sendFrame(pipeline.baseUrl, path))).toEqual(['431 HEADERS_TOO_LARGE']);
  });

  test('slow headers and bodies are 408', async () => {
    expect(codesIn(await sendFrame(pipeline.baseUrl, 'GET /v1/things HTTP/1.1\r\nHost: x\r\n'))).toEqual([
      '408 REQUEST_TIMEOUT',
    ]);
    const frame = request('/v1/buy', BODY).replace(/Content-Length: \d+/, 'Content-Length: 100');
    expect(codesIn(await sendFrame(pipeline.baseUrl, frame))).toEqual(['408 REQUEST_TIMEOUT']);
  });

  test('CONNECT, an upgrade and an unusual expectation are requests like any other', async () => {
    expect(
      codesIn(await sendFrame(pipeline.baseUrl, 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n')),
    ).toEqual(['404 NOT_FOUND']);
    const upgrade = ['Connection: upgrade, close', 'Upgrade: h2c'];
    expect(codesIn(await sendFrame(pipeline.baseUrl, request('/v1/things', undefined, upgrade)))).toEqual(['200 OK']);
    const expecting = request('/v1/buy', BODY, [...CLOSE, 'Expect: miracles']);
    expect(codesIn(await sendFrame(pipeline.baseUrl, expecting))).toEqual(['200 OK']);
  });

  test('answers pipelined requests in order', async () => {
    const frame = request('/v1/slow', undefined) + request('/v1/buy', BODY) + request('/v1/none', undefined, CLOSE);
    const answers = answersIn(await sendFrame(pipeline.baseUrl, frame));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
    expect(answers[0]?.body).toEqual({ answered: true });
  });

  test('garbage behind a request in progress never becomes its answer', async () => {
    const answers = answersIn(await sendFrame(pipeline.baseUrl, `${request('/v1/slow', undefined)}garbage\r\n\r\n`));
    expect(answers.map(({ body }) => body)).toEqual([{ answered: true }]);
  });

  test('frames broken at random give no 5xx, no hang and nothing out of shape', async () => {
    const counts = await checkFrames(customer, 400, 20_260_101);
    expect(counts['200']).toBeGreaterThan(0);
    expect(counts['400']).toBeGreaterThan(0);
    expect(counts['401']).toBeGreaterThan(0);
  });

  test('answers random HMAC headers by the rules', async () => {
    const counts = await checkSignatures(customer, 1500, 20_260_101);
    expect(CODES_OF_HMAC.filter((code) => counts[code] === undefined)).toEqual([]);
  });

  test('finishes a request in progress when the service stops, and accepts no new one', async () => {
    const other = await openPipeline(testDatabase.url, { REDIS_URL: testRedis.url });
    const guest = await other.customer('stops');
    const server = new URL(other.baseUrl);
    const socket: Socket = connect(Number(server.port), server.hostname);
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
    const { Merchant, Signature } = guest.authHeaders('');
    socket.write(`GET /v1/slow HTTP/1.1\r\nHost: x\r\nMerchant: ${Merchant}\r\nSignature: ${Signature}\r\n\r\n`);
    await until(() => (other.logged().includes('reached slow') ? true : undefined), 5000, 'the request');
    // A kept-alive connection would keep the service open for longer than this.
    await limited(other.stop(), 4000, 'the stop');
    expect(answersIn(answer).map(({ status }) => status)).toEqual([200]);
    await expect(guest.get('/v1/things')).rejects.toThrow(/ECONNREFUSED/);
  });
});
