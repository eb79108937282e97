// Separation of test projects: row guards, exclusion from every figure, deletion of old rows, and crashes of the
// player.
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { credits } from '../../../src/domain/units.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { Reports } from '../../../src/modules/reports/report-service.js';
import { Replica } from '../../../src/platform/database/replica.js';
import { StatementClosing } from '../../../src/modules/statements/statement-closing.js';
import type { Database } from '../../../src/platform/database/database.js';
import { pruneTestOrders } from '../../../src/modules/test-projects/retention.js';
import type { TestOrders } from '../../../src/modules/test-projects/test-orders.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { until } from '../../../packages/local/src/wait.js';
import type { HmacCustomer } from '../../support/api/client.js';
import { AUTHOR, keepSelling } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { balanceOf, expectRefusal, withKey } from '../../support/api/order-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { OF_THIS_DATABASE } from '../../setup/waiting.js';
import {
  makeDue,
  openPlayerDatabase,
  openTestProjectFixture,
  playerOn,
  type TestProjectFixture,
} from '../../support/api/test-project-fixture.js';

let fixture: TestProjectFixture;
let database: Database;

beforeAll(async () => {
  fixture = await openTestProjectFixture();
  ({ database } = fixture.api);
});

beforeEach(() => keepSelling(database));

afterAll(() => fixture.close());

/** Runs statements with triggers off, as a manual change of the database would. */
const byHand = (...statements: readonly (readonly [string, ...unknown[]])[]) =>
  asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
    await client.query('SET session_replication_role = replica');
    for (const [text, ...params] of statements) await client.query(text, params);
  });

async function buy(customer: HmacCustomer, receiver: string, key: string): Promise<bigint> {
  const body = { receive_address: receiver, energy: 65_000, duration_sec: 3600 };
  const answer = await customer.post('/v1/orders', body, withKey(key));
  expect(answer.status).toBe(202);
  return BigInt(answer.body.id as number);
}

const endAll = async (): Promise<void> => {
  for (let moves = 0; moves < 10 && (await fixture.move()) > 0; moves += 1);
};

const count = async (text: string, ...params: unknown[]): Promise<number> => {
  const [row] = await database.query<{ n: number }>(`SELECT count(*)::integer AS n FROM ${text}`, params);
  return row!.n;
};

/** Returns the database's error message for a statement. */
async function refusalOf(text: string, params: readonly unknown[] = []): Promise<string> {
  return database.query(text, params).then(
    () => 'done',
    (error: unknown) => (error as Error).message,
  );
}

const namesOf = async (depth: 'everything' | 'newer' = 'everything'): Promise<string[]> =>
  findingsOf(await verifyRecords(database, { depth })).map(({ check, subject }) => `${check}: ${subject}`);

