// Compares the OpenAPI document with the routes, the error codes and real answers.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { HTTP_STATUS } from '../../../src/domain/errors.js';
import { routesOf } from '../../../src/platform/http/pipeline/routes.js';
import { ERROR_HELP } from '../../../src/platform/http/openapi/openapi-errors.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { HmacCustomer, send } from '../../support/api/client.js';
import { openLog } from '../../support/log.js';
import { AUTHOR, makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { settings } from '../../support/cli.js';
import { until } from '../../support/api/quote-fixture.js';
import { schemaFaults } from '../database/schema-faults.js';
import { TYPES_OF_SDK, typesOf } from '../../support/api/sdk-types.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';

type Json = ReturnType<typeof JSON.parse>;

const FILE = 'openapi.json';
let database: TestDatabase;
let redis: TestRedis;
let api: TestApi;
let document: Json;

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  api = await openApi(settings(database.url, { REDIS_URL: redis.url, LOG_LEVEL: 'silent' }));
  document = (await send(api.baseUrl, 'GET', '/openapi.json')).body;
});

afterAll(async () => {
  await api.close();
  await database.drop();
  await redis.close();
});

const BY_HMAC = { Merchant: [], Timestamp: [], Nonce: [], Hmac: [] };
const BY_MD5 = { Merchant: [], Signature: [] };

/** Every signed route with its required scope. A new route must be added here; it has no default. */
const SCOPES: Readonly<Record<string, string>> = {
  'POST /v1/quotes': 'quote',
  'POST /v1/simulate': 'quote',
  'POST /v1/orders': 'order',
  'POST /v1/orders/:key/extensions': 'order',
  'GET /v1/orders': 'read',
  'GET /v1/orders/:key': 'read',
  'POST /v1/activate': 'order',
  'GET /v1/balance': 'read',
  'GET /v1/auto-delegations': 'read',
  'GET /v1/auto-delegations/:address': 'read',
  'PUT /v1/auto-delegations/:address': 'order',
  'DELETE /v1/auto-delegations/:address': 'order',
  'POST /v1/auto-delegations/:address/wake': 'order',
  'GET /v1/deposits': 'read',
  'GET /v1/deposits/address': 'read',
  'GET /v1/ledger': 'read',
  'GET /v1/events': 'read',
  'GET /v1/events/stream': 'read',
  'GET /v1/explain/:txid': 'read',
  'GET /v1/limits': 'read',
  'GET /v1/requests': 'read',
  'GET /v1/statements': 'read',
  'GET /v1/statements/:number': 'read',
  'GET /v1/statements/:number/lines.csv': 'read',
  'POST /v1/energy/quote': 'quote',
  'POST /v1/energy/rent': 'order',
  'POST /v1/energy/order': 'read',
  'POST /v1/credits/balance': 'read',
  'POST /v1/credits/topup': 'manage',
  'POST /v1/webhooks': 'manage',
  'GET /v1/webhooks': 'manage',
  'GET /v1/webhooks/:id': 'manage',
  'POST /v1/webhooks/:id': 'manage',
  'DELETE /v1/webhooks/:id': 'manage',
  'POST /v1/webhooks/:id/rotate': 'manage',
  'POST /v1/webhooks/:id/test': 'manage',
  'POST /v1/webhooks/:id/replay': 'manage',
  'GET /v1/webhooks/:id/deliveries': 'manage',
  'POST /v1/webhooks/:id/deliveries/:delivery/resend': 'manage',
};

/** Routes that accept an MD5 signature, all older than HMAC. MD5 covers neither path nor method. */
const BY_MD5_TOO = [
  'POST /v1/quotes',
  'POST /v1/simulate',
  'POST /v1/orders',
  'GET /v1/orders',
  'GET /v1/orders/:key',
  'POST /v1/activate',
  'GET /v1/balance',
  'GET /v1/limits',
  'POST /v1/credits/balance',
];

/** Returns every operation with its path and method. */
const operations = (): { path: string; method: string; operation: Json }[] =>
  Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({ path, method, operation })),
  );

/** Returns the responses of an operation by status, with each reference replaced by the response it names. */
const responsesOf = ({ responses }: Json): [status: string, response: Json][] =>
  Object.entries<Json>(responses).map(([status, response]) => [
    status,
    response.$ref === undefined
      ? response
      : document.components.responses[response.$ref.replace('#/components/responses/', '')],
  ]);

