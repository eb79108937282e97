// The measured use of a rental in the answers of the API: when it appears, when it is final, and where it stays out.
import { HmacCustomer } from '../../support/api/client.js';
import { makeCustomer, type TestApi } from '../../support/api/factory.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

const ENDED = '2026-11-20T13:00:00Z';

let fixture: OrderFixture;
let api: TestApi;
let customer: HmacCustomer;

beforeAll(async () => {
  fixture = await openOrderFixture();
  ({ api } = fixture);
  const { baseUrl, merchant, apiKey } = await makeCustomer(api);
  customer = new HmacCustomer(baseUrl, merchant, apiKey);
  await write(
    `INSERT INTO deposit_cursor (block_number, block_id, block_at) VALUES (100, sha256(''), $1)
    ON CONFLICT (id) DO UPDATE SET block_at = excluded.block_at`,
    ['2026-11-20T12:59:57Z'],
  );
});

afterAll(() => fixture.close());

/** Writes rows of a later state, with triggers off. */
async function write(text: string, params: readonly unknown[]): Promise<void> {
  await api.database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(text, params);
  });
}

interface Bought {
  readonly id: number;
  readonly price_sun: number;
}

/** Buys a rental, and records its delivery. */
async function rent(key: string): Promise<Bought> {
  const request = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
  const { status, body } = await customer.post('/v1/orders', request, withKey(key));
  expect([status, body.measured_use]).toEqual([202, undefined]);
  await write(`UPDATE orders SET status = 'delivered', delivered_at = $2, ends_at = $3 WHERE id = $1`, [
    body.id,
    '2026-11-20T12:00:00Z',
    ENDED,
  ]);
  return body as Bought;
}

const use = async ({ id }: Bought, energy: number): Promise<void> =>
  write(
    `INSERT INTO rental_use VALUES ($1, $2, 1, 90)
     ON CONFLICT (order_id) DO UPDATE SET energy = excluded.energy, calls = 2, last_block = 95`,
    [id, energy],
  );
const orderOf = async (key: string) => (await customer.get(`/v1/orders/${key}`)).body;
const feeOf = async ({ id }: Bought): Promise<number> => {
  const [row] = await api.database.query<{ fee: bigint }>('SELECT energy_fee_sun AS fee FROM orders WHERE id = $1', [
    id,
  ]);
  return Number(row!.fee);
};

it('appears with the first use and is final once a block at the end of the rental was read', async () => {
  const order = await rent('used');
  expect((await orderOf('used')).measured_use).toBeUndefined();
  await use(order, 10);
  const fee = await feeOf(order);
  const first = 10 * fee - order.price_sun;
  expect(first).toBeLessThan(0);
  expect((await orderOf('used')).measured_use).toEqual({
    used_energy: 10,
    calls: 1,
    last_block: 90,
    saved_sun: first,
    saved_trx: (first / 1_000_000).toFixed(6),
    is_final: false,
  });

  await use(order, 64_285);
  const body = { used_energy: 64_285, calls: 2, last_block: 95, saved_sun: 64_285 * fee - order.price_sun };
  await write(`UPDATE orders SET reclaimed_at = $2 WHERE id = $1`, [order.id, ENDED]);
  expect((await orderOf('used')).measured_use).toMatchObject({ ...body, is_final: false });
  await write(`UPDATE deposit_cursor SET block_at = $1`, [ENDED]);
  expect((await orderOf('used')).measured_use).toMatchObject({ ...body, is_final: true });
});

it('is the same in lists and in a replay, and stays out of the client family', async () => {
  const order = await rent('everywhere');
  await use(order, 64_285);
  const { measured_use: measured } = await orderOf('everywhere');
  expect(measured).toMatchObject({ used_energy: 64_285 });
  for (const filter of ['', '?status=delivered', `?receive_address=${fixture.receiver()}`]) {
    const { items } = (await customer.get(`/v1/orders${filter}`)).body as { items: { key: string }[] };
    expect(items.find(({ key }) => key === 'everywhere')).toMatchObject({ measured_use: measured });
  }
  const request = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
  const replay = await customer.post('/v1/orders', request, withKey('everywhere'));
  expect([replay.headers['idempotency-replayed'], replay.body.measured_use]).toEqual(['true', measured]);
  const family = await customer.post('/v1/energy/order', { key: 'everywhere' });
  expect([family.status, family.body.status, family.body.measured_use]).toEqual([200, 'delivered', undefined]);
});

it('subtracts the prices of extensions', async () => {
  const order = await rent('extended');
  await use(order, 64_285);
  const before = (await orderOf('extended')).measured_use.saved_sun as number;
  await write(
    `INSERT INTO order_extension (order_id, number, project_id, key, request_hash, duration_sec, price_sun, credits, trx_usd_e8, ends_at)
     SELECT id, 1, project_id, 'longer', sha256(''), 3600, 1000, 1, 1, ends_at FROM orders WHERE id = $1`,
    [order.id],
  );
  await write(`UPDATE orders SET extensions = 1 WHERE id = $1`, [order.id]);
  expect((await orderOf('extended')).measured_use.saved_sun).toBe(before - 1000);
});

it('tells the energy alone if the energy price of the order is not recorded', async () => {
  const order = await rent('old');
  await use(order, 64_285);
  await write(`UPDATE orders SET energy_fee_sun = NULL WHERE id = $1`, [order.id]);
  expect((await orderOf('old')).measured_use).toEqual({
    used_energy: 64_285,
    calls: 1,
    last_block: 90,
    is_final: false,
  });
});

it('is absent of orders that are not delivered, and of test orders', async () => {
  const order = await rent('other');
  await use(order, 64_285);
  await write(`UPDATE orders SET test = true WHERE id = $1`, [order.id]);
  expect((await orderOf('other')).measured_use).toBeUndefined();
  await write(`UPDATE orders SET test = false, status = 'refunded' WHERE id = $1`, [order.id]);
  expect((await orderOf('other')).measured_use).toBeUndefined();
});