describe('the guards of the rows', () => {
  let customer: HmacCustomer;
  let live: HmacCustomer;
  let id: bigint;
  let liveId: bigint;

  beforeAll(async () => {
    await keepSelling(database);
    customer = await fixture.customer();
    live = await fixture.customer({ isTest: false });
    id = await buy(customer, TEST_ADDRESSES.delivered, 'guarded');
    liveId = await buy(live, fixture.receiver(1), 'guarded');
  });

  test('a test order has no leg, whoever writes it, and takes no slot', async () => {
    const [wallet] = await database.query<{ id: number }>(`SELECT id FROM pool_wallet WHERE role = 'pool' LIMIT 1`);
    const leg = `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
      VALUES ($1, 1, 'rental', $2, $3, 1000000, 'reserved')`;
    const params = [id, wallet!.id, TEST_ADDRESSES.delivered];
    expect(await refusalOf(leg, params)).toBe(`leg of order ${id.toString()}: a test order has none`);
    const free = () => database.query(`SELECT sum(free_sun) AS sun, sum(free_transactions) AS n FROM pool_slot`);
    const before = await free();
    const reserve = `SELECT reserve_capacity($1, 'rental', $2, 5000000, 0)`;
    expect(await refusalOf(reserve, [id, TEST_ADDRESSES.delivered])).toMatch(/a test order has none$/);
    expect(await free()).toEqual(before);
  });

  test('a test order has no chain transaction', async () => {
    const insert = `INSERT INTO chain_tx (order_id, leg_id, wallet_id, purpose, attempt, txid, raw_data, ref_block_number,
        expires_at, status) VALUES ($1, 1, 1, 'delegate', 1, sha256('a'), 'a', 1, now(), 'built')`;
    expect(await refusalOf(insert, [id])).toBe(`chain transaction of order ${id.toString()}: a test order has none`);
  });

  test('a test project has no entry of revenue or of anything paid in, and no other project has a test entry', async () => {
    const entry = (
      contra: string,
      kind: string,
    ) => `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits,
        order_id, actor, reason) VALUES ('by hand', $1, '${contra}', '${kind}', ${kind === 'charge' ? '-1' : '1'}, $2, 'a', 'b')`;
    const wrong = /is not the other side of its project$/;
    expect(await refusalOf(entry('revenue', 'charge'), [customer.merchant, id])).toMatch(wrong);
    expect(await refusalOf(entry('revenue', 'refund'), [customer.merchant, id])).toMatch(wrong);
    expect(await refusalOf(entry('funding', 'topup'), [customer.merchant, null])).toMatch(wrong);
    expect(await refusalOf(entry('adjustments', 'adjustment'), [customer.merchant, null])).toMatch(wrong);
    expect(await refusalOf(entry('test', 'charge'), [live.merchant, liveId])).toMatch(wrong);
    const contras = await database.query(`SELECT DISTINCT contra FROM credit_entry WHERE project_id = $1`, [
      customer.merchant,
    ]);
    expect(contras).toEqual([{ contra: 'test' }]);
  });

  test('a test project has no deposit address, no statement and no auto-delegation', async () => {
    const none = (table: string) => `${table}: a test project has none`;
    const address = `INSERT INTO deposit_address (address, project_id, account, place) VALUES ('T1', $1, 0, 0)`;
    expect(await refusalOf(address, [customer.merchant])).toBe(none('deposit_address'));
    const statement = `INSERT INTO statement (project_id, number, month, ends_at, entries_to, rest_from, first_at, lines,
        opening_credits, charge_credits, refund_credits, compensation_credits, deposit_credits, topup_credits,
        adjustment_credits, closing_credits) VALUES ($1, 1, '2026-01-01', now(), 0, 0, now(), 1, 0, 0, 0, 0, 0, 0, 0, 0)`;
    expect(await refusalOf(statement, [customer.merchant])).toMatch(/a test project has none|is not being closed/);
    const auto = `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
        daily_cap_credits, idle_after_sec) VALUES ($1, 'T1', $1, 2, 1, 3600, 1, 1)`;
    expect(await refusalOf(auto, [customer.merchant])).toBe(none('auto_delegation'));
  });

  test('the kind of a project, and so of its orders, never changes; a test order is never due for fulfilment', async () => {
    expect(await refusalOf(`UPDATE project SET test = false WHERE id = $1`, [customer.merchant])).toMatch(
      /append-only/,
    );
    expect(await refusalOf(`UPDATE project SET test = true WHERE id = $1`, [live.merchant])).toMatch(/append-only/);
    expect(await refusalOf(`UPDATE orders SET test = false, play_at = NULL WHERE id = $1`, [id])).toMatch(/stays one/);
    expect(await refusalOf(`UPDATE orders SET test = true, next_run_at = NULL WHERE id = $1`, [liveId])).toMatch(
      /stays one/,
    );
    const played = /a test order is played, and no other/;
    expect(await refusalOf(`UPDATE orders SET next_run_at = now() WHERE id = $1`, [id])).toMatch(played);
    expect(await refusalOf(`UPDATE orders SET play_at = now() WHERE id = $1`, [liveId])).toMatch(played);
  });

  test('rows of live orders are kept, and rows written for test orders never change', async () => {
    for (const table of ['order_key', 'event']) {
      expect(await refusalOf(`DELETE FROM ${table} WHERE order_id = $1`, [liveId])).toBe(`${table} is append-only`);
    }
    expect(await refusalOf(`DELETE FROM orders WHERE id = $1`, [liveId])).toBe('open_orders is append-only');
    expect(await refusalOf(`DELETE FROM credit_entry WHERE order_id = $1`, [liveId])).toBe(
      'credit_entry is append-only',
    );
    expect(await refusalOf(`UPDATE credit_entry SET credits = -2 WHERE order_id = $1`, [id])).toBe(
      'credit_entry is append-only',
    );
    expect(await refusalOf(`UPDATE order_key SET key = 'b' WHERE order_id = $1`, [id])).toBe(
      'order_key is append-only',
    );
  });

  test('verify reports every change made past the guards', async () => {
    expect(await namesOf()).toEqual([]);
    const leg = `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
      SELECT $1, 1, 'rental', id, $2, 1000000, 'reserved' FROM pool_wallet WHERE role = 'pool' LIMIT 1`;
    await byHand([leg, id, TEST_ADDRESSES.delivered]);
    expect(await namesOf()).toContain(`test-orders: order ${id.toString()}`);
    await byHand([`DELETE FROM leg WHERE order_id = $1`, id]);
    await byHand([`UPDATE credit_entry SET contra = 'revenue' WHERE order_id = $1`, id]);
    expect(await namesOf()).toEqual(
      expect.arrayContaining([`test-orders: order ${id.toString()}`, `test-projects: project ${customer.merchant}`]),
    );
    await byHand([`UPDATE credit_entry SET contra = 'test' WHERE order_id = $1`, id]);
    await byHand([`UPDATE project SET test = true WHERE id = $1`, live.merchant]);
    expect(await namesOf()).toContain(`test-orders: order ${liveId.toString()}`);
    await byHand([`UPDATE project SET test = false WHERE id = $1`, live.merchant]);
    expect(await namesOf()).toEqual([]);
  });
});

