// The request pipeline of the real API: every endpoint applies the same checks. The chain is down on purpose.
import { randomUUID } from 'node:crypto';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ApiModule } from '../../../src/apps/api/api.module.js';
import type { Ledger } from '../../../src/modules/billing/ledger.js';
import { readConfig, type Config } from '../../../src/platform/config/config.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { routesOf, type Route } from '../../../src/platform/http/pipeline/routes.js';
import { createHttpApp, serverOf } from '../../../src/platform/http/pipeline/server.js';
import type { Projects } from '../../../src/modules/projects/projects.js';
import { Database } from '../../../src/platform/database/database.js';
import { until } from '../../../packages/local/src/wait.js';
import { Canary } from '../../support/canary.js';
import { Customer, HmacCustomer, send, type Answer } from '../../support/api/client.js';
import { openLog } from '../../support/log.js';
import { settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, textOfRedis, type TestRedis } from '../../setup/redis.js';
import { ledgerOn, projectsOn } from '../../support/api/services.js';

const AUTHOR = { actor: 'test', reason: 'test' };
const ENDPOINTS = [
  'DELETE /v1/auto-delegations/:address',
  'DELETE /v1/webhooks/:id',
  'GET /v1/auto-delegations',
  'GET /v1/auto-delegations/:address',
  'GET /v1/balance',
  'GET /v1/deposits',
  'GET /v1/deposits/address',
  'GET /v1/events',
  'GET /v1/events/stream',
  'GET /v1/explain/:txid',
  'GET /v1/ledger',
  'GET /v1/limits',
  'GET /v1/orders',
  'GET /v1/orders/:key',
  'GET /v1/requests',
  'GET /v1/statements',
  'GET /v1/statements/:number',
  'GET /v1/statements/:number/lines.csv',
  'GET /v1/webhooks',
  'GET /v1/webhooks/:id',
  'GET /v1/webhooks/:id/deliveries',
  'POST /v1/activate',
  'POST /v1/auto-delegations/:address/wake',
  'POST /v1/credits/balance',
  'POST /v1/credits/topup',
  'POST /v1/energy/order',
  'POST /v1/energy/quote',
  'POST /v1/energy/rent',
  'POST /v1/orders',
  'POST /v1/orders/:key/extensions',
  'POST /v1/quotes',
  'POST /v1/simulate',
  'POST /v1/webhooks',
  'POST /v1/webhooks/:id',
  'POST /v1/webhooks/:id/deliveries/:delivery/resend',
  'POST /v1/webhooks/:id/replay',
  'POST /v1/webhooks/:id/rotate',
  'POST /v1/webhooks/:id/test',
  'PUT /v1/auto-delegations/:address',
];

let testDatabase: TestDatabase;
let testRedis: TestRedis;
let app: NestExpressApplication;
let config: Config;
let baseUrl: string;
let allRoutes: readonly Route[];
/** Routes that need a signature. */
let routes: readonly Route[];
let projects: Projects;
let ledger: Ledger;
const lines: string[] = [];
const canary = new Canary();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  testRedis = await createTestRedis();
  const env = settings(testDatabase.url, { REDIS_URL: testRedis.url });
  config = readConfig(env);
  const log = openLog('silent', (line) => lines.push(line));
  app = await createHttpApp(ApiModule.for(config, log), config);
  await app.listen(0, '127.0.0.1');
  const address = serverOf(app).address();
  baseUrl = `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0).toString() : ''}`;
  allRoutes = routesOf(app).list();
  routes = allRoutes.filter(({ isPublic }) => !isPublic);
  ledger = ledgerOn(app.get(Database));
  projects = projectsOn(app.get(Database), app);
  canary.watch('the master key', Buffer.from(env['MASTER_KEY']!, 'base64'));
});

afterAll(async () => {
  serverOf(app).closeAllConnections();
  await app.close();
  await testRedis.close();
  await testDatabase.drop();
});

async function newCustomer(name: string): Promise<Customer> {
  const { id, apiKey } = await projects.create(name, { kind: 'prepaid' }, AUTHOR);
  const customer = new Customer(baseUrl, id, apiKey);
  canary.watch(`the API key of ${name}`, apiKey);
  canary.watch(`the GET signature of ${name}`, customer.authHeaders('').Signature);
  return customer;
}

const byHmac = ({ merchant, apiKey }: Customer): HmacCustomer => new HmacCustomer(baseUrl, merchant, apiKey);

/** MD5 where the route accepts it, HMAC elsewhere. */
const asTaken = (customer: Customer, { acceptsMd5 }: Route): Customer => (acceptsMd5 ? customer : byHmac(customer));

/** Returns a path of the pattern. The stream's path is one that is refused, because a stream has no end. */
const pathOf = ({ pattern }: Route): string =>
  pattern.replaceAll(/:\w+/g, 'some-key') + (pattern.endsWith('/stream') ? '?after=nothing' : '');

const ask = async (customer: Customer, route: Route): Promise<Answer> => {
  const path = pathOf(route);
  const caller = asTaken(customer, route);
  if (route.method === 'DELETE') return byHmac(customer).request('DELETE', path);
  if (route.method === 'PUT') return byHmac(customer).request('PUT', path, {}, '{}');
  return route.method === 'GET'
    ? caller.get(path)
    : caller.post(path, {}, route.isPurchase ? { 'Idempotency-Key': 'some-key' } : {});
};

