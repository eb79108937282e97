// Provokes every error code over HTTP at the merchants' endpoints. The table is exhaustive by type, and each code
// without a working provocation fails.
import { sleep } from '../../../src/platform/support/clock.js';
import { HTTP_STATUS, type ErrorCode } from '../../../src/domain/errors.js';
import { until } from '../../../packages/local/src/wait.js';
import { credits } from '../../../src/domain/units.js';
import type { ProjectOptions } from '../../../src/modules/projects/projects.js';
import { answerIn, expectError } from '../../support/api/answers.js';
import {
  HmacCustomer,
  hmacHeaders,
  send,
  sendFrame,
  type Answer,
  type Customer,
  type HmacRequest,
} from '../../support/api/client.js';
import { AUTHOR, makeCustomer, openApi, type TestApi } from '../../support/api/factory.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { openProxy, type Proxy } from '../../support/database/proxy.js';
import { apiKeysOn, walletsOn } from '../../support/api/services.js';
import { pastPooler } from '../../setup/admin.js';

let fixture: OrderFixture;
let postgres: Proxy;
/** Carries the session that reads projects and receives their changes. */
let direct: Proxy;
/** Another API of the same service: short timeouts, a small rate limit, a database that can go away and no chain. */
let frail: TestApi;
let customer: Customer;

beforeAll(async () => {
  // A missing column is logged as an error.
  fixture = await openOrderFixture({ LOG_LEVEL: 'silent' });
  postgres = await openProxy(fixture.env['DATABASE_URL']!);
  direct = await openProxy(pastPooler(fixture.env['DATABASE_URL']!));
  frail = await openApi({
    ...fixture.env,
    LOG_LEVEL: 'silent',
    DATABASE_URL: postgres.url,
    DATABASE_DIRECT_URL: direct.url,
    TRON_FULL_NODE_URLS: 'http://127.0.0.1:1',
    TRON_SOLIDITY_NODE_URLS: 'http://127.0.0.1:1',
    MARKET_MAX_AGE_SEC: '1',
    MARKET_REFRESH_SEC: '3600',
    RATE_LIMIT_PER_MINUTE: '2',
    REQUEST_TIMEOUT_SEC: '1',
    HEADERS_TIMEOUT_SEC: '1',
  });
  customer = await makeCustomer(fixture.api);
});

afterAll(async () => {
  await frail.close();
  await postgres.close();
  await direct.close();
  await fixture.close();
});

const order = (extra: object = {}) => ({ receive_address: fixture.receiver(), energy: 65_000, ...extra });
const buy = async (caller: Customer, body: object, headers = {}) => caller.post('/v1/orders', body, headers);
const refOf = async (extra: object = {}): Promise<string> =>
  (await customer.post('/v1/quotes', order(extra))).body.ref as string;

/** Sends one request of `caller` signed by HMAC as given. */
async function ask(caller: Customer, request: HmacRequest): Promise<Answer> {
  const { baseUrl, merchant, apiKey } = caller;
  return send(baseUrl, request.method, request.path, hmacHeaders(merchant, apiKey, request));
}

/** Creates a project with its own options and returns a client of it. */
async function customerWith(options: ProjectOptions): Promise<Customer> {
  const made = await makeCustomer(fixture.api);
  await fixture.api.projects.change(made.merchant, options, AUTHOR);
  return made;
}

/** Runs `ask` while the frail API's database is away. With `isKnown` the API has cached `caller`'s project before. */
async function withoutDatabase(caller: Customer, isKnown: boolean, ask: () => Promise<Answer>): Promise<Answer> {
  if (isKnown) for (const _ of [1, 2]) expect((await caller.get('/v1/balance')).status).toBe(200);
  for (const proxy of [postgres, direct]) proxy.cut();
  try {
    return await ask();
  } finally {
    for (const proxy of [postgres, direct]) proxy.mend();
    await until(async () => ((await caller.get('/v1/balance')).status === 200 ? true : undefined), 10_000, 'mending');
  }
}

async function withPoolPaused(ask: () => Promise<Answer>): Promise<Answer> {
  const { app, database } = fixture.api;
  const wallets = walletsOn(database, app);
  await wallets.setStatus(fixture.chain.pool.address, 'paused', AUTHOR);
  try {
    return await ask();
  } finally {
    await wallets.setStatus(fixture.chain.pool.address, 'active', AUTHOR);
  }
}

/** Runs `ask` while a column is missing, a fault that our code does not expect. */
async function withColumnGone(ask: () => Promise<Answer>): Promise<Answer> {
  const { database } = fixture.api;
  await database.query('ALTER TABLE credit_account RENAME COLUMN balance_credits TO gone');
  try {
    return await ask();
  } finally {
    await database.query('ALTER TABLE credit_account RENAME COLUMN gone TO balance_credits');
  }
}

