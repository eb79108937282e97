// Held answers while the database does not say which orders have arrived.
import { until } from '../../../packages/local/src/wait.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { HmacCustomer } from '../../support/api/client.js';
import { asAdmin } from '../../setup/admin.js';

let fixture: OrderFixture;

beforeAll(async () => {
  fixture = await openOrderFixture();
});

afterAll(() => fixture.close());

it('an answer is held no longer than asked, even while the database does not answer', async () => {
  const { merchant, apiKey } = await makeCustomer(fixture.api);
  const customer = new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  const answering = customer.post('/v1/orders', body, { ...withKey('held'), Prefer: 'wait=2' });
  await asAdmin(fixture.env['DATABASE_URL']!, async (admin) => {
    await until(
      async () =>
        (await admin.query(`SELECT FROM orders WHERE project_id = $1`, [merchant])).rowCount === 1 || undefined,
      20_000,
      'the order',
    );
    await admin.query('BEGIN');
    await admin.query('LOCK TABLE open_orders IN ACCESS EXCLUSIVE MODE');
    // It ends with the time limit of the same read.
    const reading = customer.get('/v1/orders/held');
    const first = await Promise.race([answering, reading]);
    expect(first).toMatchObject({ status: 202, body: { status: 'reserved' } });
    await admin.query('ROLLBACK');
    await reading;
  });
});
