// Money at the edges of clocks and of test projects: caps over midnight, quotes of a later clock, pruned play money.
import type pg from 'pg';
import { until } from '../../../packages/local/src/wait.js';
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { credits } from '../../../src/domain/units.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { ClockWatch } from '../../../src/modules/fulfilment/loop/clock-watch.js';
import { pruneTestOrders } from '../../../src/modules/test-projects/retention.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { HmacCustomer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { withKey } from '../../support/api/order-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { installSteppedClock, stepClock } from '../../setup/stepped-clock.js';
import { openTestProjectFixture, type TestProjectFixture } from '../../support/api/test-project-fixture.js';

/** The price of 65,000 energy for the default duration, in credits. */
const PRICE = 8_775_000n;
const DAY_MS = 86_400_000;

let fixture: TestProjectFixture;

const admin = <T>(work: (client: pg.Client) => Promise<T>) => asAdmin(fixture.env['DATABASE_URL']!, work);
const step = (by: string) => admin((client) => stepClock(client, by));

beforeAll(async () => {
  fixture = await openTestProjectFixture();
  await admin(installSteppedClock);
});

beforeEach(async () => {
  await step('0');
  await fixture.api.database.query(`UPDATE pool_wallet SET sells_until = clock_timestamp() + interval '400 days'`);
});

afterAll(() => fixture.close());

async function customerWith(balance: bigint, terms: object, isTest = false): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(fixture.api, balance, terms as never, isTest);
  return new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
}

const order = async (customer: HmacCustomer, key: string, receiver = fixture.receiver()) => {
  const { status, body } = await customer.post(
    '/v1/orders',
    { receive_address: receiver, energy: 65_000 },
    withKey(key),
  );
  return status === 202 ? status : body.error;
};

const stopping = async (depth: 'newer' | 'everything') =>
  (await verifyRecords(fixture.api.database, { depth, chain: undefined })).checks
    .filter(({ count, stops }) => count > 0 && stops === 'everything')
    .map(({ check }) => check);

test('the pruned orders of an indebted test project are no overdraft', async () => {
  const debt = { kind: 'postpaid', debtLimitCredits: credits(1_000_000_000n) };
  const customer = await customerWith(0n, debt, true);
  expect(await order(customer, 'one', TEST_ADDRESSES.delivered)).toBe(202);
  for (let moves = 0; moves < 10 && (await fixture.move()) > 0; moves += 1);
  await fixture.eventsOf(customer);
  await fixture.api.ledger.setTerms(customer.merchant, { kind: 'prepaid' }, AUTHOR);
  await admin(async (client) => {
    await client.query('SET session_replication_role = replica');
    const older = `- interval '40 days'`;
    await client.query(`UPDATE orders SET created_at = created_at ${older} WHERE test`);
    await client.query(`UPDATE event SET at = at ${older} WHERE order_id IS NOT NULL`);
    await client.query(`UPDATE credit_entry SET created_at = created_at ${older} WHERE project_id = $1`, [
      customer.merchant,
    ]);
    await client.query(`UPDATE audit_log SET at = at ${older} WHERE subject = $1`, [customer.merchant]);
  });
  expect(await pruneTestOrders(fixture.playerDatabase, 100)).toBe(1);
  expect(await stopping('newer')).toEqual([]);
});

test('a debit written by a clock ahead is no overdraft once the limit is lowered', async () => {
  const customer = await customerWith(0n, { kind: 'postpaid', debtLimitCredits: credits(1_000_000_000n) });
  await step('1 day');
  expect(await order(customer, 'ahead')).toBe(202);
  await step('0');
  await fixture.api.ledger.setTerms(customer.merchant, { kind: 'prepaid' }, AUTHOR);
  expect(await stopping('everything')).not.toContain('overdraft');
});

test('a debit beyond a lowered limit is an overdraft, although a clock set back dates it earlier', async () => {
  const customer = await customerWith(100n, { kind: 'postpaid', debtLimitCredits: credits(1_000_000n) });
  await fixture.api.ledger.setTerms(customer.merchant, { kind: 'prepaid' }, AUTHOR);
  await admin(async (client) => {
    await client.query(
      `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
        VALUES ('adjustment:beyond', $1, 'adjustments', 'adjustment', -600, 'a', 'b', clock_timestamp() - interval '1 hour')`,
      [customer.merchant],
    );
    await client.query(`UPDATE credit_account SET balance_credits = balance_credits - 600 WHERE project_id = $1`, [
      customer.merchant,
    ]);
  });
  try {
    expect(await stopping('everything')).toContain('overdraft');
  } finally {
    await admin(async (client) => {
      await client.query('SET session_replication_role = replica');
      await client.query(`DELETE FROM credit_entry WHERE entry_key = 'adjustment:beyond'`);
      await client.query(`UPDATE credit_account SET balance_credits = balance_credits + 600 WHERE project_id = $1`, [
        customer.merchant,
      ]);
    });
  }
});

