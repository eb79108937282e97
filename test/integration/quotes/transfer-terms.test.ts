// Orders and quotes for a named transfer: the same request, the reason of a refusal, and test projects.
import { jest } from '@jest/globals';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import type { HmacCustomer } from '../../support/api/client.js';
import { withKey } from '../../support/api/order-fixture.js';
import { newAddress } from '../../support/chain/quote-chain.js';
import { openTestProjectFixture, type TestProjectFixture } from '../../support/api/test-project-fixture.js';

let fixture: TestProjectFixture;
let live: HmacCustomer;

beforeAll(async () => {
  fixture = await openTestProjectFixture();
  live = await fixture.customer({ isTest: false, balance: 100_000_000_000n });
});

afterAll(() => fixture.close());

const asked = () => ({ receive_address: fixture.chain.holder, transfer_to: fixture.receiver(2) });

test('the reference token named explicitly makes no other request', async () => {
  const first = await live.post('/v1/orders', asked(), withKey('token'));
  expect(first.status).toBe(202);
  for (const defaults of [{ token: fixture.chain.token }, { transfer_amount: '1' }]) {
    const again = await live.post('/v1/orders', { ...asked(), ...defaults }, withKey('token'));
    expect({ status: again.status, id: again.body.id }).toEqual({ status: 202, id: first.body.id });
  }
});

test('a test project is sized as without a transfer', async () => {
  const customer = await fixture.customer();
  const plain = await customer.post('/v1/quotes', { receive_address: fixture.receiver(1) });
  const transfer = { receive_address: fixture.receiver(1), transfer_to: fixture.chain.holder };
  const quoted = await customer.post('/v1/quotes', transfer);
  expect({ status: quoted.status, energy: quoted.body.energy }).toEqual({ status: 200, energy: plain.body.energy });
  expect((await customer.post('/v1/orders', transfer, withKey('test'))).status).toBe(202);
});

test.each([
  ['that is not on chain', newAddress, 'RECEIVER_NOT_ACTIVATED'],
  ['that is a contract', () => fixture.chain.token, 'RECEIVER_NOT_SUPPORTED'],
])('an address %s is refused for that, and not for its transfer', async (_, address, code) => {
  const order = { receive_address: address(), transfer_to: fixture.chain.holder };
  expect((await live.post('/v1/orders', order, withKey(code))).body.error).toBe(code);
});

test('repetitions of one transfer are simulated once in a second, refused or not', async () => {
  const simulated = jest.spyOn(fixture.api.app.get(TronClient, { strict: false }), 'simulate');
  const order = { receive_address: fixture.receiver(3), transfer_to: fixture.chain.holder };
  const repeated = [];
  // One after another: requests that wait for the same simulation share it anyway.
  for (let n = 0; n < 20; n += 1) repeated.push(await live.post('/v1/quotes', order));
  expect(new Set(repeated.map(({ body }) => body.error))).toEqual(new Set(['TRANSFER_WOULD_FAIL']));
  const transfers = simulated.mock.calls.filter(([call]) => call.functionSelector?.startsWith('transfer(') === true);
  simulated.mockRestore();
  // The answers of one read may be older than a second on a slow machine.
  expect(transfers.length).toBeLessThan(repeated.length);
});
