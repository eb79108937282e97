import { randomUUID } from 'node:crypto';
import { HTTP_STATUS, type ErrorCode } from '../../../src/domain/errors.js';
import { serverOf } from '../../../src/platform/http/pipeline/server.js';
import { until } from '../../../packages/local/src/wait.js';
import { answerIn, expectError } from '../../support/api/answers.js';
import { Customer, send, sendFrame, type Answer } from '../../support/api/client.js';
import { AUTHOR, openPipeline, type PipelineApp } from '../../support/api/pipeline-fixture.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

const BODY = { receive_address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', energy: 65_000 };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let testDatabase: TestDatabase;
let testRedis: TestRedis;
let pipeline: PipelineApp;
let customer: Customer;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  testRedis = await createTestRedis();
  pipeline = await openPipeline(testDatabase.url, { REDIS_URL: testRedis.url, BAD_SIGNATURES_PER_MINUTE: '100000' });
  customer = await pipeline.customer('pipeline');
});

afterAll(async () => {
  await pipeline.close();
  await testRedis.close();
  await testDatabase.drop();
});

/** Waits until the pipeline has received the announcement of a change. */
async function answers(caller: Customer, code: ErrorCode | undefined): Promise<void> {
  const arrived = async () => ((await caller.get('/v1/things')).body.error === code ? true : undefined);
  await until(arrived, 5000, `the answer ${code ?? 'of the handler'}`, 5);
}

describe('the answer to a valid request', () => {
  test('reaches the handler with the project, the body and the address', async () => {
    const answer = await customer.post('/v1/echo', { b: 1, a: 'x' });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ project: customer.merchant, source: '127.0.0.1', text: '{"a":"x","b":1}' });
  });

  test('has a request id, the caller’s own if it is valid', async () => {
    expect((await customer.get('/v1/things')).headers['x-request-id']).toMatch(UUID);
    const own = await customer.get('/v1/things', { 'X-Request-Id': 'mine_1-A' });
    expect(own.headers['x-request-id']).toBe('mine_1-A');
    for (const bad of ['a b', 'x'.repeat(129), '', 'ä', ['one', 'two']]) {
      const answer = await customer.get('/v1/things', { 'X-Request-Id': bad });
      expect(answer.headers['x-request-id']).toMatch(UUID);
    }
  });

  test('comes from messages with Express’s prototype from the start, because exchanging a prototype is slow', async () => {
    const born: { readonly message: object; readonly as: unknown }[] = [];
    serverOf(pipeline.app).prependOnceListener('request', (...messages: object[]) => {
      born.push(...messages.map((message) => ({ message, as: Object.getPrototypeOf(message) as unknown })));
    });
    expect((await customer.get('/v1/things')).status).toBe(200);
    expect(born.map(({ message }) => Reflect.has(message, 'app'))).toEqual([true, true]);
    expect(born.map(({ message, as }) => Object.getPrototypeOf(message) === as)).toEqual([true, true]);
  });

  test('says nothing of the software, allows no browser and is not to be stored', async () => {
    const { headers } = await customer.get('/v1/things', { Origin: 'https://example.com' });
    expect(headers['x-powered-by']).toBeUndefined();
    expect(headers['etag']).toBeUndefined();
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'strict-transport-security': expect.any(String),
    });
  });

  test('compares a merchant without regard to case, also in a signature', async () => {
    const loud = new Customer(pipeline.baseUrl, customer.merchant.toUpperCase(), customer.apiKey);
    expect((await loud.get('/v1/things')).body).toEqual({ project: customer.merchant });
    const Signature = customer.authHeaders('').Signature.toUpperCase();
    expectError(await customer.get('/v1/things', { Signature }), 'INVALID_SIGNATURE');
  });

  test('permuted and pretty-printed bodies verify, and a query string on a POST means nothing', async () => {
    const pretty = JSON.stringify({ energy: 1000, receive_address: 'x' }, undefined, 2);
    const sorted = '{"energy":1000,"receive_address":"x"}';
    expect((await customer.postSigned('/v1/buy?a=1&b[c]=2', pretty, sorted)).status).toBe(200);
    expect((await customer.postSigned('/v1/buy', '{"receive_address":"x","energy":1000}', sorted)).status).toBe(200);
  });
});