describe('no figure counts test orders', () => {
  const times = { from: new Date(Date.now() - 86_400_000), before: new Date(Date.now() + 86_400_000) };
  /** The whole report: rows, sums and debts. */
  const report = async (by: 'day' | 'project' | 'wallet'): Promise<string> =>
    JSON.stringify(await new Reports(new Replica(database)).make({ ...times, by }), (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
  const slots = () =>
    database.query(`SELECT wallet_id, slot_no, free_sun, free_transactions FROM pool_slot ORDER BY 1, 2`);
  const counts = async () => (await fixture.api.app.get(Metrics).registry.metrics()).match(/^order_requests_total.*/gm);

  test('a report is the same before and after, and so are capacity and the metrics', async () => {
    const before = [await report('day'), await report('project'), await report('wallet')];
    const [slotsBefore, countedBefore] = [await slots(), await counts()];
    const customer = await fixture.customer();
    await fixture.api.ledger.adjust(customer.merchant, credits(-5n), `minus-${customer.merchant}`, AUTHOR);
    const id = await buy(customer, TEST_ADDRESSES.delivered, 'one');
    await buy(customer, TEST_ADDRESSES.refunded, 'two');
    await customer.post('/v1/activate', { address: TEST_ADDRESSES['not activated'] });
    await fixture.move();
    await fixture.move();
    await fixture.move();
    await customer.post('/v1/orders/one/extensions', { duration_sec: 600 }, withKey('longer'));
    await fixture.api.ledger.compensate(id, credits(7n), AUTHOR);
    expectRefusal(
      await customer.post('/v1/orders', { receive_address: TEST_ADDRESSES['short of capacity'] }),
      503,
      'CAPACITY_UNAVAILABLE',
    );
    expect([await report('day'), await report('project'), await report('wallet')]).toEqual(before);
    expect(await slots()).toEqual(slotsBefore);
    expect(await counts()).toEqual(countedBefore);
    await endAll();
    expect([await report('day'), await report('project'), await report('wallet')]).toEqual(before);
    expect(await namesOf()).toEqual([]);
    expect(await namesOf('newer')).toEqual([]);
  });

  test('no month of a test project is closed, and the months of others are', async () => {
    const [customer, live] = [await fixture.customer(), await fixture.customer({ isTest: false })];
    await byHand([`UPDATE credit_entry SET created_at = created_at - interval '40 days'`]);
    for (const table of ['credit_account', 'api_key']) await byHand([`UPDATE ${table} SET spent_on = spent_on - 40`]);
    const closing = new StatementClosing(database, new Metrics(), openLog('silent'));
    const step = async (): Promise<true | undefined> => ((await closing.runStep()) === 'idle' ? true : undefined);
    await until(step, 30_000, 'the months being closed', 10);
    expect(await count('statement WHERE project_id = $1', live.merchant)).toBe(1);
    expect(await count('statement WHERE project_id = $1', customer.merchant)).toBe(0);
    expect((await customer.get('/v1/statements')).body).toMatchObject({ items: [], test: true });
    expect(await namesOf()).toEqual([]);
  });
});

describe('old test orders', () => {
  const older = (days: number, which = ''): Promise<void> =>
    byHand(
      [`UPDATE event SET at = at - make_interval(days => $1) WHERE order_id IN (SELECT id FROM orders ${which})`, days],
      [`UPDATE orders SET created_at = created_at - make_interval(days => $1) ${which}`, days],
    );
  const ROWS = ['orders WHERE id', 'event WHERE order_id', 'order_key WHERE order_id', 'credit_entry WHERE order_id'];
  const rowsOf = (id: bigint) => Promise.all(ROWS.map((each) => count(`${each} = $1`, id)));

  test('are deleted after thirty days, a few at a time, with everything that belongs to them; a balance stays the sum of its entries', async () => {
    const [customer, live] = [await fixture.customer(), await fixture.customer({ isTest: false })];
    const old = [
      await buy(customer, TEST_ADDRESSES.delivered, 'one'),
      await buy(customer, TEST_ADDRESSES.refunded, 'two'),
    ];
    const sold = await buy(live, fixture.receiver(2), 'one');
    for (let moves = 0; moves < 3; moves += 1) await fixture.move();
    await customer.post('/v1/orders/one/extensions', { duration_sec: 600 }, withKey('longer'));
    await fixture.api.ledger.compensate(old[0]!, credits(7n), AUTHOR);
    await endAll();
    const eventsBefore = await fixture.eventsOf(customer);
    const balance = await balanceOf(customer);
    await older(29);
    expect(await pruneTestOrders(fixture.playerDatabase, 100)).toBe(0);
    await older(2);
    const kept = await buy(customer, TEST_ADDRESSES.delivered, 'young');
    await fixture.eventsOf(customer);

    let steps = 0;
    while ((await pruneTestOrders(fixture.playerDatabase, 1)) === 1) steps += 1;
    expect(steps).toBeGreaterThanOrEqual(2);
    for (const id of old) expect(await rowsOf(id)).toEqual([0, 0, 0, 0]);
    expect(await count('order_extension WHERE project_id = $1', customer.merchant)).toBe(0);
    expect(await rowsOf(sold)).toEqual([1, expect.any(Number), 1, 1]);
    expect((await rowsOf(kept))[0]).toBe(1);
    // Live orders are open here and must be recent.
    await older(-31, 'WHERE NOT test');

    const youngCharge = (await customer.get('/v1/orders/young')).body.credits as number;
    expect(await balanceOf(customer)).toBe(balance - youngCharge);
    const total = `SELECT sum(credits)::bigint AS sum FROM credit_entry WHERE project_id = $1`;
    const [sum] = await database.query<{ sum: bigint }>(total, [customer.merchant]);
    expect(Number(sum!.sum)).toBe(balance - youngCharge);
    expect(await namesOf()).toEqual([]);
    expect(await namesOf('newer')).toEqual([]);

    expectRefusal(await customer.get('/v1/orders/one'), 404, 'NOT_FOUND');
    expectRefusal(await customer.get('/v1/events?after=0'), 410, 'EVENTS_EXPIRED');
    const last = eventsBefore.at(-1)!.position;
    const { body } = await customer.get(`/v1/events?after=${last.toString()}`);
    expect(body.items.map(({ type }: { type: string }) => type)).toEqual(['order.created']);
    // Its key is free again.
    await buy(customer, TEST_ADDRESSES.delivered, 'one');
    await endAll();
  });

  test('are searched for while events are numbered: however long it takes, numbering does not wait for it', async () => {
    const customer = await fixture.customer();
    await buy(customer, TEST_ADDRESSES.delivered, 'long gone');
    await endAll();
    await fixture.eventsOf(customer);
    await older(40);
    const pruned = await asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
      await client.query('BEGIN');
      // Makes the search for old orders wait, to check the locks that it holds meanwhile.
      await client.query('LOCK TABLE event IN ACCESS EXCLUSIVE MODE');
      const pruning = pruneTestOrders(fixture.playerDatabase, 100);
      const waiting = `SELECT FROM pg_locks WHERE relation = 'event'::regclass AND NOT granted AND ${OF_THIS_DATABASE}`;
      await until(async () => (await client.query(waiting)).rows.length > 0 || undefined, 60_000, 'the search');
      const { rows } = await client.query(`SELECT pg_try_advisory_xact_lock(4202001) AS free`);
      await client.query('COMMIT');
      expect(rows).toEqual([{ free: true }]);
      return pruning;
    });
    // The numberer may hold the lock again by now, and the deletion does not wait for it.
    const isPruned = async () => (pruned || (await pruneTestOrders(fixture.playerDatabase, 100)) ? true : undefined);
    await until(isPruned, 60_000, 'what is old being gone');
    await older(-40, 'WHERE NOT test');
  });

  test('are not deleted while they are still played, nor by anybody else', async () => {
    const customer = await fixture.customer();
    const id = await buy(customer, TEST_ADDRESSES['delivered late'], 'running');
    await fixture.eventsOf(customer);
    await older(40);
    await pruneTestOrders(fixture.playerDatabase, 100);
    await older(-40);
    expect((await rowsOf(id))[0]).toBe(1);
    await expect(fixture.playerDatabase.query(`DELETE FROM orders WHERE id = $1`, [id])).rejects.toThrow(
      /permission denied/,
    );
    await endAll();
  });
});

