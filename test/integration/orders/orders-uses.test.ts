// Orders and extensions by expected uses, orders sized by their transfer, and the fee limit that they tell.
import { addressToHex } from '../../../src/platform/chain/address.js';
import { HmacCustomer, type Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { expectRefusal, openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

const DAY = 86_400;
const WEEK = 7 * DAY;
const ENERGY = 20_000;

let fixture: OrderFixture;
let customer: Customer;

beforeAll(async () => {
  fixture = await openOrderFixture({ PRICE_FLOOR_BPS: '0' });
  customer = await makeCustomer(fixture.api);
});

afterAll(() => fixture.close());

const order = (extra: Record<string, unknown>, key: string) =>
  customer.post('/v1/orders', { receive_address: fixture.receiver(), energy: ENERGY, ...extra }, withKey(key));
const quoteOf = async (extra: Record<string, unknown>): Promise<Record<string, unknown>> =>
  (await customer.post('/v1/quotes', { receive_address: fixture.receiver(), energy: ENERGY, ...extra })).body;

test('an order is judged by its expected uses, and tells them ever after', async () => {
  expectRefusal(await order({ duration_sec: WEEK }, 'week'), 409, 'NOT_WORTH_RENTING');
  const { status, body } = await order({ duration_sec: WEEK, expected_uses: 5 }, 'week');
  expect(status).toBe(202);
  const told = {
    expected_uses: 5,
    price_sun: 315 * ENERGY,
    price_per_use_sun: 63 * ENERGY,
    fee_limit_sun: 100 * ENERGY,
  };
  expect(body).toMatchObject(told);
  expect((await customer.get('/v1/orders/week')).body).toMatchObject(told);
  const { body: page } = await customer.get('/v1/orders?limit=1');
  expect(page.items[0]).toMatchObject(told);
});

test('an order without expected uses has the fee limit alone', async () => {
  const { body } = await order({}, 'hour');
  expect(body.fee_limit_sun).toBe(100 * ENERGY);
  expect(body).not.toHaveProperty('expected_uses');
  expect(body).not.toHaveProperty('price_per_use_sun');
});

test('a key belongs to its expected uses, of which 1 is the default', async () => {
  const asked = { duration_sec: DAY };
  expect((await order(asked, 'uses')).status).toBe(202);
  const again = await order({ ...asked, expected_uses: 1 }, 'uses');
  expect([again.status, again.headers['idempotency-replayed']]).toEqual([202, 'true']);
  expectRefusal(await order({ ...asked, expected_uses: 2 }, 'uses'), 422, 'IDEMPOTENCY_KEY_REUSED');
});

test('an order by a quote has the quote’s expected uses, and may not name others', async () => {
  const { ref } = await quoteOf({ duration_sec: WEEK, expected_uses: 4 });
  const wrong = await order({ quote_ref: ref, expected_uses: 5 }, 'quoted');
  expectRefusal(wrong, 409, 'QUOTE_MISMATCH');
  expect(wrong.body.msg).toContain('expected_uses');
  const { status, body } = await order({ quote_ref: ref, expected_uses: 4, energy: undefined }, 'quoted');
  expect([status, body.expected_uses, body.duration_sec]).toEqual([202, 4, WEEK]);
  const { ref: plain } = await quoteOf({});
  expectRefusal(await order({ quote_ref: plain, expected_uses: 2 }, 'plain'), 409, 'QUOTE_MISMATCH');
  expect((await order({ quote_ref: plain, expected_uses: 1 }, 'plain')).status).toBe(202);
});

test('an order may be sized by its transfer, which belongs to its key', async () => {
  const [receiver, other] = [fixture.receiver(), fixture.chain.pool.address];
  const asked = { energy: undefined, transfer_to: other };
  expectRefusal(await order(asked, 'payout'), 422, 'TRANSFER_WOULD_FAIL');
  const holder = fixture.chain.holder;
  const { status, body } = await order({ ...asked, receive_address: holder }, 'payout');
  expect(status).toBe(202);
  const simulated = await customer.post('/v1/simulate', {
    owner_address: holder,
    contract_address: fixture.chain.token,
    function_selector: 'transfer(address,uint256)',
    parameter: addressToHex(other).slice(2).padStart(64, '0') + '1'.padStart(64, '0'),
  });
  expect(body.energy).toBeGreaterThanOrEqual(simulated.body.energy_used);
  const elsewhere = await order({ ...asked, receive_address: holder, transfer_to: receiver }, 'payout');
  expectRefusal(elsewhere, 422, 'IDEMPOTENCY_KEY_REUSED');
  const { ref } = await quoteOf({});
  expectRefusal(await order({ quote_ref: ref, transfer_to: other }, 'both'), 400, 'INVALID_REQUEST');
});

test('an extension is judged by the expected uses of its time', async () => {
  const caller = new HmacCustomer(fixture.api.baseUrl, customer.merchant, customer.apiKey);
  const extend = (extra: Record<string, unknown>) =>
    caller.post('/v1/orders/hour/extensions', { duration_sec: WEEK, ...extra }, withKey('longer'));
  const { body } = await extend({ expected_uses: 9 });
  expect(body.details).toEqual([{ field: 'expected_uses', msg: expect.stringContaining('from 1 to 8') }]);
  expectRefusal(await extend({}), 409, 'NOT_WORTH_RENTING');
  // Worth it by its price, and refused only because nothing is delivered yet.
  expectRefusal(await extend({ expected_uses: 4 }), 409, 'NOT_EXTENDABLE');
});