describe('routes', () => {
  test.each([
    '/',
    '/v1',
    '/v1/things/',
    '/V1/things',
    '/v1/Things',
    '//v1/things',
    '/v1/thing%73',
    '/v1/things/a/b',
    '/v1/things/%zz',
    '/v1/things/%ff',
    '/favicon.ico',
  ])('an unknown path is 404, signed or not: %s', async (path) => {
    expectError(await customer.get(path), 'NOT_FOUND');
    expectError(await send(pipeline.baseUrl, 'POST', path), 'NOT_FOUND');
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])(
    'a known path with %s is 405 with the allowed methods',
    async (method) => {
      const answer = await send(pipeline.baseUrl, method, '/v1/things');
      expectError(answer, 'METHOD_NOT_ALLOWED');
      expect(answer.headers['allow']).toBe('GET');
    },
  );

  test('HEAD is 405 like any other method', async () => {
    const answer = await send(pipeline.baseUrl, 'HEAD', '/v1/things');
    expect([answer.status, answer.headers['allow'], answer.text]).toEqual([405, 'GET', '']);
    const post = await send(pipeline.baseUrl, 'GET', '/v1/echo');
    expect([post.status, post.headers['allow']]).toEqual([405, 'POST']);
  });

  test('decodes a percent-encoded key in a path, and a plus stays a plus', async () => {
    expect((await customer.get('/v1/things/a%20b%2Fc+d%25')).body).toEqual({ key: 'a b/c+d%' });
  });

  test('understands the absolute form of a request target', async () => {
    const { Merchant, Signature } = customer.authHeaders('');
    const raw = await sendFrame(
      pipeline.baseUrl,
      `GET http://any.example/v1/things HTTP/1.1\r\nHost: any.example\r\nMerchant: ${Merchant}\r\nSignature: ${Signature}\r\nConnection: close\r\n\r\n`,
    );
    expect(answerIn(raw).status).toBe(200);
  });
});

describe('the auth headers', () => {
  test.each([
    ['both are missing', {}],
    ['Signature is missing', { Merchant: randomUUID() }],
    ['Merchant is missing', { Signature: '0'.repeat(32) }],
    ['Merchant is empty', { Merchant: '', Signature: '0'.repeat(32) }],
    ['Signature is empty', { Merchant: randomUUID(), Signature: '  ' }],
    ['Merchant is repeated', { Merchant: [randomUUID(), randomUUID()], Signature: '0'.repeat(32) }],
    ['Signature is repeated', { Merchant: randomUUID(), Signature: ['0'.repeat(32), '0'.repeat(32)] }],
  ])('%s: 400, whatever the body', async (_name, headers) => {
    expectError(await send(pipeline.baseUrl, 'GET', '/v1/things', headers), 'BAD_AUTH_HEADERS');
    expectError(await send(pipeline.baseUrl, 'POST', '/v1/echo', headers, 'x'.repeat(20_000)), 'BAD_AUTH_HEADERS');
  });

  test('unknown projects, malformed merchants and wrong signatures get the same answer', async () => {
    const wrong = customer.withKey('wrong');
    const answers = [
      await wrong.get('/v1/things'),
      await new Customer(pipeline.baseUrl, randomUUID(), customer.apiKey).get('/v1/things'),
      await new Customer(pipeline.baseUrl, 'no-uuid', customer.apiKey).get('/v1/things'),
      await customer.get('/v1/things', { Signature: 'zz' }),
      await customer.get('/v1/things', { Signature: `${customer.authHeaders('').Signature}0` }),
      await wrong.post('/v1/limited', BODY),
    ];
    for (const answer of answers) expectError(answer, 'INVALID_SIGNATURE');
    const shapes = answers.map(({ body, headers }) => {
      const names = Object.keys(headers).sort();
      return JSON.stringify([{ ...body, request_id: '' }, names, headers['content-length']]);
    });
    expect(new Set(shapes).size).toBe(1);
  });

  test('a signature of nothing opens no POST', async () => {
    expectError(await customer.postSigned('/v1/echo', '{}', ''), 'INVALID_SIGNATURE');
    expectError(await send(pipeline.baseUrl, 'POST', '/v1/echo', customer.authHeaders('')), 'INVALID_REQUEST');
  });
});

