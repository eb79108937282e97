// Captured requests, replayed unchanged and against every other route, with both signatures. Targets and bodies come
// from the route table and the OpenAPI document, so that a new route is attacked as well.
import { Redis } from 'ioredis';
import { routesOf, type Route } from '../../../src/platform/http/pipeline/routes.js';
import type { Customer } from '../../support/api/client.js';
import { HmacCustomer, canonical, hmacHeaders, send, type Answer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { expectRefusal, openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

let fixture: OrderFixture;
let routes: readonly Route[];
/** The first example of each body, by declared method and path. */
let bodies: ReadonlyMap<string, object>;

beforeAll(async () => {
  fixture = await openOrderFixture({ BAD_SIGNATURES_PER_MINUTE: '1000000', RATE_LIMIT_PER_MINUTE: '1000000' });
  routes = routesOf(fixture.api.app)
    .list()
    .filter(({ isPublic }) => !isPublic);
  bodies = await describedBodies();
});

afterAll(async () => {
  await fixture.close();
});

const nameOf = ({ method, pattern }: Pick<Route, 'method' | 'pattern'>): string => `${method} ${pattern}`;

async function describedBodies(): Promise<ReadonlyMap<string, object>> {
  const { paths } = (await send(fixture.api.baseUrl, 'GET', '/openapi.json')).body as Document;
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const [example] = Object.values(requestBody?.content['application/json'].examples ?? {});
      const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
      return example === undefined ? [] : [[nameOf({ method: method.toUpperCase(), pattern }), example.value] as const];
    }),
  );
  return new Map(described);
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: RequestBody }>>>>;
}
interface RequestBody {
  readonly content: {
    readonly 'application/json': { readonly examples: Readonly<Record<string, { readonly value: object }>> };
  };
}

/** An intercepted request: the signed parts and the headers. */
interface Capture {
  readonly route: Route;
  readonly path: string;
  readonly body: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const isRead = (route: Route): boolean => !bodies.has(nameOf(route));
const isSame = (one: Capture, other: Capture): boolean => one.route === other.route && one.path === other.path;

/**
 * Returns each route as a target. A route with a parameter or without a body is also requested with another one and a
 * query.
 */
function targets(): Pick<Capture, 'route' | 'path' | 'body'>[] {
  return routes.flatMap((route) => {
    const example = bodies.get(nameOf(route));
    const body = example === undefined ? undefined : canonical({ ...example, ...own(example) });
    const filled = ['captured', 'other'].map((value) => route.pattern.replaceAll(/:\w+/g, value));
    // A stream has no end, so its targets start at a position that it refuses.
    const asked = isRead(route) ? [...filled, `${filled[0]!}?limit=1`] : filled;
    const paths = route.pattern.endsWith('/stream') ? filled.map((path) => `${path}?after=nowhere`) : asked;
    return [...new Set(paths)].map((path) => ({ route, path, body }));
  });
}

/** Receivers of the test's chain. */
function own(example: object): object {
  return 'receive_address' in example ? { receive_address: fixture.receiver() } : {};
}

async function project(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(fixture.api, 100_000_000_000n);
  return new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
}

const bought = async (customer: Customer): Promise<unknown> =>
  fixture.api.database.query(
    `SELECT (SELECT count(*) FROM orders WHERE project_id = $1) AS orders,
            (SELECT balance_credits FROM credit_account WHERE project_id = $1) AS balance`,
    [customer.merchant],
  );

async function replay(
  { headers }: Pick<Capture, 'headers'>,
  to: Pick<Capture, 'route' | 'path'>,
  body: string | undefined,
): Promise<string> {
  // Node does not send the length of a GET's body by itself.
  const length = Buffer.byteLength(body ?? '').toString();
  const json = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': length };
  const { status, body: said } = await send(
    fixture.api.baseUrl,
    to.route.method,
    to.path,
    { ...headers, ...json },
    body,
  );
  return status < 400 ? status.toString() : (said.error as string);
}

/** Returns the unexpected answers to `capture`, over each target and each body. */
async function attack(
  capture: Capture,
  to: readonly Pick<Capture, 'route' | 'path' | 'body'>[],
  expected: (target: Pick<Capture, 'route' | 'path' | 'body'>, body: string | undefined) => string | undefined,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const target of to) {
    for (const body of new Set([capture.body, target.body, undefined, '{"a":1}'])) {
      const code = expected(target, body);
      if (code === undefined) continue;
      const found = await replay(capture, target, body);
      if (found !== code) wrong.push(`${nameOf(capture.route)} at ${target.path} with ${body ?? 'no body'}: ${found}`);
    }
  }
  return wrong;
}

