// A dump has orders in flight. `verify` judges them later, in the restored database.
import { installSteppedClock, stepClock } from '../../setup/stepped-clock.js';
import { asAdmin } from '../../setup/admin.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { cliWith } from '../../support/cli.js';

let fixture: OrderFixture;

beforeAll(async () => {
  fixture = await openOrderFixture();
});

afterAll(() => fixture.close());

it('accepts an order in flight if its allowed age includes that of the dump', async () => {
  const customer = await makeCustomer(fixture.api);
  const order = { receive_address: fixture.receiver(), energy: 65_000 };
  expect((await customer.post('/v1/orders', order, withKey('in flight'))).status).toBe(202);
  await asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
    await installSteppedClock(client);
    await stepClock(client, '1 hour');
  });
  const verify = cliWith(fixture.env);
  expect(await verify('verify', '--no-chain', '--settle-within', '4500')).toMatchObject({ code: 0, err: '' });
  const late = await verify('verify', '--no-chain');
  expect(late).toMatchObject({ code: 1, err: expect.stringContaining('1 violations of order-overdue') });
});