const responseOf = (path: string, method: string, status: number): Json =>
  Object.fromEntries(responsesOf(document.paths[path][method]))[status.toString()];

const faults = (value: Json, schema: Json): string[] => schemaFaults(document, value, schema);

describe('the document', () => {
  test('equals the file in the repository (UPDATE_OPENAPI=1 writes it)', () => {
    const text = `${JSON.stringify(document, undefined, 2)}\n`;
    const types = typesOf(document);
    if (process.env['UPDATE_OPENAPI'] === '1') {
      writeFileSync(FILE, text);
      writeFileSync(TYPES_OF_SDK, types);
    }
    expect(readFileSync(FILE, 'utf8')).toBe(text);
    expect(readFileSync(TYPES_OF_SDK, 'utf8')).toBe(types);
  });

  test('follows the price table with the longest duration', async () => {
    const longest = (json: Json): number[] =>
      ['QuoteRequest', 'SimulateRequest', 'OrderRequest'].map(
        (name) => json.components.schemas[name].properties.duration_sec.maximum as number,
      );
    const rows = await api.database.query<{ duration_max_sec: number }>(
      'SELECT duration_max_sec FROM price_row ORDER BY duration_max_sec',
    );
    const last = rows.at(-1)!.duration_max_sec;
    expect(longest(document)).toEqual([last, last, last]);
    await api.database.query('INSERT INTO price_row (duration_max_sec, sun_per_energy) VALUES ($1, 95)', [last + 1]);
    try {
      const seen = await until(
        async () => (await send(api.baseUrl, 'GET', '/openapi.json')).body,
        (json) => longest(json)[0] === last + 1,
      );
      expect(longest(seen)).toEqual([last + 1, last + 1, last + 1]);
      expect((await send(api.baseUrl, 'GET', '/docs/api-create-quote')).text).toContain((last + 1).toString());
    } finally {
      await api.database.query('DELETE FROM price_row WHERE duration_max_sec = $1', [last + 1]);
    }
  });

  test('is OpenAPI 3.1 and requires an HMAC signature by default', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.security).toEqual([BY_HMAC]);
  });

  test('describes exactly the signed routes', () => {
    const routes = routesOf(api.app)
      .list()
      .filter((route) => !route.isPublic)
      .map(({ method, pattern }) => `${method} ${pattern.replace(/:([a-z]+)/g, '{$1}')}`);
    expect(
      operations()
        .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
        .sort(),
    ).toEqual(routes.sort());
    expect(routes.filter((route) => !route.includes('/v1/webhooks')).sort()).toEqual([
      'DELETE /v1/auto-delegations/{address}',
      'GET /v1/auto-delegations',
      'GET /v1/auto-delegations/{address}',
      'GET /v1/balance',
      'GET /v1/deposits',
      'GET /v1/deposits/address',
      'GET /v1/events',
      'GET /v1/events/stream',
      'GET /v1/explain/{txid}',
      'GET /v1/ledger',
      'GET /v1/limits',
      'GET /v1/orders',
      'GET /v1/orders/{key}',
      'GET /v1/requests',
      'GET /v1/statements',
      'GET /v1/statements/{number}',
      'GET /v1/statements/{number}/lines.csv',
      'POST /v1/activate',
      'POST /v1/auto-delegations/{address}/wake',
      'POST /v1/credits/balance',
      'POST /v1/credits/topup',
      'POST /v1/energy/order',
      'POST /v1/energy/quote',
      'POST /v1/energy/rent',
      'POST /v1/orders',
      'POST /v1/orders/{key}/extensions',
      'POST /v1/quotes',
      'POST /v1/simulate',
      'PUT /v1/auto-delegations/{address}',
    ]);
  });

  test('gives the accepted signatures and the scope of each route as in the route table', () => {
    const routes = routesOf(api.app)
      .list()
      .filter(({ isPublic }) => !isPublic);
    const named = (method: string, pattern: string): string => `${method} ${pattern}`;
    expect(Object.fromEntries(routes.map(({ method, pattern, scope }) => [named(method, pattern), scope]))).toEqual(
      SCOPES,
    );
    const byMd5 = routes.filter(({ acceptsMd5 }) => acceptsMd5).map(({ method, pattern }) => named(method, pattern));
    expect(BY_MD5_TOO).toEqual(expect.arrayContaining(byMd5));
    for (const { path, method, operation } of operations()) {
      const name = named(method.toUpperCase(), path.replace(/\{(\w+)\}/g, ':$1'));
      expect([name, operation['x-scope']]).toEqual([name, SCOPES[name]]);
      expect([name, operation.security]).toEqual([name, byMd5.includes(name) ? [BY_HMAC, BY_MD5] : undefined]);
    }
  });

  test('names every error code, each under its own status', () => {
    const named = new Set<string>();
    for (const { operation } of operations()) {
      for (const [status, answer] of responsesOf(operation)) {
        if (Number(status) < 400) continue;
        for (const [code, { value }] of Object.entries<Json>(answer.content['application/json'].examples)) {
          // An order whose status is the outcome of a rental, not an error.
          if (value.ok !== false) continue;
          named.add(code);
          expect([code, HTTP_STATUS[code as keyof typeof HTTP_STATUS]]).toEqual([code, Number(status)]);
        }
      }
    }
    // No operation can describe a method that its path lacks.
    named.add('METHOD_NOT_ALLOWED');
    expect([...named].sort()).toEqual(Object.keys(ERROR_HELP).sort());
  });

  test('gives valid examples for every body', () => {
    const bodies = operations().flatMap(({ operation }) => [
      ...(operation.requestBody === undefined ? [] : [operation.requestBody.content['application/json']]),
      ...responsesOf(operation).flatMap(([, answer]) => Object.values<Json>(answer.content ?? {})),
    ]);
    for (const { schema, examples } of bodies) {
      expect(Object.keys(examples)).not.toHaveLength(0);
      for (const { value } of Object.values<Json>(examples)) expect(faults(value, schema)).toEqual([]);
    }
  });

  test('describes every member of every body', () => {
    const unsaid: string[] = [];
    for (const [name, schema] of Object.entries<Json>(document.components.schemas)) {
      for (const [member, described] of Object.entries<Json>(schema.properties ?? {})) {
        const isPlain = ['integer', 'string'].includes(described.type);
        if (name !== 'Error' && isPlain && described.description === undefined) unsaid.push(`${name}.${member}`);
      }
    }
    expect(unsaid).toEqual([]);
  });

  test('gives every operation a unique name', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
  });

  test('has only references to components that exist', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
    expect(references).toHaveLength(JSON.stringify(document).split('"$ref"').length - 1);
    for (const [, kind, name] of references) expect(document.components[kind!]).toHaveProperty(name!);
  });

  test('describes each error response once and is at most 500 KB long', () => {
    const inline = operations().flatMap(({ operation }) =>
      Object.entries<Json>(operation.responses).filter(([status, { $ref }]) => Number(status) >= 400 && !$ref),
    );
    // A status that may also answer with an order is described in place.
    expect(inline.length).toBeGreaterThan(0);
    const schemas = inline.map(([, { content }]) => content['application/json'].schema);
    expect(schemas).not.toContainEqual({ $ref: '#/components/schemas/Error' });
    const shared = Object.values<Json>(document.components.responses).map((response) => JSON.stringify(response));
    expect(new Set(shared).size).toBe(shared.length);
    expect(statSync(FILE).size).toBeLessThanOrEqual(500_000);
  });
});

