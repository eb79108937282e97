// The request log: a project's record of its refused requests. A flood of them neither writes without bound nor slows
// an answer, and no caller learns more from it.
import { randomUUID } from 'node:crypto';
import { credits } from '../../../src/domain/units.js';
import type { ErrorCode } from '../../../src/domain/errors.js';
import { Pruning } from '../../../src/modules/fulfilment/loop/pruning.js';
import { RequestLog } from '../../../src/modules/auth/request-log.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { until } from '../../../packages/local/src/wait.js';
import { expectError } from '../../support/api/answers.js';
import { Customer, HmacCustomer, hmacHeaders, send, type Answer, type HmacRequest } from '../../support/api/client.js';
import { AUTHOR, makeCustomer, openApi } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';
import { openProxy } from '../../support/database/proxy.js';
import { apiKeysOn } from '../../support/api/services.js';

let fixture: OrderFixture;

beforeAll(async () => {
  fixture = await openOrderFixture({ BAD_SIGNATURES_PER_MINUTE: '1000000' });
  const { merchant, apiKey } = await makeCustomer(fixture.api);
  const GET = { method: 'GET', path: '/v1/balance' };
  // Waits until a request signed now is accepted by the new Redis.
  const isTaken = async (): Promise<true | undefined> => {
    const { status } = await send(fixture.api.baseUrl, GET.method, GET.path, hmacHeaders(merchant, apiKey, GET));
    return status === 200 ? true : undefined;
  };
  await until(isTaken, 10_000, 'a request signed after Redis began');
});

afterAll(async () => {
  await fixture.close();
});

interface Item {
  readonly error: string;
  readonly reason: string;
  readonly request_id: string;
  readonly omitted?: number;
}

async function project(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(fixture.api);
  const customer = new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
  expect((await customer.get('/v1/balance')).status).toBe(200);
  return customer;
}

async function logOf(customer: HmacCustomer, query = ''): Promise<Item[]> {
  const answer = await customer.get(`/v1/requests${query}`);
  expect(answer.status).toBe(200);
  return answer.body.items as Item[];
}

/** Waits until the log has `count` entries and returns it. */
const logged = async (customer: HmacCustomer, count: number): Promise<Item[]> =>
  until(
    async () => {
      const items = await logOf(customer, '?limit=100');
      return items.length >= count ? items : undefined;
    },
    10_000,
    `${count.toString()} entries of the request log`,
  );

const metric = async (name: string): Promise<number> => {
  const text = await fixture.api.app.get(Metrics).registry.metrics();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1] ?? 0,
  );
};

/** Sends `sent` with the signature of `signed`. */
async function sendAs(customer: Customer, signed: HmacRequest, sent: HmacRequest): Promise<void> {
  const headers = hmacHeaders(customer.merchant, customer.apiKey, signed);
  const json = sent.body === undefined ? {} : { 'Content-Type': 'application/json' };
  expectError(
    await send(fixture.api.baseUrl, sent.method, sent.path, { ...headers, ...json }, sent.body),
    'INVALID_SIGNATURE',
  );
}

test('names every refusal of a project with its reason, and no secret', async () => {
  const customer = await project();
  const { id, apiKey } = await apiKeysOn(fixture.api.database, fixture.api.app).create(
    customer.merchant,
    { name: 'shop', scopes: ['order', 'read'] },
    AUTHOR,
  );
  const merchant = customer.withKey(apiKey);
  expect((await merchant.get('/v1/balance')).status).toBe(200);
  const ids = ['one', 'two', 'three'].map((name) => `${name}-${randomUUID()}`);
  expectError(
    await customer.withKey('wrong').get('/v1/orders?limit=1', { 'X-Request-Id': ids[0]! }),
    'INVALID_SIGNATURE',
  );
  expectError(await merchant.post('/v1/orders', { energy: 'many' }, { 'X-Request-Id': ids[1]! }), 'INVALID_REQUEST');
  const late = hmacHeaders(customer.merchant, customer.apiKey, { method: 'GET', path: '/v1/orders', timestamp: 1 });
  expectError(
    await send(fixture.api.baseUrl, 'GET', '/v1/orders', { ...late, 'X-Request-Id': ids[2]! }),
    'SIGNATURE_TIMESTAMP_OUT_OF_RANGE',
  );
  const items = await logged(customer, 3);
  const common = { at: expect.stringMatching(/^\d{4}-.*Z$/), source_address: '127.0.0.1' };
  expect(items).toEqual([
    {
      ...common,
      request_id: ids[2],
      method: 'GET',
      path: '/v1/orders',
      status: 401,
      error: 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE',
      reason: expect.stringMatching(/^X-CC-Timestamp was 1, and the service’s clock \d{10}\.$/),
    },
    {
      ...common,
      request_id: ids[1],
      method: 'POST',
      path: '/v1/orders',
      status: 400,
      error: 'INVALID_REQUEST',
      reason: expect.stringContaining('energy'),
      key: 'shop',
    },
    {
      ...common,
      request_id: ids[0],
      method: 'GET',
      path: '/v1/orders',
      status: 401,
      error: 'INVALID_SIGNATURE',
      reason: 'The signature of this request matches no API key of the project.',
    },
  ]);
  const rows = await fixture.api.database.query('SELECT * FROM refused_request WHERE project_id = $1', [
    customer.merchant,
  ]);
  const kept = JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
  expect(kept).toContain(id);
  for (const secret of [customer.apiKey, apiKey, late['X-CC-Signature']!, 'many']) expect(kept).not.toContain(secret);
});

