// An order pays the price that its quote shows: quotes of both endpoints, redeemed by real orders.
import { addressToHex } from '../../../src/platform/chain/address.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

let fixture: OrderFixture;
let customer: Customer;

beforeAll(async () => {
  fixture = await openOrderFixture({ FALLBACK_TRX_USD: '0.29876543', PRICE_FLOOR_BPS: '0' });
  customer = await makeCustomer(fixture.api);
});

afterAll(() => fixture.close());

const balance = async (): Promise<number> => (await customer.get('/v1/balance')).body.credits_balance;

async function redeem(quote: Record<string, unknown>, key: string) {
  const before = await balance();
  const order = await customer.post('/v1/orders', { quote_ref: quote['ref'] }, withKey(key));
  expect(order.status).toBe(202);
  expect(order.body).toMatchObject({
    receive_address: quote['receive_address'],
    energy: quote['energy'],
    duration_sec: quote['duration_sec'],
    price_sun: quote['price_sun'],
    price_trx: quote['price_trx'],
    credits: quote['credits'],
    trx_usd: quote['trx_usd'],
  });
  expect(before - (await balance())).toBe(quote['credits']);
}

test('an order charges the credits of its quote, for a named energy', async () => {
  const { body } = await customer.post('/v1/quotes', { receive_address: fixture.receiver(0), energy: 12_347 });
  await redeem(body, 'named');
});

test('an order charges the credits of its quote, for an energy sized by the service', async () => {
  const { body } = await customer.post('/v1/quotes', { receive_address: fixture.receiver(1), duration_sec: 600 });
  expect(body.recipient_state).toBe('cold');
  await redeem(body, 'sized');
});

test('an order redeems the quote of a simulation, for exactly the energy of the call', async () => {
  const simulated = await customer.post('/v1/simulate', {
    owner_address: fixture.receiver(2),
    contract_address: fixture.chain.token,
    function_selector: 'balanceOf(address)',
    parameter: addressToHex(fixture.receiver(2)).slice(2).padStart(64, '0'),
    quote: true,
    duration_sec: 300,
  });
  expect(simulated.body).not.toHaveProperty('would_fail');
  expect(simulated.body.quote.energy).toBe(simulated.body.energy_needed);
  await redeem(simulated.body.quote, 'simulated');
});

test('a redeemed quote keeps its price although the price table changed', async () => {
  const { body } = await customer.post('/v1/quotes', { receive_address: fixture.receiver(3), energy: 65_000 });
  await fixture.api.database.query(`UPDATE price_row SET sun_per_energy = 90 WHERE duration_max_sec = 3600`);
  try {
    const dearer = async () =>
      (await customer.post('/v1/quotes', { receive_address: fixture.receiver(3), energy: 65_000 })).body.price_sun;
    for (let look = 0; look < 50 && (await dearer()) !== 65_000 * 90; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await dearer()).toBe(65_000 * 90);
    await redeem(body, 'held');
  } finally {
    await fixture.api.database.query(`UPDATE price_row SET sun_per_energy = 45 WHERE duration_max_sec = 3600`);
  }
});