describe('the body', () => {
  const padded = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`;

  test('judges its size first, then type, form and signature', async () => {
    const tooLarge = padded(16 * 1024 + 1);
    const wrong = customer.withKey('wrong');
    expectError(await wrong.post('/v1/buy', tooLarge, { 'Content-Type': 'text/plain' }), 'PAYLOAD_TOO_LARGE');
    expectError(await wrong.post('/v1/buy', '{', { 'Content-Type': 'text/plain' }), 'UNSUPPORTED_MEDIA_TYPE');
    expectError(await wrong.post('/v1/buy', '{'), 'INVALID_REQUEST');
    expectError(await wrong.post('/v1/buy', '{}'), 'INVALID_SIGNATURE');
  });

  test('accepts 16 KiB and not one byte more, and 128 KiB where the route says so', async () => {
    expectError(await customer.post('/v1/buy', padded(16 * 1024)), 'INVALID_REQUEST');
    expectError(await customer.post('/v1/buy', padded(16 * 1024 + 1)), 'PAYLOAD_TOO_LARGE');
    expect((await customer.post('/v1/echo', padded(128 * 1024))).status).toBe(200);
    expectError(await customer.post('/v1/echo', padded(128 * 1024 + 1)), 'PAYLOAD_TOO_LARGE');
  });

  test('limits a chunked body as it arrives', async () => {
    const chunked = { 'Transfer-Encoding': 'chunked' };
    expectError(await customer.post('/v1/buy', padded(40_000), chunked), 'PAYLOAD_TOO_LARGE');
    expect((await customer.post('/v1/buy', BODY, chunked)).status).toBe(200);
    expectError(await customer.post('/v1/buy', '', chunked), 'INVALID_REQUEST');
  });

  test('refuses a body of many megabytes without reading it', async () => {
    const raw = await sendFrame(
      pipeline.baseUrl,
      `POST /v1/buy HTTP/1.1\r\nHost: x\r\nMerchant: a\r\nSignature: b\r\nContent-Length: 900000000\r\n\r\n{`,
    );
    expectError(answerIn(raw), 'PAYLOAD_TOO_LARGE');
  });

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; foo=bar',
  ])('accepts %s', async (type) => {
    expect((await customer.post('/v1/buy', BODY, { 'Content-Type': type })).status).toBe(200);
  });

  test.each([
    '',
    'text/plain',
    'application/jsonp',
    'application/json; charset=latin1',
    'application/x-www-form-urlencoded',
    'application/problem+json',
    ['application/json', 'application/json'],
  ])('%s is 415', async (type) => {
    expectError(await customer.post('/v1/buy', BODY, { 'Content-Type': type }), 'UNSUPPORTED_MEDIA_TYPE');
  });

  test('no type at all is 415, and so is any encoding', async () => {
    const headers = customer.authHeaders('{}');
    expectError(await send(pipeline.baseUrl, 'POST', '/v1/buy', headers, '{}'), 'UNSUPPORTED_MEDIA_TYPE');
    for (const encoding of ['gzip', 'br', 'identity']) {
      expectError(await customer.post('/v1/buy', BODY, { 'Content-Encoding': encoding }), 'UNSUPPORTED_MEDIA_TYPE');
    }
  });

  test('a POST without one is 400, and so is a GET with one', async () => {
    expectError(await send(pipeline.baseUrl, 'POST', '/v1/buy', customer.authHeaders('')), 'INVALID_REQUEST');
    const withBody = { ...customer.authHeaders('{}'), 'Content-Length': '2' };
    expectError(await send(pipeline.baseUrl, 'GET', '/v1/things', withBody, '{}'), 'INVALID_REQUEST');
    const empty = { ...customer.authHeaders(''), 'Content-Length': '0' };
    expect((await send(pipeline.baseUrl, 'GET', '/v1/things', empty)).status).toBe(200);
  });

  test('an unreadable one gets the reason, in the same shape', async () => {
    const answer = await customer.post('/v1/buy', '{"energy":1,"energy":2}');
    expectError(answer, 'INVALID_REQUEST');
    expect(answer.body.details).toEqual([{ field: 'body', msg: 'The body names a key twice in one object.' }]);
    expectError(await customer.postSigned('/v1/buy', Buffer.from([0xff, 0xfe]), ''), 'INVALID_REQUEST');
  });

  test('a caller who disconnects in the middle takes nothing from others', async () => {
    const frame = `POST /v1/buy HTTP/1.1\r\nHost: x\r\nMerchant: a\r\nSignature: b\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
    await expect(sendFrame(pipeline.baseUrl, frame, { limitMs: 200 })).rejects.toThrow('stayed open');
    expect((await customer.post('/v1/buy', BODY)).status).toBe(200);
  });
});

