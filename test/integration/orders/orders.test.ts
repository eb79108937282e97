// Buying over HTTP, on real Postgres, Redis and the local chain. No worker runs: orders stay reserved unless a test
// ends them through the worker's parts.
import type { Customer } from '../../support/api/client.js';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { until } from '../../../packages/local/src/wait.js';
import { credits, energy, sun } from '../../../src/domain/units.js';
import { Config } from '../../../src/platform/config/config.js';
import { Sealers } from '../../../src/platform/support/sealers.js';
import { sealQuote } from '../../../src/modules/quotes/quote-token.js';
import { AUTHOR, makeCustomer, type TestApi } from '../../support/api/factory.js';
import { newOwner, type OrderChain } from '../../support/chain/order-chain.js';
import {
  balanceOf,
  expectRefusal,
  openOrderFixture,
  withKey,
  type OrderFixture,
} from '../../support/api/order-fixture.js';
import { OF_THIS_DATABASE } from '../../setup/waiting.js';

let fixture: OrderFixture;
let api: TestApi;
let chain: OrderChain;

beforeAll(async () => {
  fixture = await openOrderFixture();
  ({ api, chain } = fixture);
});

afterAll(() => fixture.close());

describe('buying', () => {
  test('charges a direct order at the present price and answers with every member that applies', async () => {
    const customer = await makeCustomer(api);
    const before = await balanceOf(customer);
    const answer = await customer.post(
      '/v1/orders',
      { receive_address: fixture.receiver(), energy: 65_000 },
      withKey('a'),
    );
    expect(answer.status).toBe(202);
    expect(answer.headers['location']).toBe('/v1/orders/a');
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
    const { id, created_at, ...rest } = answer.body;
    expect(Number.isSafeInteger(id)).toBe(true);
    expect(new Date(created_at).toISOString()).toBe(created_at);
    expect(rest).toEqual({
      key: 'a',
      idempotency_key: 'a',
      kind: 'rental',
      status: 'reserved',
      receive_address: fixture.receiver(),
      energy: 65_000,
      duration_sec: 3600,
      price_sun: 65_000 * 45,
      price_trx: '2.925000',
      price_usd: '0.877500',
      credits: 8_775_000,
      trx_usd: '0.30000000',
      fee_limit_sun: 6_500_000,
      settled: false,
      needs_attention: false,
      delegations: [],
    });
    expect(await balanceOf(customer)).toBe(before - 8_775_000);
    const found = await customer.get('/v1/orders/a');
    expect(found.status).toBe(200);
    expect(found.body).toEqual(answer.body);
  });

  test('without a key one is made and returned, and finds the order', async () => {
    const customer = await makeCustomer(api);
    const answer = await customer.post('/v1/orders', { receive_address: fixture.receiver(), energy: 65_000 });
    expect(answer.status).toBe(202);
    expect(answer.body.key).toMatch(/^[A-Za-z0-9_-]{16,}$/);
    expect(answer.headers['idempotency-key']).toBe(answer.body.key);
    expect((await customer.get(`/v1/orders/${answer.body.key}`)).body).toEqual(answer.body);
    const replay = await customer.post(
      '/v1/orders',
      { receive_address: fixture.receiver(), energy: 65_000 },
      withKey(answer.body.key),
    );
    expect(replay.headers['idempotency-replayed']).toBe('true');
    expect(replay.body).toEqual(answer.body);
  });

  test('the service sizes an order without energy', async () => {
    const customer = await makeCustomer(api);
    const quote = await customer.post('/v1/quotes', { receive_address: fixture.receiver() });
    const answer = await customer.post('/v1/orders', { receive_address: fixture.receiver() });
    expect(answer.status).toBe(202);
    expect(answer.body.energy).toBe(quote.body.energy);
  });

  test('redeems a quote at its own price, even after the price changed', async () => {
    const customer = await makeCustomer(api);
    const terms = {
      receiveAddress: fixture.receiver(),
      energy: energy(65_000),
      durationSec: 3600,
      priceSun: sun(2_000_000),
      credits: credits(6_000_000),
      rate: 30_000_000n as never,
      id: randomUUID(),
      expiresAtMs: Date.now() + 60_000,
    };
    const ref = sealQuote(api.app.get(Sealers).quote, customer.merchant, terms);
    const answer = await customer.post('/v1/orders', { quote_ref: ref });
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ price_sun: 2_000_000, credits: 6_000_000, price_usd: '0.600000' });
  });

  test('names every fault of the request', async () => {
    const customer = await makeCustomer(api);
    for (const body of [
      {},
      { energy: 65_000 },
      { receive_address: 'T123' },
      { receive_address: fixture.receiver(), energy: 999 },
      { receive_address: fixture.receiver(), energy: '65000' },
      { receive_address: fixture.receiver(), duration_sec: 299 },
      { receive_address: fixture.receiver(), duration_sec: 2_592_001, energy: 65_000 },
      { receive_address: fixture.receiver(), quote: 'x' },
      { quote_ref: '' },
      { quote_ref: 'x'.repeat(513) },
    ]) {
      const answer = await customer.post('/v1/orders', body);
      expectRefusal(answer, 400, 'INVALID_REQUEST');
      expect(answer.body.details.length).toBeGreaterThan(0);
    }
    expectRefusal(
      await customer.post('/v1/orders', { receive_address: fixture.receiver() }, withKey('')),
      400,
      'INVALID_REQUEST',
    );
    expect((await customer.get('/v1/orders')).body.items).toEqual([]);
  });

  test('every answer to a purchase carries its key, also a refusal, and also a key that was made', async () => {
    const customer = await makeCustomer(api);
    const unknown = customer.withKey('wrong');
    const [good, activation] = [
      { receive_address: fixture.receiver(), energy: 65_000 },
      { address: newOwner().address },
    ];
    const asked: [Customer, string, Record<string, unknown>, number][] = [
      [customer, '/v1/orders', {}, 400],
      [customer, '/v1/orders', { ...good, energy: 999 }, 400],
      [customer, '/v1/orders', { ...good, receive_address: newOwner().address }, 409],
      [customer, '/v1/orders', { quote_ref: 'nothing' }, 404],
      [customer, '/v1/activate', { address: fixture.receiver() }, 409],
      [unknown, '/v1/orders', good, 401],
      [unknown, '/v1/activate', activation, 401],
    ];
    for (const [who, path, body, status] of asked) {
      const answer = await who.post(path, body, withKey('mine'));
      expect([answer.status, answer.headers['idempotency-key']]).toEqual([status, 'mine']);
      expect(answer.body).not.toHaveProperty('key');
      const keyless = await who.post(path, body);
      expect(keyless.status).toBe(status);
      if (status === 404 || status === 409) expect(keyless.headers['idempotency-key']).toMatch(/^[A-Za-z0-9_-]{16,}$/);
    }
    const malformed = await customer.post('/v1/orders', good, withKey('two  \u00e9'));
    expect([malformed.status, malformed.headers['idempotency-key']]).toEqual([400, undefined]);
    expect((await customer.get('/v1/balance', withKey('mine'))).headers['idempotency-key']).toBeUndefined();
  });

  test('refuses a receiver that cannot take a delegation before any charge', async () => {
    const customer = await makeCustomer(api);
    const before = await balanceOf(customer);
    const order = async (address: string) =>
      customer.post('/v1/orders', { receive_address: address, energy: 65_000 }, withKey('k'));
    expectRefusal(await order(newOwner().address), 409, 'RECEIVER_NOT_ACTIVATED');
    expectRefusal(await order(chain.token), 422, 'RECEIVER_NOT_SUPPORTED');
    expectRefusal(await order(chain.pool.address), 422, 'RECEIVER_NOT_SUPPORTED');
    expectRefusal(await order(chain.activation.address), 422, 'RECEIVER_NOT_SUPPORTED');
    expect(await balanceOf(customer)).toBe(before);
    expect((await order(fixture.receiver())).status).toBe(202);
  });

  test('does not sell what renting cannot make cheaper', async () => {
    const customer = await makeCustomer(api);
    const body = { receive_address: fixture.receiver(), energy: 6000 };
    expectRefusal(await customer.post('/v1/orders', body), 409, 'NOT_WORTH_RENTING');
  });
});

