// Reserving and charging under contention: foreign locks, orders over several wallets, the day of a daily cap.
import pg from 'pg';
import { credits } from '../../../src/domain/units.js';
import { Database } from '../../../src/platform/database/database.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import type { Answer, Customer } from '../../support/api/client.js';
import { AUTHOR, keepSelling, makeCustomer, openApi } from '../../support/api/factory.js';
import {
  balanceOf,
  expectRefusal,
  openOrderFixture,
  withKey,
  type OrderFixture,
} from '../../support/api/order-fixture.js';

let fixture: OrderFixture;

beforeAll(async () => {
  fixture = await openOrderFixture();
});

afterAll(() => fixture.close());

const body = (energy = 65_000) => ({ receive_address: fixture.receiver(), energy });
const query = async (text: string, params: readonly unknown[] = []) => fixture.api.database.query(text, params);

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: fixture.env['DATABASE_URL']! });
  await client.connect();
  return client;
}

/** Holds a lock until `work` is done. */
async function holding<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const client = await connect();
  try {
    await client.query('BEGIN');
    await client.query(lock);
    return await work();
  } finally {
    await client.query('ROLLBACK');
    await client.end();
  }
}

const LOCKS = [
  ['all slots', `SELECT 1 FROM pool_slot FOR UPDATE`],
  ['legs, against writing', `LOCK TABLE leg IN SHARE MODE`],
  ['orders, against writing', `LOCK TABLE orders IN SHARE MODE`],
  ['ledger entries, against writing', `LOCK TABLE credit_entry IN SHARE MODE`],
  ['all balances', `SELECT 1 FROM credit_account FOR UPDATE`],
] as const;

test.each(LOCKS)(
  'a lock on %s delays purchases briefly, charges no caller, and lets nothing pile up',
  async (_what, lock) => {
    const customers = await Promise.all(Array.from({ length: 4 }, () => makeCustomer(fixture.api)));
    const before = await query('SELECT count(*)::int AS n FROM orders');
    const witness = await connect();
    let waited = false;
    try {
      await holding(lock, async () => {
        // Waits for the same lock with a longer limit. Every purchase must be answered before that.
        const patient = witness
          .query(`SET lock_timeout = '9s'; BEGIN`)
          .then(() => witness.query(lock.replace('SHARE', 'ROW EXCLUSIVE')))
          .catch(() => undefined)
          .finally(() => (waited = true));
        const answers = await Promise.all(
          customers.flatMap((customer) =>
            [1, 2, 3, 4, 5].map((n) => customer.post('/v1/orders', body(), withKey(`k${n}`))),
          ),
        );
        expect(waited).toBe(false);
        for (const answer of answers) {
          expectRefusal(answer, 503, 'SERVICE_UNAVAILABLE');
          expect(answer.headers['retry-after']).toBeDefined();
        }
        void patient;
      });
    } finally {
      await witness.end();
    }
    expect(await query('SELECT count(*)::int AS n FROM orders')).toEqual(before);
    for (const customer of customers) expect(await balanceOf(customer)).toBe(1_000_000_000);
    expect((await customers[0]!.post('/v1/orders', body(), withKey('k1'))).status).toBe(202);
  },
);

