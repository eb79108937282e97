// The family's paths, with a client that retries and recovers like the family's own, on real Postgres, Redis and chain.
// The worker starts last. Until then orders stay open unless a test ends them through the worker's parts.
import { randomUUID } from 'node:crypto';
import { until } from '../../../packages/local/src/wait.js';
import { OrderWaits } from '../../../src/modules/orders/order-waits.js';
import { expectError } from '../../support/api/answers.js';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { FamilyClient } from './family-client.js';
import { AUTHOR, makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { startProcess } from '../../support/api/processes.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { balanceOf, openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { openProxy } from '../../support/database/proxy.js';
import { walletsOn } from '../../support/api/services.js';
import type { ErrorCode } from '../../../src/domain/errors.js';

let fixture: OrderFixture;
/** The same service with a waiting limit of one second. */
let hasty: TestApi;

beforeAll(async () => {
  fixture = await openOrderFixture();
  hasty = await openApi({ ...fixture.env, RENT_HOLD_SEC: '1', DATABASE_POOL_MAX: '4' });
  // A new Redis refuses signatures from its first second.
  const first = await newRenter();
  await until(async () => ((await first.http.get('/v1/balance')).status === 200 ? true : undefined), 10_000, 'nonces');
});

afterAll(async () => {
  await hasty.close();
  await fixture.close();
});

interface Renter {
  readonly client: FamilyClient;
  /** The same project; sends each request once. */
  readonly http: HmacCustomer;
  /** Like `client`, but an open order is answered after a second. */
  readonly hasty: FamilyClient;
}

async function newRenter(balance?: bigint): Promise<Renter> {
  const { merchant, apiKey } = await makeCustomer(fixture.api, balance);
  return {
    client: new FamilyClient(fixture.api.baseUrl, merchant, apiKey),
    http: new HmacCustomer(fixture.api.baseUrl, merchant, apiKey),
    hasty: new FamilyClient(hasty.baseUrl, merchant, apiKey),
  };
}

const body = (more: object = {}) => ({ receive_address: fixture.receiver(), energy: 65_000, ...more });

const rentOnce = (http: HmacCustomer, key: string, more: object = {}): Promise<Answer> =>
  http.post('/v1/energy/rent', body(more), withKey(key));

async function taken(http: HmacCustomer, key: string): Promise<void> {
  await until(
    async () => ((await http.get(`/v1/orders/${key}`)).status === 200 ? true : undefined),
    10_000,
    'the order being taken',
  );
}

const ordersOf = async (http: HmacCustomer): Promise<unknown[]> => (await http.get('/v1/orders')).body.items;

const MEMBERS = [
  ...['id', 'idempotency_key', 'status', 'receive_address', 'energy', 'duration_sec', 'price_sun', 'price_trx'],
  ...['fee_limit_sun', 'settled', 'needs_attention', 'created_at'],
];
const CHARGED = ['price_usd', 'credits', 'trx_usd'];
const FAILED = ['error', 'error_code'];

describe('a rental that is still open at the end of the hold', () => {
  test('is 409 with the order shown as unresolved, also on repetition and by its key, and stays one order', async () => {
    const { hasty: client, http } = await newRenter();
    const before = await balanceOf(http);
    const first = await rentOnce(http.at(hasty.baseUrl), 'open');
    expect(first.status).toBe(409);
    expect(Object.keys(first.body).sort()).toEqual([...MEMBERS, ...CHARGED, ...FAILED].sort());
    expect(first.body).toMatchObject({
      idempotency_key: 'open',
      status: 'unresolved',
      settled: false,
      needs_attention: true,
      error_code: 'SUPPLIER_UNKNOWN',
      energy: 65_000,
      duration_sec: 3600,
      credits: 8_775_000,
    });
    const again = await client.rent(body(), 'open');
    expect([again, client.attempts]).toEqual([first.body, 1]);
    expect(await client.order('open')).toEqual(first.body);
    expect(await balanceOf(http)).toBe(before - 8_775_000);
    expect(await ordersOf(http)).toHaveLength(1);
  });

  test('is the same order at POST /v1/orders, so that a change of path does not buy twice', async () => {
    const { hasty: client, http } = await newRenter();
    const { id } = await client.rent(body(), 'both');
    const replay = await http.post('/v1/orders', body(), withKey('both'));
    expect([replay.status, replay.body.id, replay.headers['idempotency-replayed']]).toEqual([202, id, 'true']);
  });
});

describe('a rental that is refunded while its caller waits', () => {
  test('is 502 for its buyer and 200 for every replay, both with the order shown as refused', async () => {
    const { http, client } = await newRenter();
    const before = await balanceOf(http);
    const answering = rentOnce(http, 'refund');
    await taken(http, 'refund');
    await fixture.refund(http, 'refund');
    const first = await answering;
    expect(first.status).toBe(502);
    expect(Object.keys(first.body).sort()).toEqual([...MEMBERS, ...FAILED].sort());
    expect(first.body).toMatchObject({ status: 'refused', settled: true, needs_attention: false });
    expect(first.body.error_code).toBe('SUPPLIER_REFUSED');
    const replay = await rentOnce(http, 'refund');
    expect([replay.status, replay.headers['idempotency-replayed']]).toEqual([200, 'true']);
    expect(replay.body).toEqual(first.body);
    expect(await client.order('refund')).toEqual(first.body);
    expect(await balanceOf(http)).toBe(before);
    expect(await ordersOf(http)).toHaveLength(1);
  });

  test('is returned as an order to a client that repeats after its 502', async () => {
    const { http, client } = await newRenter();
    const renting = client.rent(body(), 'repeated');
    await taken(http, 'repeated');
    await fixture.refund(http, 'repeated');
    expect(await renting).toMatchObject({ idempotency_key: 'repeated', status: 'refused', settled: true });
    expect(client.attempts).toBe(2);
    expect(await ordersOf(http)).toHaveLength(1);
  });
});

describe('our refusals', () => {
  /** Expects an error without an order, no charge, and a free key. */
  async function expectRefused(renter: Renter, request: object, code: ErrorCode): Promise<void> {
    const key = `key-${randomUUID()}`;
    const before = await balanceOf(renter.http);
    const answer = await renter.http.post('/v1/energy/rent', request, withKey(key));
    expectError(answer, code);
    expect(answer.body).not.toHaveProperty('id');
    expect(answer.headers['idempotency-key']).toBe(key);
    expect(await balanceOf(renter.http)).toBe(before);
    expect(await ordersOf(renter.http)).toEqual([]);
    await expect(renter.client.rent(request, key)).rejects.toMatchObject({ code, httpStatus: answer.status });
    expectError(await renter.http.post('/v1/energy/order', { key }), 'NOT_FOUND');
  }

  test('are errors that no client mistakes for an order, and leave nothing', async () => {
    const renter = await newRenter();
    await expectRefused(renter, { quote_ref: 'forged' }, 'QUOTE_NOT_FOUND');
    await expectRefused(renter, body({ energy: 6000 }), 'NOT_WORTH_RENTING');
    await expectRefused(renter, body({ receive_address: newOwner().address }), 'RECEIVER_NOT_ACTIVATED');
    await expectRefused(renter, body({ receive_address: fixture.chain.token }), 'RECEIVER_NOT_SUPPORTED');
    const { ref } = await renter.client.quote(body());
    await expectRefused(renter, { quote_ref: ref, energy: 70_000 }, 'QUOTE_MISMATCH');
    await expectRefused(await newRenter(1n), body(), 'INSUFFICIENT_CREDITS');
    const wallets = walletsOn(fixture.api.database, fixture.api.app);
    await wallets.setStatus(fixture.chain.pool.address, 'paused', AUTHOR);
    try {
      await expectRefused(renter, body(), 'CAPACITY_UNAVAILABLE');
    } finally {
      await wallets.setStatus(fixture.chain.pool.address, 'active', AUTHOR);
    }
    const byQuote = await newRenter();
    await fixture.api.projects.change(byQuote.http.merchant, { requireQuote: true }, AUTHOR);
    await expectRefused(byQuote, body(), 'QUOTE_REQUIRED');
  });

  test('of a purchase leave the key free for the same purchase', async () => {
    const { http, hasty: client } = await newRenter(1n);
    expectError(await rentOnce(http, 'poor'), 'INSUFFICIENT_CREDITS');
    await fixture.api.ledger.topUp(http.merchant, 1_000_000_000n as never, `more-${http.merchant}`, AUTHOR);
    expect(await client.rent(body(), 'poor')).toMatchObject({ idempotency_key: 'poor', status: 'unresolved' });
  });

  test('a key of another purchase and a used quote are refused in words that invite no second purchase', async () => {
    const { hasty: client } = await newRenter();
    const { ref } = await client.quote(body());
    await client.rent({ quote_ref: ref }, 'mine');
    await expect(client.rent(body(), 'mine')).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: expect.stringContaining('already used for a different order'),
    });
    await expect(client.rent({ quote_ref: ref }, 'other')).rejects.toMatchObject({
      code: 'QUOTE_ALREADY_USED',
      message: expect.stringContaining('shows its order, by the key of that order'),
    });
  });
});