describe('the fields', () => {
  test('names every fault', async () => {
    const answer = await customer.post('/v1/buy', { energy: '65000', id: 1, __x: null });
    expectError(answer, 'INVALID_REQUEST');
    expect(answer.body.details).toEqual([
      { field: '__x', msg: 'is not a member of this request' },
      { field: 'energy', msg: 'must be an integer from 1000 to 100000000, without quotes' },
      { field: 'id', msg: 'is not a member of this request' },
      { field: 'receive_address', msg: 'is required' },
    ]);
  });

  test('refuses null for an optional number and for a required member', async () => {
    expectError(await customer.post('/v1/buy', { ...BODY, energy: null }), 'INVALID_REQUEST');
    expectError(await customer.post('/v1/buy', { receive_address: null }), 'INVALID_REQUEST');
  });

  test.each([
    ['once', { 'Idempotency-Key': 'order 1' }, { key: 'order 1', waitSec: 0 }],
    ['with 255 characters', { 'Idempotency-Key': 'k'.repeat(255) }, { key: 'k'.repeat(255) }],
    ['with a preference', { 'Idempotency-Key': 'k', Prefer: 'respond-async, wait=7' }, { key: 'k', waitSec: 7 }],
  ])('reads an Idempotency-Key %s', async (_name, headers, expected) => {
    expect((await customer.post('/v1/buy', BODY, headers)).body).toMatchObject(expected);
  });

  const NO_PATH_PART = ['.', '..'];
  const KEYS_OF_THE_SERVICE = ['ext_1', 'nonce_1', 'auto_1_1'];
  const MALFORMED = ['', 'k'.repeat(256), 'schlüssel', 'a\tb', ['a', 'a'], ['a', 'b']];
  test.each([...MALFORMED, ...NO_PATH_PART, ...KEYS_OF_THE_SERVICE].map((key) => [key] as const))(
    'refuses the Idempotency-Key %j',
    async (key) => {
      const answer = await customer.post('/v1/buy', BODY, { 'Idempotency-Key': key });
      expectError(answer, 'INVALID_REQUEST');
      expect(answer.body.details[0].field).toBe('Idempotency-Key');
    },
  );
});

