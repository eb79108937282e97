// Test projects from their merchants' view: every test address through the API, the worker's player and the event log.
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { apiKeysOn } from '../../support/api/services.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { balanceOf, expectRefusal, withKey } from '../../support/api/order-fixture.js';
import { Customer, HmacCustomer, hmacHeaders, send } from '../../support/api/client.js';
import { cliWith } from '../../support/cli.js';
import {
  openTestProjectFixture,
  type TestEvent,
  type TestProjectFixture,
} from '../../support/api/test-project-fixture.js';

let fixture: TestProjectFixture;

beforeAll(async () => {
  fixture = await openTestProjectFixture();
});

afterAll(() => fixture.close());

const RENTED = { energy: 65_000, duration_sec: 3600 };

const order = (customer: HmacCustomer, receiver: string, key: string, headers = {}) =>
  customer.post('/v1/orders', { ...RENTED, receive_address: receiver }, { ...withKey(key), ...headers });

const statusOf = async (customer: HmacCustomer, key: string): Promise<string> =>
  (await customer.get(`/v1/orders/${key}`)).body.status as string;

/** Plays an order to its end. Returns its statuses in order. */
async function played(customer: HmacCustomer, key: string): Promise<string[]> {
  const statuses = [await statusOf(customer, key)];
  for (let moves = 0; moves < 10 && (await fixture.move()) > 0; moves += 1)
    statuses.push(await statusOf(customer, key));
  return statuses.filter((status, index) => status !== statuses[index - 1]);
}

const typesOf = (events: readonly TestEvent[]): string[] => events.map(({ type }) => type);

const DELIVERED = ['reserved', 'placed', 'delivered'];
const DELIVERED_EVENTS = ['order.created', 'order.delivered', 'order.settled', 'order.ended'];