describe('request schemas', () => {
  const recorded = readFileSync('test/vectors/invalid-requests.jsonl', 'utf8').trimEnd().split('\n');
  const sent = recorded
    .map((line) => JSON.parse(line) as { request: string; status: number; details?: { msg: string }[] })
    .filter(({ request }) => /^(?:POST|PUT) /.test(request) && !request.includes('«'))
    .map(({ request, ...answer }) => {
      const [method = '', path = '', ...body] = request.split(' ');
      return { ...answer, method: method.toLowerCase(), path, body: body.join(' ') };
    });
  const wrongBy = ({ method, path, body }: (typeof sent)[0]): string[] => {
    const template = path.replace(/^(\/v1\/auto-delegations)\/\w+$/, '$1/{address}');
    const schema = document.paths[template][method].requestBody.content['application/json'].schema;
    return faults(JSON.parse(body), schema);
  };

  test('accept every body that the service accepts', () => {
    const taken = sent.filter(({ status }) => status !== 400);
    expect(taken.length).toBeGreaterThan(90);
    expect(taken.filter((each) => wrongBy(each).length > 0)).toEqual([]);
  });

  // Excludes two gaps of JSON Schema: it equates 65000.0 and 65000, and cannot check an address's checksum.
  test('refuse every body that the service refuses for its members, types, bounds or form', () => {
    const misquoted =
      /is required(?!, because)|not a member|must not be (null|sent)|must be (a string|true or false)|seconds|\d$/;
    const refused = sent.filter(
      ({ body, details }) => details?.some(({ msg }) => misquoted.test(msg)) === true && !/:-?\d+[.eE]/.test(body),
    );
    expect(refused.length).toBeGreaterThan(300);
    expect(refused.filter((each) => wrongBy(each).length === 0)).toEqual([]);
  });
});