describe('two wallets', () => {
  let other: number;
  let mine: number;

  beforeAll(async () => {
    const [pool] = await query(`SELECT id FROM pool_wallet WHERE role = 'pool'`);
    mine = pool!['id'] as number;
    const [copy] = await query(
      `INSERT INTO pool_wallet (address, role, permission_id, key_address, staked_sun, free_sun_seen)
       VALUES ('TOther', 'pool', 2, 'TKey', 10000000000000, 1) RETURNING id`,
    );
    other = copy!['id'] as number;
    await query(`INSERT INTO pool_slot (wallet_id, slot_no) SELECT $1, n FROM generate_series(1, 4) AS n`, [other]);
    await keepSelling(fixture.api.database);
  });

  afterAll(async () => {
    await query(`UPDATE pool_wallet SET status = 'paused', pause_reason = 'test' WHERE id = $1`, [other]);
  });

  /** Sets the contents of every slot of a wallet. */
  const fill = async (wallet: number, sun: bigint, transactions: number) =>
    query(`UPDATE pool_slot SET free_sun = $2, free_transactions = $3 WHERE wallet_id = $1`, [
      wallet,
      sun,
      transactions,
    ]);
  const legsOf = async (answer: Answer) =>
    query(`SELECT wallet_id FROM leg WHERE order_id = $1 ORDER BY leg_no`, [answer.body.id]);
  const sunOf = async (answer: Answer): Promise<bigint> =>
    (await query(`SELECT sum(amount_sun)::bigint AS sun FROM leg WHERE order_id = $1`, [answer.body.id]))[0]![
      'sun'
    ] as bigint;

  test('serves an order from many slots of another wallet if the first is locked', async () => {
    const customer = await makeCustomer(fixture.api);
    await fill(mine, 10n ** 13n, 100);
    const needed = await sunOf(await customer.post('/v1/orders', body()));
    await fill(other, needed / 3n, 2);
    await holding(`SELECT 1 FROM pool_slot WHERE wallet_id = ${mine.toString()} FOR UPDATE`, async () => {
      const answer = await customer.post('/v1/orders', body());
      expect(answer.status).toBe(202);
      expect(await legsOf(answer)).toEqual([{ wallet_id: other }]);
    });
  });

  test('skips a wallet without bandwidth for a delegation and its reclaim, whatever its stake', async () => {
    const customer = await makeCustomer(fixture.api);
    await fill(mine, 10n ** 13n, 0);
    await query(`UPDATE pool_slot SET free_transactions = 1 WHERE wallet_id = $1 AND slot_no = 1`, [mine]);
    await fill(other, 10n ** 13n, 1);
    expect(await legsOf(await customer.post('/v1/orders', body()))).toEqual([{ wallet_id: other }]);
    expect(await legsOf(await customer.post('/v1/orders', body()))).toEqual([{ wallet_id: other }]);
    const before = await balanceOf(customer);
    expectRefusal(await customer.post('/v1/orders', body(), withKey('none')), 503, 'CAPACITY_UNAVAILABLE');
    expect(await balanceOf(customer)).toBe(before);
  });

  test('a refunded order frees its two transactions with its stake, once', async () => {
    const customer = await makeCustomer(fixture.api);
    await fill(mine, 10n ** 13n, 2);
    await fill(other, 0n, 0);
    const sums = `SELECT sum(free_sun)::text AS sun, sum(free_transactions)::int AS transactions FROM pool_slot`;
    const before = await query(sums);
    expect((await customer.post('/v1/orders', body(), withKey('back'))).status).toBe(202);
    expect(await query(sums)).not.toEqual(before);
    await fixture.refund(customer, 'back');
    expect(await query(sums)).toEqual(before);
  });

  test('an order has no more legs than its price pays for, and a quoted one by its own price and the present fee', async () => {
    // No single wallet holds it all. At 4 energy fees a leg the price pays for one leg, at 2 for two.
    const single = await openApi({ ...fixture.env, PRICE_FLOOR_BPS: '50000', LOG_LEVEL: 'silent' });
    try {
      const customer = await makeCustomer(fixture.api);
      await fill(mine, 10n ** 13n, 100);
      const needed = await sunOf(await customer.post('/v1/orders', body()));
      await fill(mine, 0n, 100);
      await fill(other, 0n, 100);
      await query(`UPDATE pool_slot SET free_sun = $1 WHERE slot_no = 1 AND wallet_id IN ($2, $3)`, [
        (needed * 2n) / 3n,
        mine,
        other,
      ]);
      const { body: quote } = await customer.post('/v1/quotes', body());
      const dear: Customer = customer.at(single.baseUrl);
      expectRefusal(await dear.post('/v1/orders', body()), 503, 'CAPACITY_UNAVAILABLE');
      expectRefusal(await dear.post('/v1/orders', { quote_ref: quote.ref }), 503, 'CAPACITY_UNAVAILABLE');
      const split = await customer.post('/v1/orders', { quote_ref: quote.ref });
      expect(split).toMatchObject({ status: 202, body: { price_sun: quote.price_sun } });
      expect(await legsOf(split)).toHaveLength(2);
    } finally {
      await single.close();
      await fill(mine, 10n ** 13n, 100);
    }
  });
});

