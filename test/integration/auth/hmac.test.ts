// HMAC requests in the pipeline: order of the checks, signed parts, and single acceptance through every Redis failure.
// The answers to MD5 are in pipeline.test.ts.
import { randomBytes, randomUUID } from 'node:crypto';
import { expectError } from '../../support/api/answers.js';
import { Customer, HmacCustomer, hmacHeaders, send, type Answer, type HmacRequest } from '../../support/api/client.js';
import { AUTHOR, openPipeline, type PipelineApp } from '../../support/api/pipeline-fixture.js';
import { openProxy, type Proxy } from '../../support/database/proxy.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { servedUrl } from '../../setup/pooler.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import { Redis } from 'ioredis';
import { until } from '../../../packages/local/src/wait.js';

let testDatabase: TestDatabase;
let testRedis: TestRedis;
let redisProxy: Proxy;
let pipeline: PipelineApp;
/** The same service, with a Redis and a Postgres that can go away. */
let other: PipelineApp;
let postgresProxy: Proxy;
let redis: Redis;
let customer: HmacCustomer;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  testRedis = await createTestRedis();
  redisProxy = await openProxy(testRedis.url);
  postgresProxy = await openProxy(servedUrl(testDatabase.url));
  redis = new Redis(testRedis.url);
  const env = { REDIS_PREFIX: 'hmac', RATE_LIMIT_PER_MINUTE: '1000000', BAD_SIGNATURES_PER_MINUTE: '1000000' };
  pipeline = await openPipeline(testDatabase.url, { ...env, REDIS_URL: testRedis.url });
  other = await openPipeline(postgresProxy.url, { ...env, REDIS_URL: redisProxy.url });
  const { merchant, apiKey } = await pipeline.customer('hmac');
  customer = new HmacCustomer(pipeline.baseUrl, merchant, apiKey);
  await settled();
  await reached(other);
});

afterAll(async () => {
  redis.disconnect();
  await other.close();
  await pipeline.close();
  await postgresProxy.close();
  await redisProxy.close();
  await testRedis.close();
  await testDatabase.drop();
});

const now = (): number => Math.floor(Date.now() / 1000);
const codeOf = (answer: Answer): string => (answer.status === 200 ? 'OK' : (answer.body.error as string));

/** Waits until a request signed now is accepted after Redis lost its nonces. */
async function settled(baseUrl = pipeline.baseUrl): Promise<void> {
  await until(
    async () => {
      const answer = await ask({ method: 'GET', path: '/v1/things' }, {}, baseUrl);
      return answer.status === 200 ? true : undefined;
    },
    10_000,
    'a request signed after the nonces were lost',
  );
}

/** Waits until `app` stores its nonces in Redis again. */
async function reached(app: PipelineApp): Promise<void> {
  const fallbacks = async (): Promise<string> =>
    (await app.metrics()).split('\n').find((line) => line.startsWith('nonce_fallback_total ')) ?? '';
  await until(
    async () => {
      const count = await fallbacks();
      await ask(GET, {}, app.baseUrl);
      return count === (await fallbacks()) ? true : undefined;
    },
    10_000,
    'Redis to be reached',
  );
}

/** Sends `request` as signed. `headers` replace or add headers; null removes one. */
async function ask(
  request: HmacRequest,
  headers: Readonly<Record<string, string | readonly string[] | null>> = {},
  baseUrl = pipeline.baseUrl,
): Promise<Answer> {
  const signed = hmacHeaders(customer.merchant, customer.apiKey, request);
  const all: Record<string, string | readonly string[] | null> = {
    ...signed,
    ...(request.idempotencyKey !== undefined && { 'Idempotency-Key': request.idempotencyKey }),
    ...(request.body !== undefined && { 'Content-Type': 'application/json' }),
    ...headers,
  };
  const sent: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(all)) if (value !== null) sent[name] = value;
  return send(baseUrl, request.method, request.path, sent, request.body);
}

const GET = { method: 'GET', path: '/v1/things' } as const;
const POST = { method: 'POST', path: '/v1/buy', body: '{"receive_address":"T"}' } as const;