describe('real answers', () => {
  test('match the document, errors included', async () => {
    const customer = await makeCustomer(api);
    const reader = new HmacCustomer(api.baseUrl, customer.merchant, customer.apiKey);
    await api.ledger.setFrozen(customer.merchant, true, AUTHOR);
    await api.ledger.setFrozen(customer.merchant, false, AUTHOR);
    await new Numberer(api.database, new Metrics(), openLog('silent')).numberBatch();
    const answers = [
      ['/v1/balance', 'get', await customer.get('/v1/balance')],
      ['/v1/orders', 'get', await customer.get('/v1/orders')],
      ['/v1/events', 'get', await reader.get('/v1/events')],
      ['/v1/events', 'get', await customer.get('/v1/events')],
      ['/v1/orders/{key}', 'get', await customer.get('/v1/orders/none')],
      ['/v1/quotes', 'post', await customer.post('/v1/quotes', {})],
      [
        '/v1/quotes',
        'post',
        await customer.post('/v1/quotes', { receive_address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF' }),
      ],
      ['/v1/simulate', 'post', await customer.withKey('wrong').post('/v1/simulate', {})],
    ] as const;
    for (const [path, method, { status, body }] of answers) {
      const described = responseOf(path, method, status);
      expect({ path, status, isDescribed: described !== undefined }).toEqual({ path, status, isDescribed: true });
      expect(faults(body, described.content['application/json'].schema)).toEqual([]);
    }
  });

  test('carry the documented headers, and no others except those of every answer', async () => {
    const customer = await makeCustomer(api);
    const known = new Set(Object.keys((await send(api.baseUrl, 'GET', '/')).headers));
    known.delete('x-request-id');
    const address = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
    const long = { 'X-Long': 'x'.repeat(9000) };
    const answers = [
      ['/v1/balance', 'get', await customer.get('/v1/balance')],
      ['/v1/balance', 'get', await customer.withKey('wrong').get('/v1/balance')],
      ['/v1/balance', 'get', await customer.get('/v1/balance', long)],
      ['/v1/orders', 'post', await customer.post('/v1/orders', { energy: 1 }, { 'Idempotency-Key': 'k' })],
      ['/v1/orders', 'post', await customer.post('/v1/orders', { receive_address: address })],
      ['/v1/orders', 'post', await customer.post('/v1/orders', { quote_ref: 'none' })],
      ['/v1/orders', 'post', await customer.post('/v1/orders', {}, long)],
      ['/v1/quotes', 'post', await customer.post('/v1/quotes', {})],
      ['/v1/quotes', 'post', await customer.post('/v1/quotes', { receive_address: address })],
      ['/v1/simulate', 'post', await customer.withKey('wrong').post('/v1/simulate', {})],
    ] as const;
    expect(answers.map(([, , { status }]) => status)).toEqual([200, 401, 431, 400, 503, 404, 431, 400, 503, 401]);
    for (const [path, method, { status, headers }] of answers) {
      const described = responseOf(path, method, status).headers;
      const names = Object.keys(described).map((name) => name.toLowerCase());
      const always = names.filter((_, index) => Object.values<Json>(described)[index].required === true);
      const sentNames = Object.keys(headers).filter((name) => !known.has(name));
      expect({ path, status, unnamed: sentNames.filter((name) => !names.includes(name)) }).toMatchObject({
        unnamed: [],
      });
      expect({ path, status, missing: always.filter((name) => headers[name] === undefined) }).toMatchObject({
        missing: [],
      });
    }
  });
});

describe('the page', () => {
  test.each(['/openapi.json', '/docs'])('%s refuses other methods', async (path) => {
    const { status, headers } = await send(api.baseUrl, 'POST', path);
    expect({ status, allow: headers['allow'] }).toEqual({ status: 405, allow: 'GET' });
  });

  test.each(['/docs/', '/docs/x', '/Docs', '/openapi.yaml'])('%s does not exist', async (path) => {
    expect((await send(api.baseUrl, 'GET', path)).status).toBe(404);
  });
});