describe('wrong inputs', () => {
  test('refuses a rental without an Idempotency-Key, though a nonce could provide one', async () => {
    const { http } = await newRenter();
    expectError(await http.post('/v1/energy/rent', body()), 'IDEMPOTENCY_KEY_REQUIRED');
    expectError(await http.post('/v1/energy/rent', {}), 'INVALID_REQUEST');
    for (const key of ['ext_1', 'nonce_1', 'auto_1', 'a'.repeat(256)]) {
      expectError(await rentOnce(http, key), 'INVALID_REQUEST');
    }
    expect(await ordersOf(http)).toEqual([]);
  });

  test.each<readonly [string, object]>([
    ['/v1/energy/quote', {}],
    ['/v1/energy/quote', { receive_address: 'T123' }],
    ['/v1/energy/quote', { receive_address: 'T', energy: '65000' }],
    ['/v1/energy/rent', {}],
    ['/v1/energy/rent', { energy: 65_000 }],
    ['/v1/energy/rent', { quote_ref: '' }],
    ['/v1/energy/rent', { quote_ref: 'x', colour: 'red' }],
    ['/v1/energy/order', {}],
    ['/v1/energy/order', { key: 7 }],
    ['/v1/energy/order', { key: '' }],
    ['/v1/energy/order', { key: 'x'.repeat(256) }],
    ['/v1/energy/order', { key: 'x', id: 1 }],
    ['/v1/credits/balance', { currency: 'USDT' }],
    ['/v1/credits/topup', { amount: 25 }],
    ['/v1/credits/topup', { currency: 'USDT', colour: 'red' }],
  ])('%s names what is wrong with %j', async (path, request) => {
    const { http } = await newRenter();
    const answer = await http.post(path, request, withKey('k'));
    expectError(answer, 'INVALID_REQUEST');
    expect(answer.body.details.length).toBeGreaterThan(0);
  });

  test('every path except the balance requires HMAC', async () => {
    const { http } = await newRenter();
    const byMd5 = await makeCustomer(fixture.api);
    for (const path of ['/v1/energy/quote', '/v1/energy/rent', '/v1/energy/order', '/v1/credits/topup']) {
      expectError(await byMd5.post(path, {}), 'HMAC_REQUIRED');
    }
    expect((await byMd5.post('/v1/credits/balance', {})).status).toBe(200);
    expectError(await http.request('POST', '/v1/energy/quote'), 'INVALID_REQUEST');
  });
});