describe('names the mistake of a wrong signature', () => {
  const GET = { method: 'GET', path: '/v1/orders/a%2Fb?x=%20' } as const;
  const body = '{"receive_address": "T"}';
  const POST = { method: 'POST', path: '/v1/orders', body } as const;

  test.each<readonly [string, HmacRequest, HmacRequest]>([
    ['encoded path was signed', { ...GET, path: '/v1/orders/a%252Fb?x=%20' }, GET],
    ['query was not signed', { ...GET, path: '/v1/orders/a%2Fb' }, GET],
    ['method was signed in lower case', { ...GET, method: 'get' }, GET],
    ['empty body', { method: 'POST', path: POST.path }, POST],
    ['serialized again after it was signed', { ...POST, body: JSON.stringify(JSON.parse(body)) }, POST],
    ['matches no API key of the project', { ...GET, path: '/v1/balance' }, GET],
  ])('as one of %s', async (reason, signed, sent) => {
    const customer = await project();
    await sendAs(customer, signed, sent);
    expect((await logged(customer, 1))[0]?.reason).toContain(reason);
  });

  test('as one by MD5 of a further key, or of a body with unsorted keys', async () => {
    const primary = await project();
    const { apiKey } = await apiKeysOn(fixture.api.database, fixture.api.app).create(
      primary.merchant,
      { name: 'further', scopes: ['read'] },
      AUTHOR,
    );
    expect((await primary.withKey(apiKey).get('/v1/balance')).status).toBe(200);
    expectError(
      await new Customer(fixture.api.baseUrl, primary.merchant, apiKey).get('/v1/orders'),
      'INVALID_SIGNATURE',
    );
    const unsorted = '{"receive_address":"T","energy":65000}';
    const md5 = new Customer(fixture.api.baseUrl, primary.merchant, primary.apiKey);
    expectError(await md5.postSigned('/v1/orders', unsorted, unsorted), 'INVALID_SIGNATURE');
    const reasons = (await logged(primary, 2)).map(({ reason }) => reason);
    expect(reasons).toEqual([
      expect.stringContaining('keys of the signed body are not sorted'),
      expect.stringContaining('not the current primary API key'),
    ]);
  });
});

test('tells a caller nothing more than before, and writes nothing for a project that does not exist', async () => {
  const customer = await project();
  const before = await fixture.api.database.query('SELECT count(*) FROM refused_request');
  const unknown = new HmacCustomer(fixture.api.baseUrl, randomUUID(), 'any');
  const answers = [await unknown.get('/v1/orders'), await customer.withKey('wrong').get('/v1/orders')];
  const [one, other] = answers.map(({ status, body, headers }) => [
    status,
    { ...body, request_id: '' },
    Object.keys(headers),
  ]);
  expect(one).toEqual(other);
  await logged(customer, 1);
  const after = await fixture.api.database.query('SELECT count(*) FROM refused_request');
  expect(Number(after[0]!['count'])).toBe(Number(before[0]!['count']) + 1);
});

