// Every refusal of each buying route is in the request log of its project, whatever decided it.
import { randomUUID } from 'node:crypto';
import type { ErrorCode } from '../../../src/domain/errors.js';
import { credits } from '../../../src/domain/units.js';
import { until } from '../../../packages/local/src/wait.js';
import { expectError } from '../../support/api/answers.js';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer, openApi } from '../../support/api/factory.js';
import { openOrderFixture, settleOrder, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { apiKeysOn } from '../../support/api/services.js';
import { newOwner } from '../../support/chain/order-chain.js';

const ARRIVAL_LIMIT_MS = 30_000;
const QUOTES = '/v1/quotes';
const ORDERS = '/v1/orders';
const SIMULATE = '/v1/simulate';
const DELEGATIONS = '/v1/auto-delegations';

let fixture: OrderFixture;

beforeAll(async () => {
  fixture = await openOrderFixture();
});

afterAll(() => fixture.close());

interface Refusal {
  readonly route: string;
  readonly code: ErrorCode;
  readonly answer: () => Promise<Answer>;
}

async function project(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(fixture.api);
  const customer = new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
  // A nonce from before the start of Redis is refused.
  await until(
    async () => ((await customer.get('/v1/balance')).status === 200 ? true : undefined),
    ARRIVAL_LIMIT_MS,
    '',
  );
  return customer;
}

/** Sends the requests one after another, and expects each of them in the log, in their order. */
async function expectLogged(customer: HmacCustomer, refusals: readonly Refusal[]): Promise<void> {
  const wanted: unknown[] = [];
  for (const { route, code, answer } of refusals) {
    const refused = await answer();
    expect([route, refused.body.error]).toEqual([route, code]);
    expectError(refused, code);
    wanted.push([route, refused.status, code, refused.body.request_id]);
  }
  const items = await until(
    async () => {
      const logged = itemsOf(await customer.get('/v1/requests?limit=100'));
      return logged.length >= refusals.length ? logged : undefined;
    },
    ARRIVAL_LIMIT_MS,
    'every refusal in the request log',
  );
  expect(items.map(({ path, status, error, request_id: id }) => [path, status, error, id]).reverse()).toEqual(wanted);
}

interface Item {
  readonly path: string;
  readonly status: number;
  readonly error: string;
  readonly request_id: string;
}

/** Returns the logged refusals without those of the reads that wait, and of requests that the customer signs again. */
const itemsOf = ({ body }: Answer): Item[] =>
  (body.items as Item[]).filter(
    ({ path, error }) => path !== '/v1/balance' && error !== 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE',
  );

const put = (customer: HmacCustomer, address: string): Promise<Answer> =>
  customer.request(
    'PUT',
    `${DELEGATIONS}/${address}`,
    {},
    JSON.stringify({ keep_energy: 65_000, daily_cap_credits: 1_000_000_000 }),
  );

test('has 403, 409 and 422 of orders, quotes, simulations, extensions and auto-delegations', async () => {
  const customer = await project();
  const { apiKey } = await apiKeysOn(fixture.api.database, fixture.api.app).create(
    customer.merchant,
    { name: 'reads', scopes: ['read'] },
    AUTHOR,
  );
  const reader = customer.withKey(apiKey);
  const receiver = fixture.receiver();
  const order = { receive_address: receiver, energy: 65_000, duration_sec: 3600 };
  expect((await customer.post(ORDERS, order, withKey('bought'))).status).toBe(202);
  const extensions = `${ORDERS}/bought/extensions`;
  const unused = newOwner().address;
  const { token } = fixture.chain;
  const call = { owner_address: receiver, contract_address: token, function_selector: 'transfer(address,uint256)' };
  const hour = { duration_sec: 3600 };
  // The receiver holds no token.
  const transfer = { receive_address: receiver, transfer_to: fixture.chain.pool.address };
  const to = (receive_address: string) => ({ ...order, receive_address });
  await expectLogged(customer, [
    { route: ORDERS, code: 'KEY_SCOPE', answer: () => reader.post(ORDERS, order) },
    { route: ORDERS, code: 'RECEIVER_NOT_ACTIVATED', answer: () => customer.post(ORDERS, to(unused)) },
    { route: ORDERS, code: 'RECEIVER_NOT_SUPPORTED', answer: () => customer.post(ORDERS, to(token)) },
    { route: ORDERS, code: 'NOT_WORTH_RENTING', answer: () => customer.post(ORDERS, { ...order, energy: 1000 }) },
    {
      route: ORDERS,
      code: 'IDEMPOTENCY_KEY_REUSED',
      answer: () => customer.post(ORDERS, { ...order, energy: 70_000 }, withKey('bought')),
    },
    { route: QUOTES, code: 'KEY_SCOPE', answer: () => reader.post(QUOTES, order) },
    { route: QUOTES, code: 'NOT_WORTH_RENTING', answer: () => customer.post(QUOTES, { ...order, energy: 1000 }) },
    { route: QUOTES, code: 'TRANSFER_WOULD_FAIL', answer: () => customer.post(QUOTES, transfer) },
    { route: SIMULATE, code: 'KEY_SCOPE', answer: () => reader.post(SIMULATE, { ...call, parameter: '' }) },
    { route: extensions, code: 'KEY_SCOPE', answer: () => reader.post(extensions, hour, withKey('longer')) },
    { route: extensions, code: 'NOT_EXTENDABLE', answer: () => customer.post(extensions, hour, withKey('longer')) },
    {
      route: extensions,
      code: 'IDEMPOTENCY_KEY_REUSED',
      answer: () => customer.post(extensions, hour, withKey('bought')),
    },
    { route: `${DELEGATIONS}/${receiver}`, code: 'KEY_SCOPE', answer: () => put(reader, receiver) },
    { route: `${DELEGATIONS}/${unused}`, code: 'RECEIVER_NOT_ACTIVATED', answer: () => put(customer, unused) },
    { route: `${DELEGATIONS}/${token}`, code: 'RECEIVER_NOT_SUPPORTED', answer: () => put(customer, token) },
  ]);
});

test('has 402 of orders and extensions, also of those that are judged together after the first', async () => {
  const customer = await project();
  const order = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
  expect((await customer.post(ORDERS, order, withKey('bought'))).status).toBe(202);
  const { database, ledger } = fixture.api;
  const [row] = await database.query<{ id: bigint }>('SELECT id FROM orders WHERE project_id = $1', [
    customer.merchant,
  ]);
  await settleOrder(fixture.api, row!.id);
  const extensions = `${ORDERS}/bought/extensions`;
  const buy = () => customer.post(ORDERS, order, withKey(randomUUID()));
  const extend = () => customer.post(extensions, { duration_sec: 3600 }, withKey(randomUUID()));
  await ledger.setDailyCap(customer.merchant, credits(1), AUTHOR);
  const balance = (await customer.get('/v1/balance')).body.credits_balance as number;
  const takeAll = async (): Promise<Answer> => {
    await ledger.setDailyCap(customer.merchant, undefined, AUTHOR);
    await ledger.adjust(customer.merchant, credits(1 - balance), 'taken', AUTHOR);
    return buy();
  };
  await expectLogged(customer, [
    { route: ORDERS, code: 'SPEND_CAP_REACHED', answer: buy },
    { route: ORDERS, code: 'SPEND_CAP_REACHED', answer: buy },
    { route: extensions, code: 'SPEND_CAP_REACHED', answer: extend },
    { route: ORDERS, code: 'INSUFFICIENT_CREDITS', answer: takeAll },
    { route: ORDERS, code: 'INSUFFICIENT_CREDITS', answer: buy },
    { route: extensions, code: 'INSUFFICIENT_CREDITS', answer: extend },
  ]);
});

test('has 429 of quotes, simulations and auto-delegations', async () => {
  const customer = await project();
  const limited = await openApi({ ...fixture.env, RATE_LIMIT_PER_MINUTE: '1', GENERAL_RATE_LIMIT_PER_MINUTE: '1' });
  try {
    const there = customer.at(limited.baseUrl);
    const receiver = fixture.receiver();
    const quote = { receive_address: receiver, energy: 65_000 };
    // The minute of a limit may end between two requests.
    const limit = (ask: () => Promise<Answer>) => () =>
      until(
        async () => {
          const answer = await ask();
          return answer.status === 200 || answer.status === 201 ? undefined : answer;
        },
        ARRIVAL_LIMIT_MS,
        'a request beyond the limit',
        1,
      );
    const asked = { owner_address: receiver, contract_address: fixture.chain.token, function_selector: 'decimals()' };
    await expectLogged(customer, [
      { route: QUOTES, code: 'RATE_LIMITED', answer: limit(() => there.post(QUOTES, quote)) },
      { route: SIMULATE, code: 'RATE_LIMITED', answer: limit(() => there.post(SIMULATE, asked)) },
      { route: `${DELEGATIONS}/${receiver}`, code: 'RATE_LIMITED', answer: limit(() => put(there, receiver)) },
    ]);
  } finally {
    await limited.close();
  }
});

test('has every refusal of a frozen project', async () => {
  const customer = await project();
  const receiver = fixture.receiver();
  const order = { receive_address: receiver, energy: 65_000 };
  await fixture.api.ledger.setFrozen(customer.merchant, true, AUTHOR);
  const isKnown = async (): Promise<true | undefined> =>
    (await customer.get('/v1/balance')).status === 403 ? true : undefined;
  await until(isKnown, ARRIVAL_LIMIT_MS, 'the freeze');
  const routes = [ORDERS, QUOTES, SIMULATE, `${ORDERS}/none/extensions`];
  for (const route of routes) expectError(await customer.post(route, order, withKey(randomUUID())), 'PROJECT_FROZEN');
  expectError(await put(customer, receiver), 'PROJECT_FROZEN');
  await fixture.api.ledger.setFrozen(customer.merchant, false, AUTHOR);
  const items = await until(
    async () => {
      const answer = await customer.get('/v1/requests?limit=100');
      const logged = answer.status === 200 ? itemsOf(answer) : [];
      return logged.length > routes.length ? logged : undefined;
    },
    ARRIVAL_LIMIT_MS,
    'the refusals in the log',
  );
  expect(items.map(({ path, status }) => [path, status]).reverse()).toEqual(
    [...routes, `${DELEGATIONS}/${receiver}`].map((route) => [route, 403]),
  );
});