describe('reading', () => {
  test('finds an order by key only if it is a rental of this project', async () => {
    const [one, other] = [await newRenter(), await newRenter()];
    await one.hasty.rent(body(), 'of-one');
    const activation = await one.http.post('/v1/activate', { address: newOwner().address }, withKey('activation'));
    expect(activation.status).toBe(202);
    expectError(await other.http.post('/v1/energy/order', { key: 'of-one' }), 'NOT_FOUND');
    for (const key of ['activation', 'none', '\u0000', 'é']) {
      expectError(await one.http.post('/v1/energy/order', { key }), 'NOT_FOUND');
    }
  });

  test('a quote is that of POST /v1/quotes, and a rental redeems it at its price', async () => {
    const { client, hasty: renting, http } = await newRenter();
    const quote = await client.quote(body());
    const { ref, expires_at, ...terms } = (await http.post('/v1/quotes', body())).body;
    expect(quote).toEqual({ ...terms, ref: expect.any(String), expires_at: expect.any(String) });
    expect([typeof ref, typeof expires_at]).toEqual(['string', 'string']);
    const order = await renting.rent({ quote_ref: quote.ref }, 'quoted');
    expect(order).toMatchObject({ credits: quote.credits, price_sun: quote.price_sun });
  });

  test('quotes of both paths share one budget', async () => {
    const { http } = await newRenter();
    const remaining = async (path: string) => (await http.post(path, body())).headers['ratelimit-remaining'];
    expect([await remaining('/v1/quotes'), await remaining('/v1/energy/quote')]).toEqual(['119', '118']);
  });
});

