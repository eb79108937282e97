// What single conditions in the statements of money and capacity are there for. Each test fails when its one is taken out.
import { credits } from '../../src/money/units.js';
import { AUTHOR, makeCustomer, type TestApi } from '../factory.js';
import { expectRefusal, openOrderWorld, withKey, type OrderWorld } from '../order-world.js';
import { asAdmin } from '../setup/admin.js';
import { newOwner } from '../order-chain.js';

const TRX = 1_000_000n;
const PRICE = 8_775_000;

let world: OrderWorld;
let api: TestApi;

beforeAll(async () => {
  world = await openOrderWorld();
  ({ api } = world);
});

afterAll(() => world.close());

/** As a hand at the keyboard of the database would: past every trigger. */
async function byHand(...statements: string[]): Promise<void> {
  await asAdmin(world.env['DATABASE_URL']!, async (client) => {
    await client.query('SET session_replication_role = replica');
    for (const statement of statements) await client.query(statement);
  });
}

async function amountsOf(key: string): Promise<bigint[]> {
  const rows = await api.database.query<{ sun: bigint }>(
    `SELECT l.amount_sun AS sun FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1 ORDER BY l.leg_no`,
    [key],
  );
  return rows.map((row) => row.sun);
}

it('a refund of an order of another day leaves what was spent today as it is', async () => {
  const customer = await makeCustomer(api);
  await api.ledger.setDailyCap(customer.merchant, credits(PRICE), AUTHOR);
  const body = { receive_address: world.receiver(), energy: 65_000 };
  expect((await customer.post('/v1/orders', body, withKey('yesterday'))).status).toBe(202);
  await byHand(
    `UPDATE orders SET created_at = created_at - interval '1 day' WHERE project_id = '${customer.merchant}'`,
    `UPDATE credit_entry SET created_at = created_at - interval '1 day' WHERE project_id = '${customer.merchant}' AND kind = 'charge'`,
    `UPDATE credit_account SET spent_on = spent_on - 1 WHERE project_id = '${customer.merchant}'`,
  );
  expect((await customer.post('/v1/orders', body, withKey('today'))).status).toBe(202);
  await world.refund(customer, 'yesterday');
  expectRefusal(await customer.post('/v1/orders', body), 402, 'SPEND_CAP_REACHED');
});

it('an order spread over wallets has no leg below what the chain lets one delegate', async () => {
  const customer = await makeCustomer(api);
  const body = { receive_address: world.receiver(), energy: 65_000 };
  expect((await customer.post('/v1/orders', body, withKey('whole'))).status).toBe(202);
  const [whole] = await amountsOf('whole');
  const other = newOwner().address;
  const fields = JSON.stringify({ id: 9001, address: other });
  await byHand(
    `INSERT INTO pool_wallet OVERRIDING SYSTEM VALUE
      SELECT (jsonb_populate_record(w, '${fields}')).* FROM pool_wallet w WHERE w.address = '${world.chain.pool.address}'`,
    `INSERT INTO pool_slot SELECT (jsonb_populate_record(s, '{"wallet_id": 9001}')).* FROM pool_slot s
      JOIN pool_wallet w ON w.id = s.wallet_id WHERE w.address = '${world.chain.pool.address}'`,
    // Half a TRX short of what the order needs, in many slots; and a little in another wallet.
    `UPDATE pool_slot SET free_sun = CASE slot_no WHEN 1 THEN ${(whole! - TRX / 2n).toString()} ELSE 0 END
      FROM pool_wallet w WHERE w.id = wallet_id AND w.address = '${world.chain.pool.address}'`,
    `UPDATE pool_slot SET free_sun = CASE slot_no WHEN 1 THEN ${(10n * TRX).toString()} ELSE 0 END WHERE wallet_id = 9001`,
  );
  expect((await customer.post('/v1/orders', body, withKey('spread'))).status).toBe(202);
  const amounts = await amountsOf('spread');
  expect(amounts.length).toBeGreaterThan(1);
  expect(amounts.reduce((sum, each) => sum + each, 0n)).toBeGreaterThanOrEqual(whole!);
  for (const amount of amounts) expect(amount).toBeGreaterThanOrEqual(TRX);
});