test('has every refusal: for a cap, rights, unknown objects, conflicts and a reused key', async () => {
  const customer = await project();
  const { merchant } = customer;
  const reading = await apiKeysOn(fixture.api.database, fixture.api.app).create(
    merchant,
    { name: 'reads', scopes: ['read'] },
    AUTHOR,
  );
  const order = { receive_address: fixture.receiver(), energy: 65_000 };
  const key = { 'Idempotency-Key': 'once' };
  expect((await customer.post('/v1/orders', order, key)).status).toBe(202);
  await fixture.api.ledger.setDailyCap(merchant, credits(1), AUTHOR);
  const ref = { quote_ref: '00000000-0000-4000-8000-000000000001' };
  const refusals: readonly (readonly [ErrorCode, () => Promise<Answer>])[] = [
    ['SPEND_CAP_REACHED', () => customer.post('/v1/orders', order)],
    ['KEY_SCOPE', () => customer.withKey(reading.apiKey).post('/v1/orders', order)],
    ['NOT_FOUND', () => customer.get('/v1/orders/none')],
    ['QUOTE_NOT_FOUND', () => customer.post('/v1/orders', ref)],
    ['IDEMPOTENCY_KEY_REUSED', () => customer.post('/v1/orders', { ...order, energy: 70_000 }, key)],
  ];
  for (const [code, refused] of refusals) expectError(await refused(), code);
  const items = await logged(customer, refusals.length);
  expect(items.map(({ error }) => error)).toEqual(refusals.map(([code]) => code).reverse());
});

test('keeps room for other refusals beside a flood beyond the rate limit', async () => {
  const customer = await project();
  const other = await openApi({ ...fixture.env, RATE_LIMIT_PER_MINUTE: '1' });
  try {
    const there = customer.at(other.baseUrl);
    const quote = { receive_address: fixture.receiver(), energy: 65_000 };
    await Promise.all(Array.from({ length: 100 }, () => there.post('/v1/quotes', quote)));
    expectError(await there.get('/v1/orders/none'), 'NOT_FOUND');
  } finally {
    await other.close();
  }
  const errors = (await logOf(customer, '?limit=100')).map(({ error }) => error);
  expect([errors.filter((error) => error === 'RATE_LIMITED').length, errors[0]]).toEqual([60, 'NOT_FOUND']);
});

test('gives the reason in the words of the answer', async () => {
  const customer = await project();
  const answer = await customer.post('/v1/quotes', { receive_address: 'Tnobody', energy: 65_000 });
  expectError(answer, 'INVALID_REQUEST');
  const [item] = (await logged(customer, 1)) as { reason: string }[];
  expect(item?.reason).toBe('receive_address: must be a TRON address (T…, base58check)');
});

test('is read page by page by its own project only, under the scope read', async () => {
  const [customer, other] = [await project(), await project()];
  for (let count = 0; count < 5; count += 1) await customer.withKey('wrong').get('/v1/orders');
  const all = await logged(customer, 5);
  const first = await customer.get('/v1/requests?limit=2');
  const second = await customer.get(`/v1/requests?limit=2&cursor=${first.body.next_cursor as string}`);
  const third = await customer.get(`/v1/requests?limit=2&cursor=${second.body.next_cursor as string}`);
  expect([...first.body.items, ...second.body.items, ...third.body.items]).toEqual(all);
  expect(third.body.next_cursor).toBeUndefined();
  expect(await logOf(other)).toEqual([]);
  expectError(await customer.get('/v1/requests?cursor=x'), 'INVALID_REQUEST');
  expectError(
    await new Customer(fixture.api.baseUrl, customer.merchant, customer.apiKey).get('/v1/requests'),
    'HMAC_REQUIRED',
  );
  const { apiKey } = await apiKeysOn(fixture.api.database, fixture.api.app).create(
    customer.merchant,
    { name: 'buys', scopes: ['order'] },
    AUTHOR,
  );
  expectError(await customer.withKey(apiKey).get('/v1/requests'), 'KEY_SCOPE');
});

test('samples a flood in the name of a project, and leaves room for the project’s own refusals', async () => {
  const customer = await project();
  const sampled = await metric('request_log_dropped_total{cause="sampled"}');
  const flood = Array.from({ length: 400 }, () => customer.withKey('wrong').get('/v1/orders'));
  await Promise.all(flood);
  expectError(await customer.post('/v1/orders', {}), 'INVALID_REQUEST');
  const items = await logged(customer, 61);
  expect(items).toHaveLength(61);
  // Omitted requests are counted in the next entry.
  expect(items[0]).toMatchObject({ error: 'INVALID_REQUEST', omitted: 340 });
  expect((await metric('request_log_dropped_total{cause="sampled"}')) - sampled).toBe(340);
});