describe('keys', () => {
  test('a replay answers the order in its present state, says so, and never prices it again', async () => {
    const customer = await makeCustomer(api);
    const body = { receive_address: fixture.receiver(), energy: 70_000 };
    const first = await customer.post('/v1/orders', body, withKey('r 1'));
    expect(first.headers['location']).toBe('/v1/orders/r%201');
    const after = await balanceOf(customer);
    // An explicit default and a different member order make the same request.
    const replay = await customer.post('/v1/orders', { ...body, duration_sec: 3600 }, withKey('r 1'));
    expect(replay.status).toBe(202);
    expect(replay.text).toBe(first.text);
    expect(replay.headers['idempotency-replayed']).toBe('true');
    expect(await balanceOf(customer)).toBe(after);
    await fixture.refund(customer, 'r 1');
    const ended = await customer.post('/v1/orders', body, withKey('r 1'));
    expect(ended.status).toBe(200);
    expect(ended.headers['location']).toBeUndefined();
    expect(ended.body).toMatchObject({ status: 'refunded', settled: true, error_code: 'SUPPLIER_REFUSED' });
    expect(ended.body.error.length).toBeGreaterThan(0);
    expect((await balanceOf(customer)) - after).toBe(first.body.credits);
  });

  test('refuses another request under a used key, whatever else is wrong with it', async () => {
    const customer = await makeCustomer(api);
    await customer.post('/v1/orders', { receive_address: fixture.receiver(), energy: 65_000 }, withKey('k'));
    for (const body of [
      { receive_address: fixture.receiver(), energy: 65_001 },
      { receive_address: fixture.receiver() },
      { receive_address: fixture.receiver(1), energy: 65_000 },
      { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 600 },
      { receive_address: newOwner().address, energy: 65_000 },
      { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 86_400 },
      { quote_ref: 'forged' },
      { quote_ref: await fixture.quoteRef(customer) },
    ]) {
      expectRefusal(await customer.post('/v1/orders', body, withKey('k')), 422, 'IDEMPOTENCY_KEY_REUSED');
    }
    expectRefusal(
      await customer.post('/v1/activate', { address: newOwner().address }, withKey('k')),
      422,
      'IDEMPOTENCY_KEY_REUSED',
    );
  });

  test('a refusal leaves the key free and the quote usable', async () => {
    const customer = await makeCustomer(api, 0n);
    const ref = await fixture.quoteRef(customer);
    expectRefusal(await customer.post('/v1/orders', { quote_ref: ref }, withKey('k')), 402, 'INSUFFICIENT_CREDITS');
    expect((await customer.get('/v1/orders/k')).status).toBe(404);
    await api.ledger.topUp(customer.merchant, credits(8_775_000), randomUUID(), AUTHOR);
    const answer = await customer.post('/v1/orders', { quote_ref: ref }, withKey('k'));
    expect(answer.status).toBe(202);
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
    expect(await balanceOf(customer)).toBe(0);
  });

  test('the same key of two projects is two keys', async () => {
    const [one, other] = [await makeCustomer(api), await makeCustomer(api)];
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    const first = await one.post('/v1/orders', body, withKey('shared'));
    const second = await other.post('/v1/orders', body, withKey('shared'));
    expect(second.status).toBe(202);
    expect(second.body.id).not.toBe(first.body.id);
    const third = await makeCustomer(api);
    expectRefusal(await third.get('/v1/orders/shared'), 404, 'NOT_FOUND');
  });

  test('finds a key by its percent-encoded form, and a plus is a plus', async () => {
    const customer = await makeCustomer(api);
    const key = 'a/b+c d%20?&=~';
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    const made = await customer.post('/v1/orders', body, withKey(key));
    expect(made.status).toBe(202);
    expect((await customer.get(made.headers['location']!)).body.key).toBe(key);
    for (const path of ['%00', '%zz', 'a+b', encodeURIComponent('ü'), 'x'.repeat(300), '%F0']) {
      expectRefusal(await customer.get(`/v1/orders/${path}`), 404, 'NOT_FOUND');
    }
  });
});