test('a small step of the clock back over midnight does not give a daily cap twice', async () => {
  const watch = new ClockWatch(fixture.api.database, fixture.api.config);
  const customer = await customerWith(100_000_000_000n, { kind: 'prepaid' });
  await fixture.api.ledger.setDailyCap(customer.merchant, credits(PRICE), AUTHOR);
  const midnight = Math.ceil(Date.now() / DAY_MS) * DAY_MS + DAY_MS;
  const stepTo = (ms: number) => step(`${((ms - Date.now()) / 1000).toString()} seconds`);
  // Minutes around midnight, so that a slow machine stays on the same side of it.
  await stepTo(midnight + 300_000);
  await watch.checkClock();
  expect(await order(customer, 'a')).toBe(202);
  expect(await order(customer, 'b')).toBe('SPEND_CAP_REACHED');
  await stepTo(midnight - 600_000);
  expect((await watch.checkClock()).setBackSec).toBeGreaterThan(800);
  await stepTo(midnight + 300_000);
  await watch.checkClock();
  expect(await order(customer, 'c')).toBe('SPEND_CAP_REACHED');
});

test.each(['-1 day', '1 day', '-31 days'])(
  'a clock that is wrong by %s for a moment does not give caps twice',
  async (by) => {
    const watch = new ClockWatch(fixture.api.database, fixture.api.config);
    const check = async (): Promise<void> => {
      await watch.checkClock();
      await watch.recountSpending();
    };
    const customer = await customerWith(100_000_000_000n, { kind: 'prepaid' });
    const noon = Math.ceil(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;
    const stepTo = (ms: number, further = '') => step(`${((ms - Date.now()) / 1000).toString()} seconds ${further}`);
    await fixture.api.ledger.setDailyCap(customer.merchant, credits(3n * PRICE), AUTHOR);
    await stepTo(noon);
    await check();
    expect([await order(customer, 'a'), await order(customer, 'b')]).toEqual([202, 202]);
    await stepTo(noon, by);
    await check();
    await stepTo(noon + 60_000);
    expect(await order(customer, 'c')).toBe(202);
    await check();
    expect(await order(customer, 'd')).toBe('SPEND_CAP_REACHED');
    const { checks } = await verifyRecords(fixture.api.database, { chain: undefined });
    const spent = checks.find((each) => each.check === 'spent-credits')!.findings;
    expect(spent.filter(({ subject }) => subject.includes(customer.merchant))).toEqual([]);
  },
);

/** Runs `work` while another session holds the rows that `lock` selects. */
const whileHeld = (lock: string, params: readonly unknown[], work: () => Promise<void>): Promise<void> =>
  admin(async (client) => {
    await client.query('BEGIN');
    await client.query(`${lock} FOR UPDATE`, [...params]);
    await work();
    await client.query('ROLLBACK');
  });

describe('the spending of a day, after a clock a day ahead', () => {
  const LATER_RATE = `SELECT FROM asset_rate WHERE minute > '2100-01-01'`;
  const noon = Math.ceil(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;
  const stepTo = (ms: number) => step(`${((ms - Date.now()) / 1000).toString()} seconds`);
  const newWatch = () => new ClockWatch(fixture.api.database, fixture.api.config);

  /** Two orders of the day and one by the later clock, which is then set back. The cap is three orders. */
  async function spendAhead(): Promise<HmacCustomer> {
    const watch = newWatch();
    const customer = await customerWith(100_000_000_000n, { kind: 'prepaid' });
    await fixture.api.ledger.setDailyCap(customer.merchant, credits(3n * PRICE), AUTHOR);
    await stepTo(noon);
    await watch.checkClock();
    expect([await order(customer, 'a'), await order(customer, 'b')]).toEqual([202, 202]);
    await stepTo(noon + DAY_MS);
    await watch.checkClock();
    await watch.recountSpending();
    expect(await order(customer, 'ahead')).toBe(202);
    await admin((client) =>
      client.query(
        `INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ('TRX', '2100-01-02', 1) ON CONFLICT DO NOTHING`,
      ),
    );
    await stepTo(noon + 60_000);
    return customer;
  }

  test('counts once the correction of later times succeeds, although the first one failed', async () => {
    const customer = await spendAhead();
    const watch = newWatch();
    await whileHeld(LATER_RATE, [], () => expect(watch.checkClock()).rejects.toThrow('lock timeout'));
    await watch.checkClock();
    await watch.recountSpending();
    expect([await order(customer, 'c'), await order(customer, 'd')]).toEqual([202, 'SPEND_CAP_REACHED']);
  });

  test('counts although another worker counts it while later times are being corrected', async () => {
    const customer = await spendAhead();
    const [one, two] = [newWatch(), newWatch()];
    let checked: Promise<unknown> = Promise.resolve();
    await whileHeld(LATER_RATE, [], async () => {
      checked = one.checkClock();
      await until(async () => ((await waiting()) > 0 ? true : undefined), 10_000, 'the correction waiting for a row');
      await two.recountSpending();
    });
    await checked;
    await one.recountSpending();
    expect([await order(customer, 'c'), await order(customer, 'd')]).toEqual([202, 'SPEND_CAP_REACHED']);
  });

  test('counts for every project, although another session holds the balance of one', async () => {
    const watch = newWatch();
    const customers = [
      await customerWith(100_000_000_000n, { kind: 'prepaid' }),
      await customerWith(100_000_000_000n, { kind: 'prepaid' }),
    ];
    for (const customer of customers) expect(await order(customer, 'a')).toBe(202);
    const spent = async ({ merchant }: HmacCustomer): Promise<bigint> => {
      const text = 'SELECT spent_credits AS spent FROM credit_account WHERE project_id = $1';
      return (await fixture.api.database.query<{ spent: bigint }>(text, [merchant]))[0]!.spent;
    };
    for (const held of customers) {
      await admin(async (client) => {
        await client.query('UPDATE credit_account SET spent_credits = 0');
        await client.query('UPDATE clock_mark SET jumped_at = clock_timestamp(), counted_jump = NULL');
      });
      await whileHeld('SELECT FROM credit_account WHERE project_id = $1', [held.merchant], async () => {
        await expect(watch.recountSpending()).rejects.toThrow('lock timeout');
        for (const other of customers) expect(await spent(other)).toBe(other === held ? 0n : PRICE);
      });
      await watch.recountSpending();
      expect(await spent(held)).toBe(PRICE);
    }
  });

  test('is counted from a day of many charges without making purchases wait', async () => {
    const customer = await customerWith(100_000_000_000n, { kind: 'prepaid' });
    expect(await order(customer, 'a')).toBe(202);
    await admin(async (client) => {
      await client.query('ALTER FUNCTION charges_of_day RENAME TO few_charges');
      // The charges of the day up to now take longer to read than a purchase waits for a lock.
      await client.query(`CREATE FUNCTION charges_of_day(p_project uuid, p_day date, p_after bigint, p_to bigint)
        RETURNS TABLE (key_id uuid, auto_id bigint, credits bigint) LANGUAGE plpgsql AS $$
        BEGIN
          IF p_after = 0 THEN PERFORM pg_sleep(6); END IF;
          RETURN QUERY SELECT * FROM few_charges(p_project, p_day, p_after, p_to);
        END $$`);
      await client.query('UPDATE credit_account SET spent_credits = 0 WHERE project_id = $1', [customer.merchant]);
    });
    const counted = fixture.api.database.query('SELECT recount_spending($1)', [customer.merchant]);
    await sleep(1000);
    expect(await order(customer, 'b')).toBe(202);
    await counted;
    const [row] = await fixture.api.database.query<{ spent: bigint }>(
      'SELECT spent_credits AS spent FROM credit_account WHERE project_id = $1',
      [customer.merchant],
    );
    expect(row).toEqual({ spent: 2n * PRICE });
    await admin(async (client) => {
      await client.query('DROP FUNCTION charges_of_day');
      await client.query('ALTER FUNCTION few_charges RENAME TO charges_of_day');
    });
  });

  const waiting = async (): Promise<number> => {
    const text = `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    return (await fixture.api.database.query<{ waiting: number }>(text))[0]!.waiting;
  };
});

test('a quote issued by a clock that is ahead is expired once the clock is right', async () => {
  const customer = await customerWith(100_000_000_000n, { kind: 'prepaid' });
  await step('100 days');
  // The process adopts the database's later time with its next reading.
  const quote = await until(
    async () => {
      const answer = await customer.post('/v1/quotes', { receive_address: fixture.receiver(), energy: 65_000 });
      return Date.parse(answer.body.expires_at as string) > Date.now() + DAY_MS ? answer : undefined;
    },
    60_000,
    'a quote of the later clock',
  );
  await step('0');
  const redeemed = await customer.post('/v1/orders', { quote_ref: quote.body.ref as string }, withKey('late'));
  expect(redeemed.body.error).toBe('QUOTE_EXPIRED');
});

test('concurrent changes of a cap are audited in the order of their effects', async () => {
  const customer = await customerWith(0n, { kind: 'prepaid' });
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        fixture.api.ledger.setDailyCap(customer.merchant, credits(BigInt(1000 * round + n)), AUTHOR),
      ),
    );
    const [row] = await fixture.api.database.query<{ same: boolean }>(
      `SELECT a.daily_cap_credits = (SELECT (detail ->> 'capCredits')::bigint FROM audit_log l
          WHERE l.action = 'credits.daily-cap' AND l.subject = a.project_id::text ORDER BY id DESC LIMIT 1) AS same
         FROM credit_account a WHERE project_id = $1`,
      [customer.merchant],
    );
    expect(row).toEqual({ same: true });
  }
});
