// Terms, activation, listing and waiting over HTTP, on real Postgres, Redis and the local chain.
import { randomUUID } from 'node:crypto';
import { credits } from '../../../src/domain/units.js';
import type { Customer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer, type TestApi } from '../../support/api/factory.js';
import { newOwner, type OrderChain } from '../../support/chain/order-chain.js';
import {
  balanceOf,
  expectRefusal,
  openOrderFixture,
  withKey,
  type OrderFixture,
} from '../../support/api/order-fixture.js';

let fixture: OrderFixture;
let api: TestApi;
let chain: OrderChain;

beforeAll(async () => {
  fixture = await openOrderFixture();
  ({ api, chain } = fixture);
});

afterAll(() => fixture.close());

describe('options and terms', () => {
  test('a project that orders only by quote is asked for one', async () => {
    const customer = await makeCustomer(api);
    await api.projects.change(customer.merchant, { requireQuote: true }, AUTHOR);
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    expectRefusal(await customer.post('/v1/orders', body), 400, 'QUOTE_REQUIRED');
    expect((await customer.post('/v1/orders', { quote_ref: await fixture.quoteRef(customer) })).status).toBe(202);
  });

  test('a project that requires a key refuses orders without one', async () => {
    const customer = await makeCustomer(api);
    await api.projects.change(customer.merchant, { requireIdempotencyKey: true }, AUTHOR);
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    expectRefusal(await customer.post('/v1/orders', body), 400, 'IDEMPOTENCY_KEY_REQUIRED');
    expectRefusal(
      await customer.post('/v1/activate', { address: newOwner().address }),
      400,
      'IDEMPOTENCY_KEY_REQUIRED',
    );
    expect((await customer.post('/v1/orders', body, withKey('k'))).status).toBe(202);
    // Invalid members are reported first.
    const wrong = await customer.post('/v1/orders', { energy: 65_000 });
    expectRefusal(wrong, 400, 'INVALID_REQUEST');
    expect(wrong.body.details).toEqual([{ field: 'receive_address', msg: 'is required without a quote_ref' }]);
  });

  test('a daily cap stops the charge that would exceed it, and a refund of the day makes room again', async () => {
    const customer = await makeCustomer(api);
    await api.ledger.setDailyCap(customer.merchant, credits(8_775_000), AUTHOR);
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    expect((await customer.post('/v1/orders', body, withKey('k'))).status).toBe(202);
    expectRefusal(await customer.post('/v1/orders', body), 402, 'SPEND_CAP_REACHED');
    await fixture.refund(customer, 'k');
    expect((await customer.post('/v1/orders', body)).status).toBe(202);
  });

  test('refused orders close no connection to the database and leave nothing behind', async () => {
    // A new project each: recently refused ones take another path.
    const poor: Customer[] = [];
    while (poor.length < 30) poor.push(await makeCustomer(api, 0n));
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    const backends = async (): Promise<number[]> => {
      const rows = await api.database.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'energy-api'`,
      );
      return rows.map((row) => row.pid);
    };
    const sums = `SELECT (SELECT count(*)::int FROM orders) AS orders, (SELECT count(*)::int FROM leg) AS legs,
      (SELECT count(*)::int FROM credit_entry) AS entries, (SELECT sum(free_sun)::text FROM pool_slot) AS free`;
    // Opens as many connections as the pool allows.
    await Promise.all(poor.map(async () => api.database.query('SELECT pg_sleep(0.2)')));
    const [pidsBefore, before] = [await backends(), await api.database.query(sums)];
    // Orders by quote are refused inside the database, by a raised error.
    const quoted = await Promise.all(poor.map(async (customer) => ({ quote_ref: await fixture.quoteRef(customer) })));
    const answers = await Promise.all(
      poor.map(async (customer, index) =>
        customer.post('/v1/orders', index % 2 === 0 ? body : quoted[index]!, withKey('r')),
      ),
    );
    for (const answer of answers) expectRefusal(answer, 402, 'INSUFFICIENT_CREDITS');
    expect(await backends()).toEqual(expect.arrayContaining(pidsBefore));
    expect(await api.database.query(sums)).toEqual(before);
  });

  test('a postpaid project spends down to its debt limit and not a credit further', async () => {
    const limit = credits(8_775_000 * 2);
    const customer = await makeCustomer(api, 0n, { kind: 'postpaid', debtLimitCredits: limit });
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    expect((await customer.get('/v1/balance')).body).toMatchObject({
      credits_balance: 0,
      usd_balance: '0.00',
      is_postpaid: true,
      debt_limit_credits: 17_550_000,
      available_credits: 17_550_000,
    });
    expect((await customer.post('/v1/orders', body)).status).toBe(202);
    expect((await customer.post('/v1/orders', body)).status).toBe(202);
    expectRefusal(await customer.post('/v1/orders', body), 402, 'INSUFFICIENT_CREDITS');
    expect((await customer.get('/v1/balance')).body).toMatchObject({
      credits_balance: -17_550_000,
      usd_balance: '-1.76',
      available_credits: 0,
    });
    // A limit below the debt leaves nothing, not less than nothing.
    await api.ledger.setTerms(customer.merchant, { kind: 'postpaid', debtLimitCredits: credits(1) }, AUTHOR);
    expect((await customer.get('/v1/balance')).body).toMatchObject({ debt_limit_credits: 1, available_credits: 0 });
    await api.ledger.setTerms(customer.merchant, { kind: 'postpaid', debtLimitCredits: undefined }, AUTHOR);
    expect((await customer.post('/v1/orders', body)).status).toBe(202);
    const unlimited = (await customer.get('/v1/balance')).body;
    expect(unlimited).not.toHaveProperty('debt_limit_credits');
    expect(unlimited).not.toHaveProperty('available_credits');
  });

  describe('a refused charge', () => {
    const body = () => ({ receive_address: fixture.receiver(), energy: 65_000 });
    const PRICE = 8_775_000;

    /** Refuses an order by quote, one at the current price, and the same again for a recently refused key. */
    async function refusalsOf(customer: Customer, code: string) {
      const requests = [{ quote_ref: await fixture.quoteRef(customer) }, body(), body()];
      const answers = [];
      for (const request of requests) answers.push(await customer.post('/v1/orders', request));
      for (const answer of answers) expectRefusal(answer, 402, code);
      return answers.map(({ body: { needed_credits, available_credits, msg } }) => ({
        figures: [needed_credits, available_credits],
        msg: msg as string,
      }));
    }

    test('says which credits it needs, which a prepaid balance has, and to top up', async () => {
      const customer = await makeCustomer(api, 1_234n);
      for (const { figures, msg } of await refusalsOf(customer, 'INSUFFICIENT_CREDITS')) {
        expect(figures).toEqual([PRICE, 1_234]);
        expect(msg).toMatch(/needs 8775000 credits, but the balance is 1234\. Top up/);
        expect(msg).not.toContain('debt');
      }
      const activation = await customer.post('/v1/activate', { address: newOwner().address });
      expect(activation.body).toMatchObject({ needed_credits: 3_600_000, available_credits: 1_234 });
    });

    test('says what a debt limit leaves, and to pay or to raise it', async () => {
      const terms = { kind: 'postpaid', debtLimitCredits: credits(PRICE + 7) } as const;
      const customer = await makeCustomer(api, 0n, terms);
      expect((await customer.post('/v1/orders', body())).status).toBe(202);
      for (const { figures, msg } of await refusalsOf(customer, 'INSUFFICIENT_CREDITS')) {
        expect(figures).toEqual([PRICE, 7]);
        expect(msg).toMatch(
          /the debt limit leaves 7\. Pay what is owed, or ask the operator to raise the debt limit\.$/,
        );
      }
      // A limit below the debt leaves nothing, not less than nothing.
      await api.ledger.setTerms(customer.merchant, { kind: 'postpaid', debtLimitCredits: credits(1) }, AUTHOR);
      const [first] = await refusalsOf(customer, 'INSUFFICIENT_CREDITS');
      expect(first?.figures).toEqual([PRICE, 0]);
    });

    test('says what the daily cap of the project or of the key leaves today', async () => {
      const customer = await makeCustomer(api);
      await api.ledger.setDailyCap(customer.merchant, credits(PRICE + 100), AUTHOR);
      expect((await customer.post('/v1/orders', body(), withKey('k'))).status).toBe(202);
      for (const { figures, msg } of await refusalsOf(customer, 'SPEND_CAP_REACHED')) {
        expect(figures).toEqual([PRICE, 100]);
        expect(msg).toContain('the daily spend cap of this project leaves 100.');
      }
      await api.ledger.setDailyCap(customer.merchant, credits(100_000_000), AUTHOR);
      await api.database.query(`UPDATE api_key SET daily_cap_credits = spent_credits + 5 WHERE project_id = $1`, [
        customer.merchant,
      ]);
      const [ofKey] = await refusalsOf(customer, 'SPEND_CAP_REACHED');
      expect(ofKey?.figures).toEqual([PRICE, 5]);
      expect(ofKey?.msg).toContain('the daily spend cap of this API key leaves 5.');
    });
  });

  test('the balance of a prepaid project says so', async () => {
    const customer = await makeCustomer(api, 12_345_678n);
    const { timestamp, ...body } = (await customer.get('/v1/balance')).body;
    expect(body).toEqual({
      credits_balance: 12_345_678,
      usd_balance: '1.23',
      is_postpaid: false,
      debt_limit_credits: 0,
      available_credits: 12_345_678,
    });
    expect(new Date(timestamp).toISOString()).toBe(timestamp);
  });

  test('books a reference once, and an act leaves its trace', async () => {
    const customer = await makeCustomer(api, 0n);
    const reference = randomUUID();
    const first = await api.ledger.topUp(customer.merchant, credits(500), reference, AUTHOR);
    const again = await api.ledger.topUp(customer.merchant, credits(500), reference, AUTHOR);
    expect([first, again]).toEqual([
      { isNew: true, balanceCredits: 500n },
      { isNew: false, balanceCredits: 500n },
    ]);
    await expect(api.ledger.topUp(customer.merchant, credits(501), reference, AUTHOR)).rejects.toThrow(
      'already booked',
    );
    await api.ledger.adjust(customer.merchant, credits(-200), randomUUID(), AUTHOR);
    await expect(api.ledger.adjust(customer.merchant, credits(-301), randomUUID(), AUTHOR)).rejects.toThrow('below');
    await api.ledger.setTerms(customer.merchant, { kind: 'postpaid', debtLimitCredits: credits(5) }, AUTHOR);
    expect((await api.ledger.balanceOf(customer.merchant))?.balanceCredits).toBe(300n);
    const statement = await api.ledger.history(customer.merchant, 10);
    expect(statement.map(({ kind, credits: amount }) => [kind, amount])).toEqual([
      ['adjustment', -200n],
      ['topup', 500n],
    ]);
    const acts = await api.database.query<{ action: string }>(
      'SELECT action FROM audit_log WHERE subject = $1 ORDER BY id',
      [customer.merchant],
    );
    expect(acts.map((act) => act.action)).toEqual(
      expect.arrayContaining(['credits.account', 'credits.topup', 'credits.adjustment', 'credits.terms']),
    );
    await expect(api.database.query('UPDATE credit_entry SET credits = 1')).rejects.toThrow('append-only');
    await expect(api.database.query('DELETE FROM credit_entry')).rejects.toThrow('append-only');
  });
});

describe('activation', () => {
  test('costs the chain’s fee and the markup, as an order without energy', async () => {
    const customer = await makeCustomer(api);
    const address = newOwner().address;
    const answer = await customer.post('/v1/activate', { address }, withKey('act'));
    expect(answer.status).toBe(202);
    const { id: _id, created_at: _createdAt, ...rest } = answer.body;
    expect(rest).toEqual({
      key: 'act',
      idempotency_key: 'act',
      kind: 'activation',
      status: 'reserved',
      receive_address: address,
      price_sun: 1_200_000,
      price_trx: '1.200000',
      price_usd: '0.360000',
      credits: 3_600_000,
      trx_usd: '0.30000000',
      settled: false,
      needs_attention: false,
    });
    const replay = await customer.post('/v1/activate', { address }, withKey('act'));
    expect(replay.text).toBe(answer.text);
    expect(replay.headers['idempotency-replayed']).toBe('true');
    expect((await customer.get('/v1/orders/act')).body).toEqual(answer.body);
  });

  test('does not activate an existing account again', async () => {
    const customer = await makeCustomer(api);
    const before = await balanceOf(customer);
    expectRefusal(await customer.post('/v1/activate', { address: fixture.receiver() }), 409, 'ALREADY_ACTIVATED');
    expectRefusal(await customer.post('/v1/activate', { address: chain.token }), 409, 'ALREADY_ACTIVATED');
    expectRefusal(await customer.post('/v1/activate', {}), 400, 'INVALID_REQUEST');
    expect(await balanceOf(customer)).toBe(before);
  });
});

describe('listing', () => {
  test('pages are newest first, complete and without repeats', async () => {
    const customer = await makeCustomer(api);
    const made: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      const body = { receive_address: fixture.receiver(index), energy: 65_000 };
      made.unshift((await customer.post('/v1/orders', body, withKey(`k${index.toString()}`))).body.id);
    }
    const seen: number[] = [];
    let path = '/v1/orders?limit=2';
    for (;;) {
      const page = (await customer.get(path)).body;
      seen.push(...page.items.map((item: { id: number }) => item.id));
      if (page.next_cursor === undefined) break;
      path = `/v1/orders?limit=2&cursor=${page.next_cursor}`;
      expectRefusal(await customer.get(`${path}%3D%3D`), 400, 'INVALID_REQUEST');
    }
    expect(seen).toEqual(made);
    await fixture.refund(customer, 'k3');
    const refunded = (await customer.get('/v1/orders?status=refunded')).body;
    expect(refunded.items.map((item: { key: string }) => item.key)).toEqual(['k3']);
    expect((await customer.get('/v1/orders?status=delivered')).body).toEqual({ items: [] });
    expect((await (await makeCustomer(api)).get('/v1/orders')).body).toEqual({ items: [] });
  });

  test('refuses an invalid query by name', async () => {
    const customer = await makeCustomer(api);
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['limit=ten', 'limit'],
      ['limit=', 'limit'],
      ['status=lost', 'status'],
      ['cursor=abc', 'cursor'],
      ['cursor=', 'cursor'],
      ['limit=1&limit=2', 'limit'],
      ['page=2', 'page'],
    ]) {
      const answer = await customer.get(`/v1/orders?${query!}`);
      expectRefusal(answer, 400, 'INVALID_REQUEST');
      expect(answer.body.details[0].field).toBe(field);
    }
  });
});

describe('waiting', () => {
  test('Prefer: wait is answered as soon as the order is final', async () => {
    const customer = await makeCustomer(api);
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    const answering = customer.post('/v1/orders', body, { ...withKey('w'), Prefer: 'wait=30' });
    for (;;) if ((await customer.get('/v1/orders/w')).status === 200) break;
    await fixture.refund(customer, 'w');
    const answer = await answering;
    expect(answer.status).toBe(200);
    expect(answer.body.status).toBe('refunded');
  });

  test('a wait that times out answers the order in its present state', async () => {
    const customer = await makeCustomer(api);
    const body = { receive_address: fixture.receiver(), energy: 65_000 };
    const answer = await customer.post('/v1/orders', body, { Prefer: 'respond-async, wait=1' });
    expect(answer.status).toBe(202);
    expect(answer.body.status).toBe('reserved');
  });
});