describe('a player of test orders that dies', () => {
  let other: { readonly database: Database; readonly player: TestOrders };

  beforeAll(async () => {
    const connections = await openPlayerDatabase(fixture);
    other = { database: connections, player: playerOn(connections) };
  });

  afterAll(() => other.database.source.destroy());

  test('two at once play each move of each order once', async () => {
    const customer = await fixture.customer({ balance: 100_000_000_000n });
    const keys = Array.from({ length: 30 }, (_, index) => `order-${index.toString()}`);
    const receivers = [TEST_ADDRESSES.delivered, TEST_ADDRESSES.refunded, TEST_ADDRESSES['unresolved then delivered']];
    await Promise.all(keys.map((key, index) => buy(customer, receivers[index % receivers.length]!, key)));
    let claimed = 1;
    for (let moves = 0; moves < 10 && claimed > 0; moves += 1) {
      await makeDue(fixture.api);
      const each = await Promise.all([fixture.player.playDue(), other.player.playDue(), fixture.player.playDue()]);
      claimed = each.reduce((sum, n) => sum + n, 0);
    }
    const twice = await database.query(
      `SELECT order_id, type FROM event WHERE project_id = $1 GROUP BY order_id, type HAVING count(*) > 1`,
      [customer.merchant],
    );
    expect(twice).toEqual([]);
    expect(await count(`credit_entry WHERE project_id = $1 AND kind = 'refund'`, customer.merchant)).toBe(10);
    expect(await count(`orders WHERE project_id = $1 AND play_at IS NOT NULL`, customer.merchant)).toBe(0);
    expect(await namesOf()).toEqual([]);
  });

  test('one killed in the middle of a refund leaves nothing of it, and another one makes it once', async () => {
    const customer = await fixture.customer();
    const id = await buy(customer, TEST_ADDRESSES.refunded, 'refunded');
    await fixture.move();
    await makeDue(fixture.api);
    // The refund waits for the balance row, which it locks last. Its worker dies there.
    const [{ playing }] = (await Promise.all([
      database.transaction(async (tx) => {
        await tx.query(`SELECT FROM credit_account WHERE project_id = $1 FOR UPDATE`, [customer.merchant]);
        const work = fixture.player.playDue();
        const victim = await until(
          async () => {
            const [row] = await database.query<{ pid: number }>(
              `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%credit_account%'
                AND datname = current_database()`,
            );
            return row?.pid;
          },
          30_000,
          'the refund waiting for the balance',
          10,
        );
        await asAdmin(fixture.env['DATABASE_URL']!, (client) =>
          client.query(`SELECT pg_terminate_backend($1)`, [victim]),
        );
        return { playing: work };
      }),
    ])) as [{ playing: Promise<number> }];
    await playing.catch(() => undefined);
    expect((await customer.get('/v1/orders/refunded')).body).toMatchObject({ status: 'placed' });
    expect(await count(`credit_entry WHERE order_id = $1`, id)).toBe(1);
    // Another worker cannot claim it while the dead one's lease lasts.
    expect(await other.player.playDue()).toBe(0);
    await makeDue(fixture.api);
    expect(await other.player.playDue()).toBe(1);
    expect((await customer.get('/v1/orders/refunded')).body).toMatchObject({ status: 'refunded' });
    expect(await count(`credit_entry WHERE order_id = $1`, id)).toBe(2);
    expect(await balanceOf(customer)).toBe(1_000_000_000);
  });

  test('one that comes late, after another has claimed its order, changes nothing', async () => {
    const customer = await fixture.customer();
    await buy(customer, TEST_ADDRESSES.delivered, 'late');
    await fixture.move();
    await makeDue(fixture.api);
    const fence = `SELECT id, fence FROM orders WHERE project_id = '${customer.merchant}'`;
    const [before] = await database.query<{ id: bigint; fence: number }>(fence);
    // A worker claims and stops. Its lease ends, and another worker makes the move.
    const claim = fixture.playerDatabase.query.bind(fixture.playerDatabase);
    let resume: () => void = () => undefined;
    const stopped = new Promise<void>((resolve) => (resume = resolve));
    let isClaimed = false;
    Object.assign(fixture.playerDatabase, {
      query: async (statement: { name?: string }, params: readonly unknown[]) => {
        if (isClaimed) await stopped;
        isClaimed ||= statement.name === 'claim_test_orders';
        return claim(statement as never, params);
      },
    });
    try {
      const slow = fixture.player.playDue();
      await until(
        async () => ((await database.query<{ fence: number }>(fence))[0]!.fence > before!.fence ? true : undefined),
        30_000,
        'the claim',
        10,
      );
      await makeDue(fixture.api);
      expect(await other.player.playDue()).toBe(1);
      const [after] = await database.query(`SELECT status, fence, play_at FROM orders WHERE id = $1`, [before!.id]);
      resume();
      await slow;
      expect(await database.query(`SELECT status, fence, play_at FROM orders WHERE id = $1`, [before!.id])).toEqual([
        after,
      ]);
      expect(after).toMatchObject({ status: 'delivered' });
    } finally {
      Object.assign(fixture.playerDatabase, { query: claim });
    }
  });
});