describe('the shared budget of quotes, simulations and explanations', () => {
  test('is one for both, counts valid signatures only, and every answer shows the rest', async () => {
    const busy = await pipeline.customer('busy');
    for (let index = 0; index < 5; index += 1) {
      expectError(await busy.withKey('wrong').post('/v1/limited', BODY), 'INVALID_SIGNATURE');
    }
    const first = await busy.post('/v1/limited', BODY);
    expect(first.headers).toMatchObject({
      'ratelimit-limit': '120',
      'ratelimit-remaining': '119',
      'ratelimit-reset': '60',
    });
    // A refusal after the budget check counts and reports the budget too.
    const refused = await busy.post('/v1/limited', {});
    expectError(refused, 'INVALID_REQUEST');
    expect(refused.headers['ratelimit-remaining']).toBe('118');

    const paths = Array.from({ length: 140 }, (_, index) => (index % 2 === 0 ? '/v1/limited' : '/v1/also-limited'));
    // In batches: a process whose Redis answers too slowly counts on its own.
    const answers: Answer[] = [];
    while (answers.length < paths.length) {
      const some = paths.slice(answers.length, answers.length + 10);
      answers.push(...(await Promise.all(some.map((path) => busy.post(path, BODY)))));
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(118);
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(22);
    for (const answer of limited) {
      expectError(answer, 'RATE_LIMITED');
      expect(answer.body.msg).toBe('Quotes, simulations and explanations are limited to 120 per minute.');
      expect(answer.headers['ratelimit-remaining']).toBe('0');
      expect(answer.headers['retry-after']).toBe(answer.headers['ratelimit-reset']);
    }
    expect((await customer.post('/v1/limited', BODY)).status).toBe(200);
  });

  test('orders have no budget: 200 concurrent ones are all answered', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => customer.post('/v1/buy', BODY)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(answers[0]?.headers['ratelimit-limit']).toBeUndefined();
  });
});

describe('the options of a project', () => {
  test('a project that requires an Idempotency-Key refuses a purchase without one', async () => {
    const strict = await pipeline.customer('strict');
    await pipeline.projects.change(strict.merchant, { requireIdempotencyKey: true }, AUTHOR);
    expectError(await strict.post('/v1/buy', BODY), 'IDEMPOTENCY_KEY_REQUIRED');
    expect((await strict.post('/v1/buy', BODY, { 'Idempotency-Key': 'k' })).status).toBe(200);
  });

  test('a project with allowed sources is refused from any other, after its signature and its freezing were judged', async () => {
    const fenced = await pipeline.customer('fenced');
    await pipeline.projects.change(fenced.merchant, { allowedSources: ['10.0.0.0/8', '2001:db8::/32'] }, AUTHOR);
    expectError(await fenced.get('/v1/things'), 'SOURCE_NOT_ALLOWED');
    expectError(await fenced.withKey('wrong').get('/v1/things'), 'INVALID_SIGNATURE');
    // The caller is no trusted proxy, so its header is ignored.
    expectError(await fenced.get('/v1/things', { 'X-Forwarded-For': '10.1.2.3' }), 'SOURCE_NOT_ALLOWED');
    await pipeline.ledger.setFrozen(fenced.merchant, true, AUTHOR);
    await answers(fenced, 'PROJECT_FROZEN');
    await pipeline.ledger.setFrozen(fenced.merchant, false, AUTHOR);
    await pipeline.projects.change(fenced.merchant, { allowedSources: ['127.0.0.0/8'] }, AUTHOR);
    await answers(fenced, undefined);
  });
});

describe('the error table', () => {
  test.each(Object.keys(HTTP_STATUS) as ErrorCode[])(
    'answers %s with its status, in the common shape',
    async (code) => {
      const answer = await customer.get(`/v1/fail/${code}`);
      expectError(answer, code);
      expect(answer.body.msg).toBe('A sentence to act on.');
      expect(answer.text).not.toContain('inside');
    },
  );
});

describe('internal errors', () => {
  test('show the caller nothing, and the log everything except secrets', async () => {
    const answer = await customer.get('/v1/broken');
    expectError(answer, 'INTERNAL_ERROR');
    expect(answer.text).not.toMatch(/postgres|hunter2|nobody/);
    expect(pipeline.logged()).toContain(answer.headers['x-request-id']);
    expect(pipeline.logged()).not.toContain('hunter2');
  });

  test('put no key, signature or body into the log', () => {
    const { Signature } = customer.authHeaders('');
    const log = pipeline.logged();
    for (const secret of [
      customer.apiKey,
      Signature,
      BODY.receive_address,
      ...[...pipeline.config.secrets.sealKeys.values()].map(({ current }) => current.toString('base64')),
    ]) {
      expect(log).not.toContain(secret);
    }
    expect(log).toContain('"route":"/v1/things/:key"');
  });
});
