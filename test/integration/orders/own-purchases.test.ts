// A purchase after a lost answer: only the request that made it is told so, whatever X-Request-Id its caller chose.
import { jest } from '@jest/globals';
import { KeyCache } from '../../../src/modules/orders/key-cache.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { cliWith } from '../../support/cli.js';
import { openOrderFixture, settleOrder, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

const START_LIMIT_MS = 120_000;
/** The callers of both requests send this one, for instance the id of their own trace. */
const TRACE = { 'X-Request-Id': 'trace-1' };

let fixture: OrderFixture;
let customer: HmacCustomer;
let isLosing = false;
let lost = 0;

beforeAll(async () => {
  fixture = await openOrderFixture();
  const { merchant, apiKey } = await makeCustomer(fixture.api);
  customer = new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
  // As in a process without Redis, so that each request reaches the statement.
  jest.spyOn(fixture.api.app.get(KeyCache), 'hasSeen').mockResolvedValue(false);
  aroundStatements(fixture.api.app.get(Database, { strict: false }), ['accept-order', 'extend-order'], {
    after: () => {
      if (!isLosing) return;
      isLosing = false;
      lost += 1;
      throw Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' });
    },
  });
}, START_LIMIT_MS);

afterAll(() => fixture.close(), START_LIMIT_MS);

const buy = (key: string): Promise<Answer> =>
  customer.post('/v1/orders', { receive_address: fixture.receiver(), energy: 65_000 }, { ...withKey(key), ...TRACE });

const extendWith =
  (order: string) =>
  (key: string): Promise<Answer> =>
    customer.post(`/v1/orders/${order}/extensions`, { duration_sec: 300 }, { ...withKey(key), ...TRACE });

async function settled(): Promise<string> {
  const { body } = await buy('settled');
  await settleOrder(fixture.api, BigInt(body.id as number));
  return body.key as string;
}

it.each([
  ['an order', () => Promise.resolve(buy)],
  ['an extension', async () => extendWith(await settled())],
])('%s is new to its own request alone, although another one sent the same request id', async (kind, make) => {
  const purchase = await make();
  const told = async (isLost: boolean): Promise<string | undefined> => {
    isLosing = isLost;
    const { status, headers } = await purchase(`own ${kind}`);
    expect([200, 202]).toContain(status);
    return headers['idempotency-replayed'];
  };
  lost = 0;
  expect([await told(true), await told(false), await told(true)]).toEqual([undefined, 'true', 'true']);
  expect(lost).toBe(2);
});

it('stores a reference with the order that no caller can send, and shows the request id in it', async () => {
  const { body } = await buy('shown');
  const [row] = await fixture.api.database.query<{ request_id: string }>(
    'SELECT request_id FROM orders WHERE id = $1',
    [body.id],
  );
  expect(row!.request_id).toMatch(/^trace-1~[A-Za-z0-9_-]{12}$/);
  const listed = await cliWith(fixture.env)('orders', 'list', '--project', customer.merchant, '--json');
  const { orders } = listed.json() as { orders: { request_id: string }[] };
  expect(new Set(orders.map(({ request_id: id }) => id))).toEqual(new Set(['trace-1']));
});