describe('quotes', () => {
  test('a used quote never makes a second order, not even after a refund', async () => {
    const customer = await makeCustomer(api);
    const ref = await fixture.quoteRef(customer);
    const first = await customer.post('/v1/orders', { quote_ref: ref }, withKey('one'));
    expect(first.status).toBe(202);
    expectRefusal(await customer.post('/v1/orders', { quote_ref: ref }, withKey('two')), 409, 'QUOTE_ALREADY_USED');
    expectRefusal(await customer.post('/v1/orders', { quote_ref: ref }), 409, 'QUOTE_ALREADY_USED');
    const retry = await customer.post('/v1/orders', { quote_ref: ref }, withKey('one'));
    expect(retry.text).toBe(first.text);
    await fixture.refund(customer, 'one');
    expectRefusal(await customer.post('/v1/orders', { quote_ref: ref }, withKey('three')), 409, 'QUOTE_ALREADY_USED');
    expect((await customer.get('/v1/orders')).body.items).toHaveLength(1);
  });

  test('judges a quote in order: known, used, expired, mismatch, receiver, credits', async () => {
    const customer = await makeCustomer(api, 0n);
    const seal = (over: object) =>
      sealQuote(api.app.get(Sealers).quote, customer.merchant, {
        receiveAddress: newOwner().address,
        energy: energy(65_000),
        durationSec: 3600,
        priceSun: sun(2_000_000),
        credits: credits(6_000_000),
        rate: 30_000_000n as never,
        id: randomUUID(),
        expiresAtMs: Date.now() - 10_000,
        ...over,
      });
    const other = await makeCustomer(api);
    const theirs = await fixture.quoteRef(other);
    const post = async (body: object) => customer.post('/v1/orders', body, withKey('k'));
    expectRefusal(await post({ quote_ref: 'nonsense' }), 404, 'QUOTE_NOT_FOUND');
    expectRefusal(await post({ quote_ref: theirs }), 404, 'QUOTE_NOT_FOUND');
    expectRefusal(await post({ quote_ref: seal({}), energy: 70_000 }), 409, 'QUOTE_EXPIRED');
    const fresh = { expiresAtMs: Date.now() + 60_000 };
    expectRefusal(await post({ quote_ref: seal(fresh), energy: 70_000 }), 409, 'QUOTE_MISMATCH');
    expectRefusal(await post({ quote_ref: seal(fresh), duration_sec: 600 }), 409, 'QUOTE_MISMATCH');
    expectRefusal(await post({ quote_ref: seal(fresh), receive_address: fixture.receiver() }), 409, 'QUOTE_MISMATCH');
    expectRefusal(await post({ quote_ref: seal(fresh) }), 409, 'RECEIVER_NOT_ACTIVATED');
    const activated = { ...fresh, receiveAddress: fixture.receiver() };
    const huge = { ...activated, energy: energy(900_000_000_000n) };
    expectRefusal(await post({ quote_ref: seal(huge) }), 503, 'CAPACITY_UNAVAILABLE');
    expectRefusal(await post({ quote_ref: seal(activated) }), 402, 'INSUFFICIENT_CREDITS');
    const id = randomUUID();
    await api.ledger.topUp(customer.merchant, credits(6_000_000), randomUUID(), AUTHOR);
    const redeemed = await customer.post('/v1/orders', { quote_ref: seal({ ...activated, id }) });
    expect(redeemed.status).toBe(202);
    // The same quote, now also expired and with other terms: `used` is checked first.
    expectRefusal(await post({ quote_ref: seal({ id }), energy: 70_000 }), 409, 'QUOTE_ALREADY_USED');
  });

  test('the refusal of one request of a key does not refuse another valid one of the same key', async () => {
    const customer = await makeCustomer(api);
    const tries = Array.from({ length: 5 }, async (_, index) => {
      const quote_ref = await fixture.quoteRef(customer);
      const post = async (body: object) => customer.post('/v1/orders', body, withKey(`both-${index.toString()}`));
      // Both run concurrently under the same key.
      const [mismatch, sound] = await Promise.all([post({ quote_ref, energy: 70_000 }), post({ quote_ref })]);
      return { mismatch, sound };
    });
    for (const { mismatch, sound } of await Promise.all(tries)) {
      expect(sound.status).toBe(202);
      // It may be answered as a replay of the existing order.
      if (mismatch.status !== 202) expectRefusal(mismatch, 409, 'QUOTE_MISMATCH');
    }
    expect((await customer.get('/v1/orders')).body.items).toHaveLength(tries.length);
  });

  test('finds a key with # by its path, encoded or not', async () => {
    const customer = await makeCustomer(api);
    for (const key of ['invoice', 'invoice#17']) {
      const order = await customer.post('/v1/orders', { receive_address: fixture.receiver() }, withKey(key));
      expect(order.status).toBe(202);
    }
    for (const path of ['/v1/orders/invoice%2317', '/v1/orders/invoice#17']) {
      expect((await customer.get(path)).body.key).toBe('invoice#17');
    }
  });

  test('honours a quote that arrived in time, however long the order waits for its turn', async () => {
    const customer = await makeCustomer(api);
    const others = Array.from({ length: 16 }, (_, place) => `busy-${place.toString()}`);
    const blocker = new pg.Client({ connectionString: fixture.env['DATABASE_URL'] });
    await blocker.connect();
    try {
      await blocker.query('SELECT pg_advisory_lock(1, hashtext($1::text || k)) FROM unnest($2::text[]) k', [
        customer.merchant,
        others,
      ]);
      const body = { receive_address: fixture.receiver(), energy: 65_000 };
      const busy = others.map((key) => customer.post('/v1/orders', body, withKey(key)));
      const waiting = `SELECT count(*)::integer AS n FROM pg_locks
        WHERE locktype = 'advisory' AND classid = 1 AND NOT granted AND ${OF_THIS_DATABASE}`;
      const turns = api.app.get(Config).database.poolMax - 2;
      const isFull = async () => (await blocker.query<{ n: number }>(waiting)).rows[0]!.n >= turns || undefined;
      await until(isFull, 10_000, 'every turn of the project being taken');
      const expiresAtMs = Date.now() + 1000;
      const ref = sealQuote(api.app.get(Sealers).quote, customer.merchant, {
        receiveAddress: fixture.receiver(),
        energy: energy(65_000),
        durationSec: 3600,
        priceSun: sun(2_925_000),
        credits: credits(8_775_000),
        rate: 30_000_000n as never,
        id: randomUUID(),
        expiresAtMs,
      });
      const redeemed = customer.post('/v1/orders', { quote_ref: ref }, withKey('in time'));
      // Late requests get two seconds beyond the shown expiry.
      await blocker.query(`SELECT pg_sleep(extract(epoch FROM to_timestamp($1) - clock_timestamp()) + 0.5)`, [
        expiresAtMs / 1000 + 2,
      ]);
      await blocker.query('SELECT pg_advisory_unlock_all()');
      expect((await redeemed).status).toBe(202);
      for (const { status } of await Promise.all(busy)) expect(status).toBe(202);
    } finally {
      await blocker.end();
    }
  });

  test('members that repeat the quote are no mismatch, and the replay needs only the ref', async () => {
    const customer = await makeCustomer(api);
    const ref = await fixture.quoteRef(customer);
    const body = { quote_ref: ref, receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
    const first = await customer.post('/v1/orders', body, withKey('k'));
    expect(first.status).toBe(202);
    expect((await customer.post('/v1/orders', { quote_ref: ref }, withKey('k'))).text).toBe(first.text);
  });
});
