// Single conditions in the statements of money and capacity, and one project's share of the database. Each test fails
// without its condition.
import { credits } from '../../../src/domain/units.js';
import { AUTHOR, makeCustomer, type TestApi } from '../../support/api/factory.js';
import { expectRefusal, openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { until } from '../../../packages/local/src/wait.js';
import type { Customer } from '../../support/api/client.js';

const TRX = 1_000_000n;
const PRICE = 8_775_000;

let fixture: OrderFixture;
let api: TestApi;

beforeAll(async () => {
  // Enough connections for more lists than one project may run.
  fixture = await openOrderFixture({ DATABASE_POOL_MAX: '40' });
  ({ api } = fixture);
});

afterAll(() => fixture.close());

/** Runs statements with triggers off, as a manual change of the database would. */
async function byHand(...statements: string[]): Promise<void> {
  await asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
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

/** Returns the last order id drawn from the sequence, including rolled-back ones. */
async function lastId(): Promise<bigint> {
  const [row] = await api.database.query<{ id: bigint }>(
    `SELECT last_value AS id FROM pg_sequences WHERE format('%I.%I', schemaname, sequencename)::regclass =
            pg_get_serial_sequence('orders', 'id')::regclass`,
  );
  return row!.id;
}

it('an unpayable order without a quote writes nothing, and its key stays free', async () => {
  const [poor, capped] = [await makeCustomer(api, 0n), await makeCustomer(api)];
  await api.ledger.setDailyCap(capped.merchant, credits(PRICE - 1), AUTHOR);
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  const before = await lastId();
  const address = { address: newOwner().address };
  expectRefusal(await poor.post('/v1/orders', body, withKey('first')), 402, 'INSUFFICIENT_CREDITS');
  expectRefusal(await poor.post('/v1/activate', address), 402, 'INSUFFICIENT_CREDITS');
  expectRefusal(await capped.post('/v1/orders', body), 402, 'SPEND_CAP_REACHED');
  const worthless = { ...body, receive_address: fixture.chain.token };
  expectRefusal(await poor.post('/v1/orders', worthless, withKey('second')), 422, 'RECEIVER_NOT_SUPPORTED');
  expect(await lastId()).toBe(before);
  await api.ledger.topUp(poor.merchant, credits(PRICE), 'first', AUTHOR);
  const bought = await poor.post('/v1/orders', body, withKey('first'));
  expect([bought.status, bought.headers['idempotency-replayed']]).toEqual([202, undefined]);
  // No credits are left, but the replay is found before the charge.
  const replayed = await poor.post('/v1/orders', body, withKey('first'));
  expect([replayed.status, replayed.headers['idempotency-replayed']]).toEqual([202, 'true']);
  expect(replayed.body.id).toBe(bought.body.id);
});

it.each([
  ['no request', false],
  ['not even one of a recently refused project', true],
])('%s is refused for its credits while an earlier one of its key may still be accepted', async (_who, isKnown) => {
  const customer = await makeCustomer(api, 0n);
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  if (isKnown) expectRefusal(await customer.post('/v1/orders', body), 402, 'INSUFFICIENT_CREDITS');
  const waits = async (): Promise<void> => {
    for (;;) {
      const waiting = await api.database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            AND query LIKE '%take_order(%'`,
      );
      if (waiting.length > 0) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await asAdmin(fixture.env['DATABASE_URL']!, async (first) => {
    await first.query('BEGIN');
    // Credits that only this transaction sees, and an order of the key that is paid with them.
    await first.query('UPDATE credit_account SET balance_credits = $2 WHERE project_id = $1', [
      customer.merchant,
      PRICE,
    ]);
    const { rows } = await first.query(
      `SELECT refusal, created FROM take_order($1, $1, 'twice', sha256('x'), 'rental', NULL, NULL, $2, 65000, 3600,
         2925000, $3, 30000000, 1000000, 1, NULL, NULL, 20, 2000)`,
      [customer.merchant, fixture.receiver(), PRICE],
    );
    expect(rows).toEqual([{ refusal: null, created: true }]);
    const second = customer.post('/v1/orders', body, withKey('twice'));
    await Promise.race([second, waits()]);
    await first.query('COMMIT');
    // The other request's order is found under the key, and its request hash differs.
    expectRefusal(await second, 422, 'IDEMPOTENCY_KEY_REUSED');
  });
});

it('judges orders of recently refused projects together, by the state after their arrival', async () => {
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  const poor: Customer[] = [];
  while (poor.length < 6) poor.push(await makeCustomer(api, 0n));
  for (const customer of poor) expectRefusal(await customer.post('/v1/orders', body), 402, 'INSUFFICIENT_CREDITS');
  const waiting = async (): Promise<string[]> => {
    const rows = await api.database.query<{ name: string }>(
      `SELECT substring(query FROM 'FROM (\\w+)\\(') AS name FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ '(order_refusals|take_order)\\(' ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };
  const answers = await asAdmin(fixture.env['DATABASE_URL']!, async (holder) => {
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE credit_account IN ACCESS EXCLUSIVE MODE');
    const judged = poor.map(async (customer) => customer.post('/v1/orders', body));
    await until(async () => ((await waiting()).length > 0 ? true : undefined), 1500, 'a wait for the lock', 5);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await waiting()).toEqual(['order_refusals']);
    await holder.query('COMMIT');
    return Promise.all(judged);
  });
  for (const answer of answers) expectRefusal(answer, 402, 'INSUFFICIENT_CREDITS');
  const [first, second] = poor as [Customer, Customer];
  await api.ledger.topUp(first.merchant, credits(PRICE), 'after', AUTHOR);
  const [bought, refused] = await Promise.all([
    first.post('/v1/orders', body, withKey('now')),
    second.post('/v1/orders', body),
  ]);
  expect(bought.status).toBe(202);
  expectRefusal(refused, 402, 'INSUFFICIENT_CREDITS');
  // The credits are spent again, but the order that they paid for is still replayed.
  const replayed = await first.post('/v1/orders', body, withKey('now'));
  expect([replayed.status, replayed.headers['idempotency-replayed']]).toEqual([202, 'true']);
  expectRefusal(
    await first.post('/v1/orders', { ...body, energy: 66_000 }, withKey('now')),
    422,
    'IDEMPOTENCY_KEY_REUSED',
  );
});

it('runs two of many lists of one project concurrently, and those of others beside them', async () => {
  const [greedy, other] = [await makeCustomer(api), await makeCustomer(api)];
  const running = async (count: number): Promise<void> => {
    for (;;) {
      const rows = await api.database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            AND query LIKE 'SELECT o.id, o.key, o.kind%'`,
      );
      expect(rows.length).toBeLessThanOrEqual(count);
      if (rows.length === count) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await asAdmin(fixture.env['DATABASE_URL']!, async (holder) => {
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE');
    const lists = Array.from({ length: 12 }, async () => greedy.get('/v1/orders?limit=100'));
    await running(2);
    lists.push(other.get('/v1/orders'));
    await running(3);
    await holder.query('COMMIT');
    expect((await Promise.all(lists)).map(({ status }) => status)).toEqual(new Array(13).fill(200));
  });
});

it('a refund of another day’s order leaves today’s spending unchanged', async () => {
  const customer = await makeCustomer(api);
  await api.ledger.setDailyCap(customer.merchant, credits(PRICE), AUTHOR);
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  expect((await customer.post('/v1/orders', body, withKey('yesterday'))).status).toBe(202);
  await byHand(
    `UPDATE orders SET created_at = created_at - interval '1 day' WHERE project_id = '${customer.merchant}'`,
    `UPDATE credit_entry SET created_at = created_at - interval '1 day' WHERE project_id = '${customer.merchant}' AND kind = 'charge'`,
    `UPDATE credit_account SET spent_on = spent_on - 1 WHERE project_id = '${customer.merchant}'`,
  );
  expect((await customer.post('/v1/orders', body, withKey('today'))).status).toBe(202);
  await fixture.refund(customer, 'yesterday');
  expectRefusal(await customer.post('/v1/orders', body), 402, 'SPEND_CAP_REACHED');
});

it('a refund lowers no spending of the day below zero, even if a part of the charge is not counted there', async () => {
  const customer = await makeCustomer(api);
  const { merchant } = customer;
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  expect((await customer.post('/v1/orders', body, withKey('counted'))).status).toBe(202);
  const [auto] = await api.database.query<{ id: bigint }>(
    `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec, daily_cap_credits,
         idle_after_sec, spent_credits, spent_on)
       SELECT $1, $2, $1, 130000, 100000, 3600, 1000000000, 86400, 1, spent_on FROM credit_account WHERE project_id = $1
       RETURNING id`,
    [merchant, fixture.receiver()],
  );
  const key = `auto_${auto!.id.toString()}_1`;
  await byHand(
    `UPDATE orders SET key = '${key}' WHERE project_id = '${merchant}'`,
    `UPDATE credit_account SET spent_credits = 1 WHERE project_id = '${merchant}'`,
    `UPDATE api_key SET spent_credits = 1 WHERE project_id = '${merchant}'`,
  );
  await fixture.refund(customer, key);
  const spent = await api.database.query(
    `SELECT spent_credits AS credits FROM credit_account WHERE project_id = $1
     UNION ALL SELECT spent_credits FROM api_key WHERE project_id = $1
     UNION ALL SELECT spent_credits FROM auto_delegation WHERE project_id = $1`,
    [merchant],
  );
  expect(spent).toEqual([{ credits: 0n }, { credits: 0n }, { credits: 0n }]);
});

it('an order over several wallets has no leg below the chain’s minimum', async () => {
  const customer = await makeCustomer(api);
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  expect((await customer.post('/v1/orders', body, withKey('whole'))).status).toBe(202);
  const [whole] = await amountsOf('whole');
  const other = newOwner().address;
  const fields = JSON.stringify({ id: 9001, address: other });
  await byHand(
    `INSERT INTO pool_wallet OVERRIDING SYSTEM VALUE
      SELECT (jsonb_populate_record(w, '${fields}')).* FROM pool_wallet w WHERE w.address = '${fixture.chain.pool.address}'`,
    `INSERT INTO pool_slot SELECT (jsonb_populate_record(s, '{"wallet_id": 9001}')).* FROM pool_slot s
      JOIN pool_wallet w ON w.id = s.wallet_id WHERE w.address = '${fixture.chain.pool.address}'`,
    // Half a TRX short of the order's need in one slot, and ten TRX in another wallet.
    `UPDATE pool_slot SET free_sun = CASE slot_no WHEN 1 THEN ${(whole! - TRX / 2n).toString()} ELSE 0 END
      FROM pool_wallet w WHERE w.id = wallet_id AND w.address = '${fixture.chain.pool.address}'`,
    `UPDATE pool_slot SET free_sun = CASE slot_no WHEN 1 THEN ${(10n * TRX).toString()} ELSE 0 END WHERE wallet_id = 9001`,
  );
  expect((await customer.post('/v1/orders', body, withKey('spread'))).status).toBe(202);
  const amounts = await amountsOf('spread');
  expect(amounts.length).toBeGreaterThan(1);
  expect(amounts.reduce((sum, each) => sum + each, 0n)).toBeGreaterThanOrEqual(whole!);
  for (const amount of amounts) expect(amount).toBeGreaterThanOrEqual(TRX);
});