describe('a request signed by HMAC', () => {
  const captured = (customer: Customer): Capture[] =>
    targets().map(({ route, path, body }) => {
      const idempotencyKey = route.isPurchase ? `key of ${path}` : undefined;
      const signed = { method: route.method, path, ...(body !== undefined && { body }) };
      const timestamp = Math.floor(Date.now() / 1000) + 5;
      const key = idempotencyKey === undefined ? {} : { idempotencyKey };
      const headers = {
        ...hmacHeaders(customer.merchant, customer.apiKey, { ...signed, ...key, timestamp }),
        ...(idempotencyKey !== undefined && withKey(idempotencyKey)),
      };
      return { route, path, body, headers };
    });

  test('acts at no other route than its own, nor with another body, whatever body it comes with', async () => {
    const customer = await project();
    const captures = captured(customer);
    expect(captures.length).toBeGreaterThan(routes.length);
    const before = await bought(customer);
    for (const capture of captures) {
      const wrong = await attack(capture, captures, (target, body) =>
        isSame(capture, target as Capture) && body === capture.body ? undefined : 'INVALID_SIGNATURE',
      );
      expect(wrong).toEqual([]);
    }
    expect(await bought(customer)).toEqual(before);
  });

  test('is accepted once at its own route, and nowhere as an MD5 signature', async () => {
    const customer = await project();
    // A rental of the client family is answered only when it is over.
    const captures = captured(customer).filter(({ path }) => path !== '/v1/energy/rent');
    for (const capture of captures) {
      expect(await replay(capture, capture, capture.body)).not.toMatch(/SIGNATURE|AUTH/);
      expect([nameOf(capture.route), await replay(capture, capture, capture.body)]).toEqual([
        nameOf(capture.route),
        'SIGNATURE_REPLAYED',
      ]);
    }
    const after = await bought(customer);
    for (const { headers, ...capture } of captures) {
      const { 'X-CC-Signature': hmac = '', 'X-CC-Nonce': nonce = '', Merchant = '' } = headers;
      const md5 = customer.authHeaders(capture.body ?? '').Signature;
      const forged = [
        [{ Merchant, Signature: hmac }, 'INVALID_SIGNATURE'],
        [{ Merchant, Signature: hmac.slice(3, 35) }, 'INVALID_SIGNATURE'],
        // A partial HMAC request is invalid, and never read as MD5.
        [{ Merchant, Signature: md5, 'X-CC-Nonce': nonce }, 'BAD_AUTH_HEADERS'],
      ] as const;
      for (const [forgery, code] of forged) {
        expect([nameOf(capture.route), await replay({ headers: forgery }, capture, capture.body)]).toEqual([
          nameOf(capture.route),
          code,
        ]);
      }
    }
    expect(await bought(customer)).toEqual(after);
  });
});

describe('a request signed by MD5', () => {
  const captured = (customer: Customer): Capture[] =>
    targets()
      .filter(({ route }) => route.acceptsMd5)
      .map((target) => ({ ...target, headers: { ...customer.authHeaders(target.body ?? '') } }));

  test('reaches no route that accepts only HMAC, and none at all with a body that it did not sign', async () => {
    const customer = await project();
    const before = await bought(customer);
    for (const capture of captured(customer)) {
      const wrong = await attack(capture, targets(), ({ route }, body) => {
        const isRightForm = route.method === 'DELETE' || (route.method === 'GET') === (body === undefined);
        if (!isRightForm) return 'INVALID_REQUEST';
        if (body !== capture.body) return 'INVALID_SIGNATURE';
        return route.acceptsMd5 ? undefined : 'HMAC_REQUIRED';
      });
      expect(wrong).toEqual([]);
    }
    expect(await bought(customer)).toEqual(before);
  });

  test('of a project that accepts only HMAC acts nowhere', async () => {
    const customer = await project();
    const author = { actor: 'test', reason: 'test' };
    await fixture.api.projects.change(customer.merchant, { signatureSchemes: 'hmac' }, author);
    for (const capture of captured(customer)) {
      expect([nameOf(capture.route), await replay(capture, capture, capture.body)]).toEqual([
        nameOf(capture.route),
        'HMAC_REQUIRED',
      ]);
    }
  });
});

test('a captured purchase without an Idempotency-Key is the same order, also after Redis was emptied', async () => {
  const customer = await project();
  const text = JSON.stringify({ receive_address: fixture.receiver(), energy: 65_000 });
  // Later than any time that Redis remembers, before and after it is emptied.
  const request = { method: 'POST', path: '/v1/orders', body: text, timestamp: Math.floor(Date.now() / 1000) + 250 };
  const headers: Record<string, string> = {
    ...hmacHeaders(customer.merchant, customer.apiKey, request),
    'Content-Type': 'application/json',
  };
  const capture = async (): Promise<Answer> => send(fixture.api.baseUrl, 'POST', '/v1/orders', headers, text);
  const first = await capture();
  expect([first.status, first.body.key]).toEqual([202, `nonce_${headers['X-CC-Nonce']!}`]);
  expectRefusal(await capture(), 401, 'SIGNATURE_REPLAYED');
  const redis = new Redis(fixture.env['REDIS_URL']!);
  await redis.flushdb();
  redis.disconnect();
  const again = await capture();
  expect([again.status, again.headers['idempotency-replayed'], again.body.id]).toEqual([202, 'true', first.body.id]);
  expect((await customer.get('/v1/orders?limit=100')).body.items).toHaveLength(1);
});
