// With a limited request budget, one project's look-ups do not delay those of others.
import { Redis } from 'ioredis';
import { makeCustomer, type TestApi } from '../../support/api/factory.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { expectRefusal, openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

/** Callers get half of it. */
const REQUESTS_PER_SEC = 40;
/** Each sends three requests: together they exceed the time a look-up waits for its place. */
const FLOOD = 40;

let fixture: OrderFixture;
let api: TestApi;

beforeAll(async () => {
  fixture = await openOrderFixture({ TRON_REQUESTS_PER_SEC: REQUESTS_PER_SEC.toString() });
  ({ api } = fixture);
});

afterAll(() => fixture.close());

it('a project whose orders cause look-ups all the time, without result, does not hold up those of another', async () => {
  const [poor, other] = [await makeCustomer(api, 0n), await makeCustomer(api)];
  const flood = Array.from({ length: FLOOD }, () => poor.post('/v1/orders', { receive_address: newOwner().address }));
  const begun = poor.post('/v1/orders', { receive_address: newOwner().address });
  const order = { receive_address: fixture.receiver(), energy: 65_000 };
  const taken = await other.post('/v1/orders', order, withKey('beside'));
  expect([taken.status, taken.body.error]).toEqual([202, undefined]);
  const quoted = await other.post('/v1/quotes', { receive_address: fixture.receiver(1) });
  expect([quoted.status, quoted.body.recipient_state]).toEqual([200, expect.stringMatching(/^\w+$/)]);
  // A look-up that misses its time is sized at the highest cost.
  expect(quoted.body.recipient_state).not.toBe('unknown');
  for (const answer of await Promise.all([...flood, begun])) expect(answer.status).toBeGreaterThanOrEqual(400);
});

it('an order is replayed though its look-up finds no place, also when Redis has forgotten its key', async () => {
  const customer = await makeCustomer(api);
  const order = { receive_address: fixture.receiver(), energy: 65_000 };
  expect((await customer.post('/v1/orders', order, withKey('once'))).status).toBe(202);
  await forgetKeys();
  const fresh = () => ({ receive_address: newOwner().address, energy: 65_000 });
  const waiting = Array.from({ length: 300 }, async (_, n) =>
    customer.post('/v1/orders', fresh(), withKey(`w${n.toString()}`)),
  );
  // The queue is full once it refuses the first one.
  await Promise.any(waiting.map(async (answer) => expect((await answer).status).toBe(503)));
  const again = await customer.post('/v1/orders', order, withKey('once'));
  expect([again.status, again.headers['idempotency-replayed']]).toEqual([202, 'true']);
  const full = (await Promise.all(waiting)).filter(({ status }) => status === 503);
  expect(full.length).toBeGreaterThan(0);
  for (const answer of full) expectRefusal(answer, 503, 'SERVICE_UNAVAILABLE');
});

async function forgetKeys(): Promise<void> {
  const client = new Redis(fixture.env['REDIS_URL']!);
  await client.del(...(await client.keys('*:key:*')));
  await client.quit();
}