test('keeps the newest of a project, whatever there was before', async () => {
  const customer = await project();
  await fixture.api.database.query(
    `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
     SELECT $1, clock_timestamp(), 'old-' || n, 'GET', '/', 401, 'X', '', '' FROM generate_series(1, 6000) n`,
    [customer.merchant],
  );
  await customer.withKey('wrong').get('/v1/orders');
  const counted = async (): Promise<true | undefined> => {
    const [row] = await fixture.api.database.query<{ count: bigint }>(
      `SELECT count(*) FROM refused_request WHERE project_id = $1`,
      [customer.merchant],
    );
    return row!.count === 5000n ? true : undefined;
  };
  await until(counted, 10_000, 'the log being cut');
  expect((await logOf(customer, '?limit=1'))[0]?.error).toBe('INVALID_SIGNATURE');
});

test('delays no request while the database is away, and counts the excess', async () => {
  const customer = await project();
  const proxy = await openProxy(fixture.env['DATABASE_URL']!);
  const away = await openApi({ ...fixture.env, DATABASE_URL: proxy.url, BAD_SIGNATURES_PER_MINUTE: '1000000' });
  try {
    const wrong = customer.withKey('wrong').at(away.baseUrl);
    expect((await customer.at(away.baseUrl).get('/v1/balance')).status).toBe(200);
    const log = away.app.get(RequestLog);
    expectError(await wrong.get('/v1/orders'), 'INVALID_SIGNATURE');
    proxy.cut();
    await log.beforeApplicationShutdown();
    const text = await away.app.get(Metrics).registry.metrics();
    expect(text).toContain('request_log_dropped_total{cause="failed"} 1');
    expect(text).toContain('request_log_rows_total 0');
  } finally {
    proxy.mend();
    await away.close();
    await proxy.close();
  }
});

test('is written when a process stops', async () => {
  const customer = await project();
  const other = await openApi({ ...fixture.env });
  expect((await customer.at(other.baseUrl).get('/v1/balance')).status).toBe(200);
  expectError(await customer.withKey('wrong').at(other.baseUrl).get('/v1/orders'), 'INVALID_SIGNATURE');
  await other.close();
  expect(await logOf(customer)).toHaveLength(1);
});

test('ends after seven days: older ones are not read, and are deleted a few at a time', async () => {
  const customer = await project();
  await fixture.api.database.query(
    `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
     OVERRIDING SYSTEM VALUE
     SELECT $1, clock_timestamp() - interval '7 days 1 minute', 'old-' || n, 'GET', '/', 401, 'X', '', ''
       FROM generate_series(1, 1500) n`,
    [customer.merchant],
  );
  // Gives recent entries higher ids than the old ones: ids must grow with time.
  await fixture.api.database.query(
    `UPDATE refused_request SET id = DEFAULT WHERE at > clock_timestamp() - interval '1 day'`,
  );
  expect(await logOf(customer)).toEqual([]);
  const pruning = new Pruning(fixture.api.database, fixture.api.config, new Metrics(), openLog('silent'));
  const left = async (): Promise<number> =>
    (await fixture.api.database.query('SELECT FROM refused_request WHERE project_id = $1', [customer.merchant])).length;
  expect([await pruning.pruneOnce(), await left()]).toEqual([1000, 500]);
  await pruning.pruneOnce();
  expect(await left()).toBe(0);
  const young = await fixture.api.database.query('SELECT FROM refused_request');
  await pruning.pruneOnce();
  expect(await fixture.api.database.query('SELECT FROM refused_request')).toHaveLength(young.length);
});

test('deletes expired nonces of Postgres, whatever Redis does, and no others', async () => {
  const { merchant } = await project();
  const keep = `INSERT INTO request_nonce (project_id, nonce, expires_at)
    SELECT $1, $2 || n, clock_timestamp() + $3::interval FROM generate_series(1, $4) n`;
  await fixture.api.database.query(keep, [merchant, 'past', '-1 second', 2500]);
  await fixture.api.database.query(keep, [merchant, 'valid', '1 hour', 3]);
  const pruning = new Pruning(fixture.api.database, fixture.api.config, new Metrics(), openLog('silent'));
  const left = async (): Promise<number> =>
    (await fixture.api.database.query('SELECT FROM request_nonce WHERE project_id = $1', [merchant])).length;
  expect([await pruning.pruneOnce(), await left()]).toEqual([1000, 1503]);
  expect([await pruning.pruneOnce(), await left()]).toEqual([1000, 503]);
  await pruning.pruneOnce();
  expect(await left()).toBe(3);
});