const addWebhook = (caller: Customer, url: string): Promise<Answer> =>
  new HmacCustomer(fixture.api.baseUrl, caller.merchant, caller.apiKey).post('/v1/webhooks', { url });

const PROVOKED: Record<ErrorCode, () => Promise<Answer>> = {
  ADDRESS_NOT_ALLOWED: () => addWebhook(customer, 'https://169.254.169.254/latest'),
  NOT_EXTENDABLE: async () => {
    const key = 'nothing-of-it-is-delivered-yet';
    const caller = new HmacCustomer(fixture.api.baseUrl, customer.merchant, customer.apiKey);
    expect((await buy(caller, order(), withKey(key))).status).toBe(202);
    return caller.post(`/v1/orders/${key}/extensions`, { duration_sec: 300 }, withKey('longer'));
  },
  LIMIT_REACHED: async () => {
    const many = await makeCustomer(fixture.api);
    for (let made = 0; made < 10; made += 1) await addWebhook(many, 'https://shop.example.com/');
    return addWebhook(many, 'https://shop.example.com/');
  },
  BAD_AUTH_HEADERS: () => send(fixture.api.baseUrl, 'GET', '/v1/balance'),
  INVALID_REQUEST: () => buy(customer, { colour: 'red' }),
  IDEMPOTENCY_KEY_REQUIRED: async () => buy(await customerWith({ requireIdempotencyKey: true }), order()),
  QUOTE_REQUIRED: async () => buy(await customerWith({ requireQuote: true }), order()),
  INVALID_SIGNATURE: () => customer.withKey('wrong').get('/v1/balance'),
  SIGNATURE_TIMESTAMP_OUT_OF_RANGE: () => ask(customer, { method: 'GET', path: '/v1/balance', timestamp: 1 }),
  SIGNATURE_REPLAYED: async () => {
    const request = { method: 'GET', path: '/v1/balance', nonce: 'the-same-nonce-again' };
    await new HmacCustomer(fixture.api.baseUrl, customer.merchant, customer.apiKey).get('/v1/balance');
    // With an empty Redis, a request must be signed after its first second.
    const timestamp = Math.floor(Date.now() / 1000) + 2;
    expect((await ask(customer, { ...request, timestamp })).status).toBe(200);
    return ask(customer, { ...request, timestamp });
  },
  KEY_SCOPE: async () => {
    const keys = apiKeysOn(fixture.api.database, fixture.api.app);
    const { apiKey } = await keys.create(customer.merchant, { name: 'reports', scopes: ['read'] }, AUTHOR);
    return new HmacCustomer(fixture.api.baseUrl, customer.merchant, apiKey).post('/v1/quotes', order());
  },
  HMAC_REQUIRED: async () => (await customerWith({ signatureSchemes: 'hmac' })).get('/v1/balance'),
  INSUFFICIENT_CREDITS: async () => buy(await makeCustomer(fixture.api, 1n), order()),
  SPEND_CAP_REACHED: async () => {
    const capped = await makeCustomer(fixture.api);
    await fixture.api.ledger.setDailyCap(capped.merchant, credits(1), AUTHOR);
    return buy(capped, order());
  },
  PROJECT_FROZEN: async () => {
    const frozen = await makeCustomer(fixture.api);
    await fixture.api.ledger.setFrozen(frozen.merchant, true, AUTHOR);
    return frozen.get('/v1/balance');
  },
  SOURCE_NOT_ALLOWED: async () => (await customerWith({ allowedSources: ['10.0.0.0/8'] })).get('/v1/balance'),
  NOT_FOUND: () => customer.get('/v1/orders/never-made'),
  QUOTE_NOT_FOUND: () => buy(customer, { quote_ref: 'forged' }),
  EVENTS_EXPIRED: async () => {
    const reader = await makeCustomer(fixture.api);
    await fixture.api.database.query(`INSERT INTO event_position (project_id, position, pruned_to) VALUES ($1, 7, 7)`, [
      reader.merchant,
    ]);
    return ask(reader, { method: 'GET', path: '/v1/events?after=6' });
  },
  METHOD_NOT_ALLOWED: () => send(fixture.api.baseUrl, 'DELETE', '/v1/balance'),
  REQUEST_TIMEOUT: async () => answerIn(await sendFrame(frail.baseUrl, 'POST /v1/orders HTTP/1.1\r\nHost: x\r\n')),
  NOT_WORTH_RENTING: () => customer.post('/v1/quotes', order({ energy: 6000 })),
  QUOTE_EXPIRED: async () => {
    const hasty = await openApi({ ...fixture.env, QUOTE_HOLD_SEC: '1', LOG_LEVEL: 'silent' });
    try {
      const { ref } = (await customer.at(hasty.baseUrl).post('/v1/quotes', order())).body as { ref: string };
      // Two seconds beyond the promised expiry are still honoured (docs/interface.md §7).
      await sleep(3_200);
      return await buy(customer.at(hasty.baseUrl), { quote_ref: ref });
    } finally {
      await hasty.close();
    }
  },
  QUOTE_ALREADY_USED: async () => {
    const ref = await refOf();
    expect((await buy(customer, { quote_ref: ref })).status).toBe(202);
    return buy(customer, { quote_ref: ref });
  },
  QUOTE_MISMATCH: async () => buy(customer, { quote_ref: await refOf(), energy: 70_000 }),
  RECEIVER_NOT_ACTIVATED: () => buy(customer, order({ receive_address: newOwner().address })),
  ALREADY_ACTIVATED: () => customer.post('/v1/activate', { address: fixture.receiver() }),
  PAYLOAD_TOO_LARGE: () => customer.post('/v1/orders', `{"x":"${'y'.repeat(20_000)}"}`),
  UNSUPPORTED_MEDIA_TYPE: () => customer.post('/v1/orders', order(), { 'Content-Type': 'text/plain' }),
  IDEMPOTENCY_KEY_REUSED: async () => {
    expect((await buy(customer, order(), withKey('one key'))).status).toBe(202);
    return buy(customer, order({ energy: 70_000 }), withKey('one key'));
  },
  RECEIVER_NOT_SUPPORTED: () => buy(customer, order({ receive_address: fixture.chain.token })),
  // The receiver of the energy, an order's usual one, holds no token.
  TRANSFER_WOULD_FAIL: () => buy(customer, order({ energy: undefined, transfer_to: fixture.chain.pool.address })),
  RATE_LIMITED: async () => {
    const busy = (await makeCustomer(fixture.api)).at(frail.baseUrl);
    for (const _ of [1, 2]) await busy.post('/v1/quotes', {});
    return busy.post('/v1/quotes', {});
  },
  HEADERS_TOO_LARGE: async () =>
    answerIn(
      await sendFrame(fixture.api.baseUrl, `GET /v1/balance HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(9000)}\r\n\r\n`),
    ),
  INTERNAL_ERROR: () => withColumnGone(() => customer.get('/v1/balance')),
  TOPUP_NOT_CONFIGURED: () =>
    new HmacCustomer(fixture.api.baseUrl, customer.merchant, customer.apiKey).post('/v1/credits/topup', {}),
  SIMULATION_FAILED: () => {
    // A call to an account without code, which the node refuses to simulate.
    const [from, to] = [fixture.receiver(), fixture.receiver(1)];
    return customer.post('/v1/simulate', { owner_address: from, contract_address: to, data: 'a9059cbb' });
  },
  AUTH_UNAVAILABLE: async () => {
    const unknown = (await makeCustomer(fixture.api)).at(frail.baseUrl);
    return withoutDatabase(unknown, false, () => unknown.get('/v1/balance'));
  },
  CHAIN_UNAVAILABLE: async () => {
    // The processes share chain readings, so this waits until they are too old for the frail API.
    const waiting = customer.at(frail.baseUrl);
    const answer = async () => buy(waiting, order());
    return until(async () => settled(await answer()), 10_000, 'the state of the chain growing old', 250);
  },
  CAPACITY_UNAVAILABLE: () => withPoolPaused(() => buy(customer, order())),
  SERVICE_UNAVAILABLE: async () => {
    const known = (await makeCustomer(fixture.api)).at(frail.baseUrl);
    return withoutDatabase(known, true, () => known.get('/v1/balance'));
  },
};

/** Returns an error answer; undefined for a success. */
const settled = (answer: Answer): Answer | undefined => (answer.status < 400 ? undefined : answer);

/** Headers beside those of every error answer. */
const HEADERS: Partial<Record<ErrorCode, Record<string, string>>> = {
  METHOD_NOT_ALLOWED: { allow: 'GET' },
  RATE_LIMITED: { 'ratelimit-limit': '2', 'ratelimit-remaining': '0' },
};

test.each(Object.keys(HTTP_STATUS) as ErrorCode[])(
  '%s is answered where it applies, in the common shape',
  async (code) => {
    const answer = await PROVOKED[code]();
    expectError(answer, code);
    expect(answer.headers).toMatchObject(HEADERS[code] ?? {});
    expect(answer.headers['location']).toBeUndefined();
  },
);