describe('a request signed by HMAC', () => {
  test.each<readonly [string, HmacRequest]>([
    ['a GET', GET],
    ['a GET with a query', { ...GET, path: '/v1/things?a=%2F&b=c+d' }],
    ['a GET of a percent-encoded path', { ...GET, path: '/v1/things/a%2Fb%20%C3%A9' }],
    ['a POST', POST],
    ['a POST with spaces and line breaks in its body', { ...POST, body: ' {\n"receive_address" : "T" }\r\n' }],
    ['a POST with its keys in any order', { ...POST, body: '{"receive_address":"T","energy":65000}' }],
    ['a POST with an Idempotency-Key', { ...POST, idempotencyKey: 'order 17' }],
    ['a POST with a query', { ...POST, path: '/v1/buy?a=1' }],
    ['a timestamp 300 s ago, or nearly', { ...GET, timestamp: now() + 290 }],
    ['a nonce of 64 characters', { ...GET, nonce: randomBytes(32).toString('hex') }],
  ])('is accepted: %s', async (_what, request) => {
    expect(codeOf(await ask(request))).toBe('OK');
  });

  test('ignores a Signature beside it, and reads the Merchant in any case', async () => {
    expect(codeOf(await ask(GET, { Signature: 'whatever' }))).toBe('OK');
    const upper = new HmacCustomer(pipeline.baseUrl, customer.merchant.toUpperCase(), customer.apiKey);
    expect(codeOf(await upper.get('/v1/things'))).toBe('OK');
  });

  test.each<readonly [string, HmacRequest, Readonly<Record<string, string | readonly string[] | null>>]>([
    ['no nonce', GET, { 'X-CC-Nonce': null }],
    ['no timestamp', GET, { 'X-CC-Timestamp': null }],
    ['no signature but one by MD5', GET, { 'X-CC-Signature': null, Signature: 'a'.repeat(32) }],
    ['no merchant', GET, { Merchant: null }],
    ['a repeated nonce', GET, { 'X-CC-Nonce': ['0123456789abcdef', '0123456789abcdef'] }],
    ['a repeated Idempotency-Key', POST, { 'Idempotency-Key': ['a', 'a'] }],
    ['another content type', POST, { 'Content-Type': 'text/plain' }],
    ['no content type', POST, { 'Content-Type': null }],
    ['a broken content type', POST, { 'Content-Type': 'application/json; charset=' }],
    ['a path of two lines', { ...GET, path: '/v1/things/a%0Ab' }, {}],
  ])('is refused for its headers: %s', async (_what, request, headers) => {
    expectError(await ask(request, headers), 'BAD_AUTH_HEADERS');
  });

  test.each<readonly [string, HmacRequest, HmacRequest]>([
    ['path', GET, { ...GET, path: '/v1/things/one' }],
    ['query', GET, { ...GET, path: '/v1/things?a=1' }],
    ['body', POST, { ...POST, body: '{"receive_address":"U"}' }],
    [
      'an encoded path that was signed encoded',
      { ...GET, path: '/v1/things/a%252Fb' },
      { ...GET, path: '/v1/things/a%2Fb' },
    ],
  ])('is refused with the signature of another %s', async (_what, signed, sent) => {
    const headers = hmacHeaders(customer.merchant, customer.apiKey, signed);
    expectError(await ask(sent, headers), 'INVALID_SIGNATURE');
  });

  test('is refused with causes of its own scheme, which sorts no keys', async () => {
    const headers = hmacHeaders(customer.merchant, 'another key', POST);
    const { body } = await ask(POST, headers);
    expect(body.msg).toMatch(/X-CC-Signature.*serialised again/);
    expect(body.msg).not.toMatch(/sorted/);
  });

  test('is refused with another Idempotency-Key than it signed, or with an unsigned one', async () => {
    const signed = hmacHeaders(customer.merchant, customer.apiKey, { ...POST, idempotencyKey: 'a' });
    expectError(await ask(POST, { ...signed, 'Idempotency-Key': 'b' }), 'INVALID_SIGNATURE');
    expectError(await ask(POST, { 'Idempotency-Key': 'b' }), 'INVALID_SIGNATURE');
  });

  test('is checked in the order headers, size, timestamp, signature, nonce, form, rate', async () => {
    const nonce = randomBytes(16).toString('hex');
    const tooLarge = { ...POST, body: `{"a":"${'b'.repeat(20_000)}"}`, timestamp: 1 };
    expectError(await ask(tooLarge, { 'Content-Type': 'text/plain' }), 'BAD_AUTH_HEADERS');
    expectError(await ask(tooLarge, { 'X-CC-Signature': `v1=${'0'.repeat(64)}` }), 'PAYLOAD_TOO_LARGE');
    const late = { ...POST, body: 'no json', timestamp: 1, nonce };
    const refused = await ask(late, { 'X-CC-Signature': `v1=${'0'.repeat(64)}` });
    expectError(refused, 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE');
    expect(Math.abs(Number(refused.body.server_time) - now())).toBeLessThanOrEqual(2);
    const unreadable = { ...POST, body: 'no json', nonce };
    expectError(await ask(unreadable, { 'X-CC-Signature': `v1=${'0'.repeat(64)}` }), 'INVALID_SIGNATURE');
    // A wrong signature does not use up its nonce.
    expectError(await ask(unreadable), 'INVALID_REQUEST');
    expectError(await ask(unreadable), 'SIGNATURE_REPLAYED');
  });

  test.each([301, -301])('is refused %i s from our clock, with the time to sign again', async (seconds) => {
    // Two seconds of margin, because the clock advances between client and service.
    const answer = await ask({ ...GET, timestamp: now() - seconds + Math.sign(-seconds) * 2 });
    expectError(answer, 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE');
    expect(codeOf(await ask({ ...GET, timestamp: Number(answer.body.server_time) }))).toBe('OK');
  });

  test('signs an empty POST, which the reader then refuses as a POST without a body', async () => {
    expectError(await ask({ method: 'POST', path: '/v1/buy' }), 'INVALID_REQUEST');
    expectError(await ask({ ...GET, body: '{}' }, { 'Content-Length': '2' }), 'INVALID_REQUEST');
    expectError(await ask(POST, { 'Content-Encoding': 'gzip' }), 'UNSUPPORTED_MEDIA_TYPE');
  });

  test('needs no Content-Type for a chunked body that is empty, and one for any other', async () => {
    const chunks = { 'Transfer-Encoding': 'chunked', 'Content-Type': null };
    expect(codeOf(await ask(GET, chunks))).toBe('OK');
    expectError(await ask({ method: 'POST', path: '/v1/buy' }, chunks), 'INVALID_REQUEST');
    expectError(await ask(POST, chunks), 'BAD_AUTH_HEADERS');
  });

  test('gets the same answer for an unknown project, an invalid Merchant, and a wrong key', async () => {
    for (const wrong of [
      new HmacCustomer(pipeline.baseUrl, randomUUID(), customer.apiKey),
      new HmacCustomer(pipeline.baseUrl, 'nobody', customer.apiKey),
      customer.withKey('wrong'),
    ]) {
      expectError(await wrong.get('/v1/things'), 'INVALID_SIGNATURE');
    }
  });

  test('of a frozen project is refused after its nonce was used', async () => {
    const frozen = await pipeline.customer('frozen');
    const signed = hmacHeaders(frozen.merchant, frozen.apiKey, GET);
    await pipeline.ledger.setFrozen(frozen.merchant, true, AUTHOR);
    const codes = [
      await send(pipeline.baseUrl, 'GET', GET.path, signed),
      await send(pipeline.baseUrl, 'GET', GET.path, signed),
    ];
    expect(codes.map(codeOf)).toEqual(['PROJECT_FROZEN', 'SIGNATURE_REPLAYED']);
  });
});

describe('a captured request', () => {
  test('is refused in every process, and uses no rate budget', async () => {
    const { merchant, apiKey } = await pipeline.customer('captured');
    const limited = { method: 'POST', path: '/v1/limited', body: '{"receive_address":"T"}' };
    const headers = { ...hmacHeaders(merchant, apiKey, limited), 'Content-Type': 'application/json' };
    const first = await send(pipeline.baseUrl, 'POST', limited.path, headers, limited.body);
    expect(codeOf(first)).toBe('OK');
    for (const { baseUrl } of [pipeline, other]) {
      expectError(await send(baseUrl, 'POST', limited.path, headers, limited.body), 'SIGNATURE_REPLAYED');
    }
    const next = await new HmacCustomer(pipeline.baseUrl, merchant, apiKey).post(limited.path, {
      receive_address: 'T',
    });
    expect(Number(first.headers['ratelimit-remaining']) - Number(next.headers['ratelimit-remaining'])).toBe(1);
  });

  test('succeeds exactly once among 20 concurrent ones', async () => {
    const nonce = randomBytes(16).toString('hex');
    const request = { ...GET, nonce, timestamp: now() };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(request, {}, index % 2 === 0 ? pipeline.baseUrl : other.baseUrl)),
    );
    const codes = answers.map(codeOf);
    expect(codes.filter((code) => code === 'OK')).toHaveLength(1);
    expect(codes.filter((code) => code === 'SIGNATURE_REPLAYED')).toHaveLength(19);
  });

  test('stays refused after Redis was emptied, and a newly signed one is accepted', async () => {
    const request = { ...GET, nonce: randomBytes(16).toString('hex'), timestamp: now() };
    expect(codeOf(await ask(request))).toBe('OK');
    await redis.flushdb();
    const answer = await ask(request);
    expectError(answer, 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE');
    // Signed with that time, the request is accepted immediately by every process.
    for (const { baseUrl } of [pipeline, other]) {
      expect(codeOf(await ask({ ...GET, timestamp: Number(answer.body.server_time) }, {}, baseUrl))).toBe('OK');
    }
    await settled();
  });

  test('stays refused while Redis is away and when it is back, whichever store had its nonce', async () => {
    const before = { ...GET, nonce: randomBytes(16).toString('hex'), timestamp: now() };
    expect(codeOf(await ask(before, {}, other.baseUrl))).toBe('OK');
    redisProxy.cut();
    expectError(await ask(before, {}, other.baseUrl), 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE');
    await settled(other.baseUrl);
    const during = { ...GET, nonce: randomBytes(16).toString('hex'), timestamp: now() };
    expect(codeOf(await ask(during, {}, other.baseUrl))).toBe('OK');
    expectError(await ask(during, {}, other.baseUrl), 'SIGNATURE_REPLAYED');
    redisProxy.mend();
    await reached(other);
    expectError(await ask(during, {}, other.baseUrl), 'SIGNATURE_REPLAYED');
  });

  test('is kept to the end of the last second in which its timestamp is accepted, by either store', async () => {
    const ahead = { ...GET, nonce: randomBytes(16).toString('hex'), timestamp: now() + 300 };
    const endMs = (ahead.timestamp + 301) * 1000;
    expect(codeOf(await ask(ahead))).toBe('OK');
    const [key = ''] = await redis.keys(`*${ahead.nonce}`);
    expect((await redis.pttl(key)) + Date.now()).toBeGreaterThanOrEqual(endMs);
    redisProxy.cut();
    const kept = { ...ahead, nonce: randomBytes(16).toString('hex') };
    expect(codeOf(await ask(kept, {}, other.baseUrl))).toBe('OK');
    redisProxy.mend();
    await reached(other);
    const rows = await pipeline.database.query<{ ms: number }>(
      `SELECT extract(epoch FROM expires_at)::float8 * 1000 AS ms FROM request_nonce WHERE nonce = $1`,
      [kept.nonce],
    );
    expect(rows[0]?.ms).toBeGreaterThanOrEqual(endMs);
  });

  test('signed since Redis first failed is accepted immediately when it fails again, and not a second time', async () => {
    redisProxy.cut();
    await settled(other.baseUrl);
    redisProxy.mend();
    await reached(other);
    const between = { ...GET, nonce: randomBytes(16).toString('hex'), timestamp: now() };
    expect(codeOf(await ask(between, {}, other.baseUrl))).toBe('OK');
    redisProxy.cut();
    try {
      expect(codeOf(await ask({ ...GET, timestamp: now() }, {}, other.baseUrl))).toBe('OK');
      expectError(await ask(between, {}, other.baseUrl), 'SIGNATURE_REPLAYED');
    } finally {
      redisProxy.mend();
    }
    await reached(other);
  });

  test('is neither accepted nor refused while neither store can be asked', async () => {
    expect(codeOf(await ask(GET, {}, other.baseUrl))).toBe('OK');
    redisProxy.cut();
    postgresProxy.cut();
    try {
      expectError(await ask(GET, {}, other.baseUrl), 'AUTH_UNAVAILABLE');
    } finally {
      redisProxy.mend();
      postgresProxy.mend();
    }
    await settled(other.baseUrl);
    await reached(other);
  });
});

describe('the accepted signatures of a project', () => {
  const sides = async (schemes: 'md5' | 'hmac' | 'either') => {
    const { merchant, apiKey } = await pipeline.customer(schemes);
    await pipeline.projects.change(merchant, { signatureSchemes: schemes }, AUTHOR);
    return {
      md5: new Customer(pipeline.baseUrl, merchant, apiKey),
      hmac: new HmacCustomer(pipeline.baseUrl, merchant, apiKey),
    };
  };

  test.each([
    ['md5', 'OK', 'INVALID_SIGNATURE', 'HMAC_REQUIRED', 'INVALID_SIGNATURE'],
    ['hmac', 'HMAC_REQUIRED', 'OK', 'HMAC_REQUIRED', 'OK'],
    ['either', 'OK', 'OK', 'HMAC_REQUIRED', 'OK'],
  ] as const)(
    '%s: MD5 is answered %s and HMAC %s; on a new route %s and %s',
    async (schemes, md5, hmac, md5New, hmacNew) => {
      const by = await sides(schemes);
      expect([codeOf(await by.md5.get('/v1/things')), codeOf(await by.hmac.get('/v1/things'))]).toEqual([md5, hmac]);
      expect([codeOf(await by.md5.post('/v1/plain', {})), codeOf(await by.hmac.post('/v1/plain', {}))]).toEqual([
        md5New,
        hmacNew,
      ]);
      // Without a valid signature the answer reveals nothing about the route.
      expect(codeOf(await by.md5.withKey('wrong').post('/v1/plain', {}))).toBe('INVALID_SIGNATURE');
    },
  );
});

test.each(['ext_1', 'nonce_1', 'auto_1'])('refuses the Idempotency-Key %s from callers', async (key) => {
  expectError(await ask({ ...POST, idempotencyKey: key }), 'INVALID_REQUEST');
  const md5 = new Customer(pipeline.baseUrl, customer.merchant, customer.apiKey);
  expectError(await md5.post('/v1/buy', { receive_address: 'T' }, { 'Idempotency-Key': key }), 'INVALID_REQUEST');
});