describe('each address plays its name, through API, worker and events', () => {
  test.each([
    ['delivered', TEST_ADDRESSES.delivered, DELIVERED, DELIVERED_EVENTS],
    ['delivered late', TEST_ADDRESSES['delivered late'], DELIVERED, DELIVERED_EVENTS],
    [
      'unresolved then delivered',
      TEST_ADDRESSES['unresolved then delivered'],
      ['reserved', 'placed', 'unresolved', 'delivered'],
      ['order.created', 'order.unresolved', 'order.delivered', 'order.settled', 'order.ended'],
    ],
    ['refunded', TEST_ADDRESSES.refunded, ['reserved', 'placed', 'refunded'], ['order.created', 'order.refunded']],
    ['any other address', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF', DELIVERED, DELIVERED_EVENTS],
  ])('%s', async (_name, receiver, statuses, types) => {
    const customer = await fixture.customer();
    const before = await balanceOf(customer);
    const made = await order(customer, receiver, 'played');
    expect(made).toMatchObject({ status: 202, body: { status: 'reserved', settled: false, test: true } });
    expect(await played(customer, 'played')).toEqual(statuses);

    const { body } = await customer.get('/v1/orders/played');
    expect(body).toMatchObject({ test: true, settled: true, delegations: [], needs_attention: false });
    const charged = statuses.includes('refunded') ? 0 : (made.body.credits as number);
    expect(before - (await balanceOf(customer))).toBe(charged);
    if (statuses.includes('delivered')) {
      const { delivered_at, ends_at, reclaimed_at, delivered_energy } = body;
      expect(delivered_energy).toBe(RENTED.energy);
      expect(Date.parse(ends_at) - Date.parse(delivered_at)).toBe(RENTED.duration_sec * 1000);
      expect(typeof reclaimed_at).toBe('string');
    } else expect(body).toMatchObject({ error_code: 'SUPPLIER_REFUSED', error: expect.stringMatching(/returned/) });

    const events = await fixture.eventsOf(customer);
    expect(typesOf(events)).toEqual(types);
    for (const event of events)
      expect(event).toMatchObject({ test: true, data: { order: { key: 'played', test: true } } });
  });

  test('short of capacity is a 503 that leaves the key free', async () => {
    const customer = await fixture.customer();
    const refused = await order(customer, TEST_ADDRESSES['short of capacity'], 'later');
    expectRefusal(refused, 503, 'CAPACITY_UNAVAILABLE');
    expect(refused.body.test).toBe(true);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(await balanceOf(customer)).toBe(1_000_000_000);
    expect((await order(customer, TEST_ADDRESSES.delivered, 'later')).status).toBe(202);
    const activation = await customer.post('/v1/activate', { address: TEST_ADDRESSES['short of capacity'] });
    expectRefusal(activation, 503, 'CAPACITY_UNAVAILABLE');
  });

  test('not activated is refused, and its activation is played', async () => {
    const customer = await fixture.customer();
    const address = TEST_ADDRESSES['not activated'];
    const quote = await customer.post('/v1/quotes', { receive_address: address });
    expect(quote.body).toMatchObject({ recipient_state: 'cold', needs_activation: true, test: true });
    expectRefusal(await order(customer, address, 'first'), 409, 'RECEIVER_NOT_ACTIVATED');
    const activated = await customer.post('/v1/activate', { address }, withKey('activation'));
    expect(activated).toMatchObject({ status: 202, body: { kind: 'activation', test: true } });
    expect(await played(customer, 'activation')).toEqual(DELIVERED);
    expect((await customer.get('/v1/orders/activation')).body).toMatchObject({ settled: true, test: true });
    expect(typesOf(await fixture.eventsOf(customer))).toEqual(['order.created', 'order.delivered', 'order.settled']);
  });

  test.each([TEST_ADDRESSES.delivered, TEST_ADDRESSES['unresolved then delivered'], TEST_ADDRESSES.refunded])(
    'verify finds nothing wrong at any step of an order of %s',
    async (receiver) => {
      await order(await fixture.customer(), receiver, 'verified');
      do expect(findingsOf(await verifyRecords(fixture.api.database))).toEqual([]);
      while ((await fixture.move()) > 0);
    },
  );

  test('refunds an activation of "refunded"', async () => {
    const customer = await fixture.customer();
    await customer.post('/v1/activate', { address: TEST_ADDRESSES.refunded }, withKey('activation'));
    expect(await played(customer, 'activation')).toEqual(['reserved', 'placed', 'refunded']);
    expect(await balanceOf(customer)).toBe(1_000_000_000);
  });
});

describe('as for a live project', () => {
  test('redeems a quote once, replays a key, and refuses another request under it', async () => {
    const customer = await fixture.customer();
    const quote = await customer.post('/v1/quotes', { receive_address: TEST_ADDRESSES.delivered });
    expect(quote.body).toMatchObject({ recipient_state: 'warm', test: true });
    const redeem = (key: string) => customer.post('/v1/orders', { quote_ref: quote.body.ref as string }, withKey(key));
    const first = await redeem('one');
    expect(first).toMatchObject({ status: 202, body: { credits: quote.body.credits } });
    const replay = await redeem('one');
    expect(replay.headers['idempotency-replayed']).toBe('true');
    expect(replay.body.id).toBe(first.body.id);
    expectRefusal(await redeem('two'), 409, 'QUOTE_ALREADY_USED');
    expectRefusal(await order(customer, TEST_ADDRESSES.refunded, 'one'), 422, 'IDEMPOTENCY_KEY_REUSED');
    const { body } = await customer.get('/v1/orders');
    expect(body).toMatchObject({ test: true, items: [{ key: 'one', test: true }] });
  });

  test('credits end with 402, and so does a daily cap, and both count a refund', async () => {
    const poor = await fixture.customer({ balance: 1n });
    const refused = await order(poor, TEST_ADDRESSES.delivered, 'dear');
    expectRefusal(refused, 402, 'INSUFFICIENT_CREDITS');
    expect(refused.body.test).toBe(true);
    const capped = await fixture.customer();
    const { body } = await order(capped, TEST_ADDRESSES.refunded, 'within');
    await fixture.api.ledger.setDailyCap(capped.merchant, BigInt(body.credits as number) as never, AUTHOR);
    expectRefusal(await order(capped, TEST_ADDRESSES.delivered, 'beyond'), 402, 'SPEND_CAP_REACHED');
    expect(await played(capped, 'within')).toEqual(['reserved', 'placed', 'refunded']);
    expect((await order(capped, TEST_ADDRESSES.delivered, 'beyond')).status).toBe(202);
  });

  test('a settled rental is extended, charged once, and ends at its new end', async () => {
    const customer = await fixture.customer();
    const extend = (key: string) => customer.post('/v1/orders/long/extensions', { duration_sec: 600 }, withKey(key));
    await order(customer, TEST_ADDRESSES.delivered, 'long');
    expectRefusal(await extend('too-soon'), 409, 'NOT_EXTENDABLE');
    for (let moves = 0; moves < 3; moves += 1) await fixture.move();
    const settled = (await customer.get('/v1/orders/long')).body;
    const before = await balanceOf(customer);
    const { status, body } = await extend('longer');
    expect({ status, extensions: body.extensions }).toMatchObject({
      status: 200,
      extensions: [{ key: 'longer', duration_sec: 600 }],
    });
    expect(Date.parse(body.ends_at as string) - Date.parse(settled.ends_at as string)).toBe(600_000);
    expect((await extend('longer')).headers['idempotency-replayed']).toBe('true');
    expect(before - (await balanceOf(customer))).toBe(body.extensions[0].credits);
    const [row] = await fixture.api.database.query<{ is_at_end: boolean }>(
      `SELECT play_at = ends_at AS is_at_end FROM orders WHERE project_id = $1`,
      [customer.merchant],
    );
    expect(row).toEqual({ is_at_end: true });
    await fixture.move();
    expectRefusal(await extend('too-late'), 409, 'NOT_EXTENDABLE');
    expect(typesOf(await fixture.eventsOf(customer)).slice(-2)).toEqual(['order.extended', 'order.ended']);
  });

  test('simulation runs on the real chain, and its quote is one of the test project', async () => {
    const customer = await fixture.customer();
    const { status, body } = await customer.post('/v1/simulate', {
      owner_address: fixture.receiver(1),
      contract_address: fixture.chain.token,
      function_selector: 'balanceOf(address)',
      parameter: '0'.repeat(64),
      quote: true,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ test: true });
    expect(body.quote ?? body.quote_error).toBeDefined();
  });

  test('answers the clients of the family by the order’s play', async () => {
    const customer = await fixture.customer();
    const rent = (receiver: string, key: string) =>
      customer.post('/v1/energy/rent', { ...RENTED, receive_address: receiver }, withKey(key));
    fixture.player.start();
    try {
      const [delivered, refunded] = await Promise.all([
        rent(TEST_ADDRESSES.delivered, 'rent-1'),
        rent(TEST_ADDRESSES.refunded, 'rent-2'),
      ]);
      expect(delivered).toMatchObject({ status: 200, body: { status: 'delivered', test: true } });
      expect(refunded).toMatchObject({ status: 502, body: { status: 'refused', test: true } });
      expect(await rent(TEST_ADDRESSES.refunded, 'rent-2')).toMatchObject({ status: 200, body: { status: 'refused' } });
      expectRefusal(await rent(TEST_ADDRESSES['short of capacity'], 'rent-3'), 503, 'CAPACITY_UNAVAILABLE');
    } finally {
      await fixture.player.beforeApplicationShutdown();
    }
    const balance = await customer.post('/v1/credits/balance', {});
    expect(balance.body).toMatchObject({ test: true });
  });

  test('balance and ledger show that they are a test', async () => {
    const customer = await fixture.customer();
    expect((await customer.get('/v1/balance')).body).toMatchObject({ credits_balance: 1_000_000_000, test: true });
    expect((await customer.get('/v1/ledger')).body).toMatchObject({ test: true, items: [{ kind: 'topup' }] });
    expect((await customer.get('/v1/orders/none')).body).toMatchObject({ error: 'NOT_FOUND', test: true });
  });

  test('a page of events shows that it is of a test, and a live one does not', async () => {
    const [customer, live] = [await fixture.customer(), await fixture.customer({ isTest: false })];
    expect((await customer.get('/v1/events')).body).toEqual({ items: [], last_position: 0, test: true });
    expect((await live.get('/v1/events')).body).toEqual({ items: [], last_position: 0 });
  });

  test('every refusal after the signature shows it too: MD5 where HMAC is required, a replay, an invalid JSON body', async () => {
    const { merchant, apiKey, baseUrl } = await fixture.customer();
    const signed = hmacHeaders(merchant, apiKey, { method: 'GET', path: '/v1/balance' });
    await send(baseUrl, 'GET', '/v1/balance', signed);
    const by = new HmacCustomer(baseUrl, merchant, apiKey);
    const answers = [
      await new Customer(baseUrl, merchant, apiKey).get('/v1/events'),
      await send(baseUrl, 'GET', '/v1/balance', signed),
      await by.request('POST', '/v1/quotes', {}, '{'),
      await by.request('POST', '/v1/quotes', {}, '{"energy":1,"energy":2}'),
    ];
    expect(answers.map(({ body }) => [body.error, body.test])).toEqual([
      ['HMAC_REQUIRED', true],
      ['SIGNATURE_REPLAYED', true],
      ['INVALID_REQUEST', true],
      ['INVALID_REQUEST', true],
    ]);
    const unknown = await new HmacCustomer(baseUrl, merchant, 'wrong').get('/v1/balance');
    expect([unknown.body.error, unknown.body.test]).toEqual(['INVALID_SIGNATURE', undefined]);
  });
});

describe('a test project has no', () => {
  test('deposit address', async () => {
    const customer = await fixture.customer();
    expectRefusal(await customer.get('/v1/deposits/address'), 501, 'TOPUP_NOT_CONFIGURED');
  });

  test('auto-delegation', async () => {
    const customer = await fixture.customer();
    const body = JSON.stringify({ keep_energy: 130_000, daily_cap_credits: 1_000_000 });
    const path = `/v1/auto-delegations/${TEST_ADDRESSES.delivered}`;
    expectRefusal(await customer.request('PUT', path, {}, body), 422, 'RECEIVER_NOT_SUPPORTED');
    // Refused before the price check: so little energy is not worth renting.
    const little = JSON.stringify({ keep_energy: 1000, daily_cap_credits: 1 });
    expectRefusal(await customer.request('PUT', path, {}, little), 422, 'RECEIVER_NOT_SUPPORTED');
    const live = await fixture.customer({ isTest: false });
    expectRefusal(await live.request('PUT', path, {}, little), 422, 'RECEIVER_NOT_SUPPORTED');
    expect((await customer.get('/v1/auto-delegations')).body).toMatchObject({ items: [], test: true });
  });
});

test.each(Object.entries(TEST_ADDRESSES))('a live project that names "%s" gets 422', async (_name, address) => {
  const live = await fixture.customer({ isTest: false });
  const call = { contract_address: fixture.chain.token, data: '70a08231' };
  const keep = JSON.stringify({ keep_energy: 130_000, daily_cap_credits: 1_000_000 });
  const answers = [
    await live.post('/v1/quotes', { receive_address: address }),
    await live.post('/v1/quotes', { receive_address: address, energy: 65_000 }),
    await live.post('/v1/energy/quote', { receive_address: address, energy: 65_000 }),
    await order(live, address, 'live'),
    await live.post('/v1/energy/rent', { ...RENTED, receive_address: address }, withKey('live')),
    await live.post('/v1/activate', { address }),
    await live.post('/v1/simulate', { ...call, owner_address: address }),
    await live.request('PUT', `/v1/auto-delegations/${address}`, {}, keep),
  ];
  // Invalid members are reported first.
  const formless = await live.post('/v1/simulate', { contract_address: fixture.chain.token, owner_address: address });
  expectRefusal(formless, 400, 'INVALID_REQUEST');
  for (const answer of answers) {
    expectRefusal(answer, 422, 'RECEIVER_NOT_SUPPORTED');
    expect(answer.body.test).toBeUndefined();
  }
});

test('an answer to a live project has no mention of tests', async () => {
  const live = await fixture.customer({ isTest: false });
  const made = await order(live, fixture.receiver(2), 'live');
  expect(made.status).toBe(202);
  expect(made.body.test).toBeUndefined();
  expect(made.headers['ratelimit-limit']).toBeUndefined();
  const events = await fixture.eventsOf(live);
  expect(events[0]!.test).toBeUndefined();
  expect(events[0]!.data.order.test).toBeUndefined();
  expect((await live.get('/v1/balance')).body.test).toBeUndefined();
});

test('accepts sixty orders a minute, answers the next with 429 and Retry-After, and does not count live projects', async () => {
  const [customer, live] = [
    await fixture.customer(),
    await fixture.customer({ isTest: false, balance: 10_000_000_000n }),
  ];
  const buy = (who: HmacCustomer, receiver: string) =>
    Promise.all(Array.from({ length: 61 }, (_, index) => order(who, receiver, `order-${index.toString()}`)));
  const answers = await buy(customer, TEST_ADDRESSES.delivered);
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(60);
  const refused = answers.find(({ status }) => status === 429)!;
  expectRefusal(refused, 429, 'RATE_LIMITED');
  expect(refused.body.test).toBe(true);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(refused.headers['ratelimit-limit']).toBe('60');
  // Every purchase counts, reads do not.
  expectRefusal(await customer.post('/v1/activate', { address: TEST_ADDRESSES.delivered }), 429, 'RATE_LIMITED');
  expect((await customer.get('/v1/orders')).status).toBe(200);
  const sold = await buy(live, fixture.receiver(3));
  expect(sold.filter(({ status }) => status === 429)).toEqual([]);
});

test('every key of a test project begins with test_, and none of a live one does', async () => {
  const { api } = fixture;
  const keys = apiKeysOn(api.database, api.app);
  const scopes = ['read'] as const;
  const keysOf = async (isTest: boolean): Promise<string[]> => {
    const { merchant, apiKey } = await makeCustomer(api, 1n, { kind: 'prepaid' }, isTest);
    const second = await keys.create(merchant, { name: 'second', scopes }, AUTHOR);
    const rotated = await keys.rotate(second.id, 0, AUTHOR);
    const answer = await new HmacCustomer(api.baseUrl, merchant, rotated).get('/v1/orders');
    expect(answer.status).toBe(200);
    return [apiKey, second.apiKey, rotated, await api.projects.rotateKey(merchant, AUTHOR)];
  };
  for (const key of await keysOf(true)) expect(key).toMatch(/^test_[0-9a-f]{48}$/);
  for (const key of await keysOf(false)) expect(key).toMatch(/^[0-9a-f]{48}$/);
});

test('the operator creates one, gives it play money, and sees its kind', async () => {
  const cli = cliWith({ ...fixture.env, USER: 'tester' });
  const made = await cli('--json', 'project', 'create', '--test', '--name', 'rehearsal', '--credits', '5000000');
  const project = JSON.parse(made.out) as { merchant: string; api_key: string };
  expect(project).toMatchObject({ test: true, credits_balance: 5_000_000, api_key: expect.stringMatching(/^test_/) });
  const customer = new HmacCustomer(fixture.api.baseUrl, project.merchant, project.api_key);
  expect(await balanceOf(customer)).toBe(5_000_000);
  expect((await cli('project', 'show', project.merchant)).out).toMatch(/State +test, active/);
  expect((await cli('project', 'list')).out).toMatch(/rehearsal[^]*state +test, active/);
  const live = JSON.parse((await cli('--json', 'project', 'create', '--name', 'live')).out) as object;
  expect(live).toMatchObject({ test: false });
});

test('the document has the member that every answer to a test project has', async () => {
  const { body } = await send(fixture.api.baseUrl, 'GET', '/openapi.json');
  for (const name of ['Order', 'OrderPage', 'Quote', 'Balance', 'Error', 'EventPage'].filter(
    (each) => body.components.schemas[each] !== undefined,
  )) {
    expect([name, body.components.schemas[name].properties.test]).toMatchObject([name, { const: true }]);
  }
});