describe('the day of a daily cap', () => {
  const PRICE = 8_775_000;
  const spentOf = async (customer: Customer) => {
    const [row] = await query(
      `SELECT spent_on::text AS day, spent_credits::int AS credits, (clock_timestamp() AT TIME ZONE 'UTC')::date::text AS today
         FROM credit_account WHERE project_id = $1`,
      [customer.merchant],
    );
    return row!;
  };

  const spentByKey = async (customer: Customer) => {
    const [row] = await query(
      `SELECT spent_on::text AS day, spent_credits::int AS credits FROM api_key WHERE id = $1`,
      [customer.merchant],
    );
    return row!;
  };

  test('never goes back: amounts counted for a later day stay counted', async () => {
    const customer = await makeCustomer(fixture.api);
    await fixture.api.ledger.setDailyCap(customer.merchant, credits(PRICE), AUTHOR);
    await query(
      `UPDATE credit_account SET spent_on = (clock_timestamp() AT TIME ZONE 'UTC')::date + 1, spent_credits = 1
        WHERE project_id = $1`,
      [customer.merchant],
    );
    expectRefusal(await customer.post('/v1/orders', body()), 402, 'SPEND_CAP_REACHED');
    await fixture.api.ledger.setDailyCap(customer.merchant, credits(PRICE + 1), AUTHOR);
    const before = await spentOf(customer);
    expect((await customer.post('/v1/orders', body())).status).toBe(202);
    expect(await spentOf(customer)).toMatchObject({ day: before['day'], credits: PRICE + 1 });
  });

  test('is the day on which the charge got the balance’s lock, not the day before its wait', async () => {
    const customer = await makeCustomer(fixture.api);
    const source = createDataSource({ url: fixture.env['DATABASE_URL']!, poolMax: 1, applicationName: 'energy-test' });
    await source.initialize();
    const late = new Database(source);
    const holder = await connect();
    try {
      // A fake clock shadows the database's clock for the statement below.
      await query(`CREATE SCHEMA fixed`);
      await query(`CREATE TABLE fixed.clock AS SELECT timestamptz '2030-05-01 23:59:59Z' AS now`);
      await query(`GRANT USAGE ON SCHEMA fixed TO PUBLIC`);
      await query(`GRANT SELECT ON fixed.clock TO PUBLIC`);
      await query(
        `CREATE FUNCTION fixed.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS
         $$ BEGIN RETURN (SELECT now FROM fixed.clock); END $$`,
      );
      await query(`UPDATE pool_wallet SET sells_until = '2031-01-01'`);
      // take_order has its own search path, so the fake clock must be in that one. The caller's search path has no
      // effect.
      await query(`ALTER FUNCTION take_order SET search_path = fixed, public, pg_catalog`);
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM credit_account WHERE project_id = $1 FOR UPDATE', [customer.merchant]);
      const charging = late.query(
        `SELECT created FROM take_order($1, $1, 'midnight', sha256('x'), 'rental', NULL, NULL, $2, 65000, 3600, 2925000, 8775000,
           30000000, 1000000, 1, NULL, NULL, 20, 9000)`,
        [customer.merchant, fixture.receiver()],
      );
      await waitUntilLocked();
      await query(`UPDATE fixed.clock SET now = '2030-05-02 00:00:01Z'`);
      await holder.query('COMMIT');
      expect(await charging).toEqual([{ created: true }]);
      expect(await spentOf(customer)).toMatchObject({ day: '2030-05-02', credits: PRICE });
      expect(await spentByKey(customer)).toEqual({ day: '2030-05-02', credits: PRICE });
      await fixture.refund(customer, 'midnight');
      expect(await spentOf(customer)).toMatchObject({ day: '2030-05-02', credits: 0 });
      expect(await spentByKey(customer)).toEqual({ day: '2030-05-02', credits: 0 });
    } finally {
      await holder.end();
      await source.destroy();
      await query(`ALTER FUNCTION take_order SET search_path = public, pg_temp`);
      await query(`DROP SCHEMA fixed CASCADE`);
      await keepSelling(fixture.api.database);
    }
  });

  async function waitUntilLocked(): Promise<void> {
    for (let look = 0; look < 200; look += 1) {
      const waiting = await query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%midnight%'`,
      );
      if (waiting.length > 0) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error('nothing waits for the lock');
  }
});