describe('credits', () => {
  test('answers the balance with every member, even for an empty body', async () => {
    const { client } = await newRenter(50_000_000n);
    const balance = await client.balance({});
    expect(balance).toEqual({
      credits_balance: 50_000_000,
      usd_balance: '5.00',
      is_postpaid: false,
      debt_limit_credits: 0,
      can_execute_gas_operations: true,
      gas_ops_min_credits: 1,
      timestamp: expect.any(String),
    });
    expect(await client.balance()).toEqual({ ...balance, timestamp: expect.any(String) });
  });

  test('a postpaid project has its limit, or the largest integer without one, and no remaining amount', async () => {
    const postpaid = async (debtLimitCredits: bigint | undefined) => {
      const { merchant, apiKey } = await makeCustomer(fixture.api, 0n, { kind: 'postpaid', debtLimitCredits } as never);
      return new FamilyClient(fixture.api.baseUrl, merchant, apiKey).balance({});
    };
    const [limited, unlimited] = [await postpaid(5_000n), await postpaid(undefined)];
    expect(limited).toMatchObject({ is_postpaid: true, debt_limit_credits: 5000, can_execute_gas_operations: true });
    expect(unlimited).toMatchObject({ debt_limit_credits: 2 ** 53 - 1, can_execute_gas_operations: true });
    const { client } = await newRenter(0n);
    expect(await client.balance()).toMatchObject({ can_execute_gas_operations: false });
  });

  test('offers no top-up', async () => {
    const { http } = await newRenter();
    expectError(await http.post('/v1/credits/topup', { amount: '25.00', currency: 'USDT' }), 'TOPUP_NOT_CONFIGURED');
    expectError(await http.request('POST', '/v1/credits/topup'), 'TOPUP_NOT_CONFIGURED');
  });
});