describe('every endpoint', () => {
  test('is one that the interface names, and only its description is public', () => {
    const named = (some: readonly Route[]) => some.map(({ method, pattern }) => `${method} ${pattern}`).sort();
    expect(named(routes)).toEqual(ENDPOINTS);
    expect(named(allRoutes.filter(({ isPublic }) => isPublic))).toEqual([
      'GET /docs',
      'GET /docs/:page',
      'GET /llms.txt',
      'GET /openapi.json',
    ]);
  });

  test('refuses callers without identification, and with a wrong one', async () => {
    const customer = await newCustomer('everywhere');
    for (const route of routes) {
      const unsigned = await send(baseUrl, route.method, pathOf(route));
      expect([unsigned.status, unsigned.body.error]).toEqual([400, 'BAD_AUTH_HEADERS']);
      for (const wrong of [customer.withKey('wrong'), new Customer(baseUrl, randomUUID(), customer.apiKey)]) {
        const answer = await ask(wrong, route);
        expect([answer.status, answer.body.error]).toEqual([401, 'INVALID_SIGNATURE']);
      }
      const right = await ask(customer, route);
      expect(['BAD_AUTH_HEADERS', 'INVALID_SIGNATURE']).not.toContain(right.body.error);
    }
  });

  test('refuses a frozen project, reads included, and an empty body by its fields', async () => {
    const customer = await newCustomer('frozen');
    // Routes whose body may be empty, or that look up their path first, answer differently.
    const wanting = routes.filter(({ method, mayBeEmpty, pattern }) => {
      return method === 'POST' && !mayBeEmpty && !pattern.includes(':');
    });
    for (const route of wanting) {
      const answer = await ask(customer, route);
      expect([answer.status, answer.body.error]).toEqual([400, 'INVALID_REQUEST']);
    }
    await ledger.setFrozen(customer.merchant, true, AUTHOR);
    const isFrozen = async () => ((await customer.get('/v1/balance')).status === 403 ? true : undefined);
    await until(isFrozen, 5000, 'freezing', 5);
    for (const route of routes) {
      const answer = await ask(customer, route);
      expect([answer.status, answer.body.error]).toEqual([403, 'PROJECT_FROZEN']);
      const wrong = await ask(customer.withKey('wrong'), route);
      expect([wrong.status, wrong.body.error]).toEqual([401, 'INVALID_SIGNATURE']);
      expect(wrong.body.msg).toContain(
        route.acceptsMd5
          ? 'unsorted keys and a body that changed after it was signed'
          : 'a body that was serialised again after it was signed, another path or query',
      );
    }
  });

  test('answers any other method with 405 and the allowed ones', async () => {
    const allowed: Record<string, string[]> = {};
    for (const { method, pattern } of allRoutes) (allowed[pattern] ??= []).push(method);
    for (const [pattern, methods] of Object.entries(allowed)) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
        if (methods.includes(method)) continue;
        const answer = await send(baseUrl, method, pattern.replaceAll(/:\w+/g, 'k'));
        expect(answer.status).toBe(405);
        expect(answer.headers['allow']?.split(', ').sort()).toEqual([...methods].sort());
      }
    }
  });

  test('accepts 16 KiB, and simulate 128 KiB', async () => {
    const customer = await newCustomer('large');
    for (const route of routes) {
      const { method, pattern } = route;
      if (method !== 'POST') continue;
      const caller = asTaken(customer, route);
      const limit = pattern === '/v1/simulate' ? 128 * 1024 : 16 * 1024;
      const body = (bytes: number) => `{"x":"${'y'.repeat(bytes - 8)}"}`;
      expect((await caller.post(pattern, body(limit))).body.error).toBe('INVALID_REQUEST');
      expect((await caller.post(pattern, body(limit + 1))).body.error).toBe('PAYLOAD_TOO_LARGE');
    }
  });

  test('quotes and simulate share a budget, the others have none', async () => {
    const customer = await newCustomer('budget');
    const first = await customer.post('/v1/quotes', {});
    const second = await customer.post('/v1/simulate', {});
    expect([first, second].map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['119', '118']);
    for (const path of ['/v1/orders', '/v1/activate']) {
      expect((await customer.post(path, {})).headers['ratelimit-limit']).toBeUndefined();
    }
    const rest = await Promise.all(Array.from({ length: 119 }, () => customer.post('/v1/quotes', {})));
    expect(rest.filter(({ status }) => status === 429)).toHaveLength(1);
  });
});

describe('secrets', () => {
  test('are in no log, no metric and no value of Redis', async () => {
    // Includes a signature over a body: every request above was signed with one.
    const customer = await newCustomer('canary');
    const body = { receive_address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', energy: 65_000 };
    await customer.post('/v1/quotes', body);
    await customer.post('/v1/orders', body, { 'Idempotency-Key': 'canary-key' });
    canary.watch('a signature', customer.authHeaders('{"energy":65000}').Signature);
    expect(canary.findIn(lines.join(''))).toEqual([]);
    expect(canary.findIn(await app.get(Metrics).registry.metrics())).toEqual([]);
    expect(canary.findIn(await textOfRedis(testRedis.url))).toEqual([]);
    expect(lines.length).toBeGreaterThan(100);
    expect(canary.findIn(`x${customer.apiKey}y`)).toEqual(['the API key of canary']);
  });
});