describe('waiting', () => {
  test('holds no connection to the database, however many wait', async () => {
    const renter = await newRenter(100_000_000_000n);
    const patient = await openApi({ ...fixture.env, DATABASE_POOL_MAX: '4' });
    try {
      const http = renter.http.at(patient.baseUrl);
      const keys = Array.from({ length: 12 }, (_, index) => `wait-${index.toString()}`);
      const answering = keys.map((key) => rentOnce(http, key));
      for (const key of keys) await taken(http, key);
      expect((await http.get('/v1/balance')).status).toBe(200);
      // A stopping process releases its waiting callers and answers with the order's current state.
      patient.app.get(OrderWaits).releaseAll();
      for (const { status, body: order } of await Promise.all(answering)) {
        expect([status, order.status]).toEqual([409, 'unresolved']);
      }
    } finally {
      await patient.close();
    }
  });

  test('is granted to 2 000 in a process, 500 of them of one project, and further ones are answered immediately', async () => {
    const [renter, other] = [await newRenter(), await newRenter()];
    const full = await openApi(fixture.env);
    try {
      const waits = full.app.get(OrderWaits);
      const fill = (projectId: string): void => {
        for (let waiting = 0; waiting < 1000; waiting += 1) void waits.waitForOutcome(projectId, 0n, 600);
      };
      const { merchant } = renter.http;
      fill(merchant);
      const answer = await rentOnce(renter.http.at(full.baseUrl), 'too-many');
      expect([answer.status, answer.body.status]).toEqual([409, 'unresolved']);
      // Another project still gets a place, until none is left.
      const held = rentOnce(other.http.at(full.baseUrl), 'held');
      await taken(other.http, 'held');
      fill('a');
      fill('b');
      fill('c');
      const further = await rentOnce(other.http.at(full.baseUrl), 'further');
      expect([further.status, further.body.status]).toEqual([409, 'unresolved']);
      await fixture.refund(other.http, 'held');
      expect((await held).body.status).toBe('refused');
      // Ends the order that got no place.
      await fixture.refund(other.http, 'further');
    } finally {
      await full.close();
    }
  });

  test('a broken connection costs a client nothing: it repeats and gets the same order', async () => {
    const renter = await newRenter();
    const proxy = await openProxy(fixture.api.baseUrl);
    try {
      const client = new FamilyClient(new URL(proxy.url).origin, renter.http.merchant, renter.http.apiKey);
      const renting = client.rent(body(), 'broken');
      await taken(renter.http, 'broken');
      proxy.cut();
      proxy.mend();
      const [before] = (await ordersOf(renter.http)) as { id: number }[];
      await fixture.refund(renter.http, 'broken');
      expect(await renting).toMatchObject({ id: before!.id, status: 'refused' });
      expect(client.attempts).toBeGreaterThan(1);
      expect(await ordersOf(renter.http)).toHaveLength(1);
    } finally {
      await proxy.close();
    }
  });
});

describe('a rental that is delivered', () => {
  test('is 200 with the order, immediately after the delivery and for every replay', async () => {
    const { http, client, hasty: impatient } = await newRenter();
    const open = await impatient.rent(body(), 'before');
    expect(open.status).toBe('unresolved');
    const worker = await startProcess('worker', fixture.env);
    try {
      const first = await rentOnce(http, 'now', { duration_sec: 300 });
      expect(first.status).toBe(200);
      const delivered = ['delivered_energy', 'delivered_at'];
      expect(Object.keys(first.body).sort()).toEqual([...MEMBERS, ...CHARGED, ...delivered].sort());
      expect(first.body).toMatchObject({ status: 'delivered', needs_attention: false, duration_sec: 300 });
      expect(first.body.delivered_energy).toBeGreaterThanOrEqual(65_000);
      const replay = await rentOnce(http, 'now', { duration_sec: 300 });
      expect([replay.status, replay.headers['idempotency-replayed']]).toEqual([200, 'true']);
      expect({ ...replay.body, settled: true }).toEqual({ ...first.body, settled: true });
      const later = await client.rent(body(), 'before');
      expect(later).toMatchObject({ id: open.id, status: 'delivered' });
      expect(later).not.toHaveProperty('error_code');
      await until(async () => ((await client.order('before')).settled === true ? true : undefined), 30_000, 'settling');
      expect(await ordersOf(http)).toHaveLength(2);
    } finally {
      await worker.process.stop();
    }
  });
});
