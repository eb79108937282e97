// Statements in the consoles: closed months, and the open month so far, whose file and sums agree with the ledger.
import { SpanFigures } from '../../../src/modules/console/span-figures.js';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { credits } from '../../../src/domain/units.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { asAdmin } from '../../setup/admin.js';
import { cliWith, seedTestCanaries, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const USD = 10_000_000;

let test: TestDatabase;
let merchants: TestConsole;
let operators: TestConsole;
let ledger: Ledger;
let owner: Account;
let member: Account;
let [project, other] = ['', ''];

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  const cli = cliWith(settings(test.url));
  const made = async (name: string): Promise<string> =>
    ((await cli('project', 'create', '--name', name, '--json')).json() as { merchant: string }).merchant;
  [project, other] = [await made('Mine'), await made('Theirs')];
  merchants = await openConsole(test.url, 'merchant');
  operators = await openConsole(test.url, 'operator');
  ledger = operators.app.get(Ledger);
  owner = await merchants.signedIn('owner', project);
  member = await merchants.signedIn('member', project);
});

afterAll(async () => {
  await operators.close();
  await merchants.close();
  await test.drop();
});

const of = (rest: string): string => `/api/projects/${project}${rest}`;
/** Runs a statement on the other project, with triggers off. */
const byHand = (text: string): Promise<void> =>
  operators.database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(text, [other]);
  });
const month = (): string => new Date().toISOString().slice(0, 7);

/** Closes a statement of all entries so far, as if a month ended now. */
async function close(): Promise<void> {
  await asAdmin(test.url, async (client) => {
    await client.query('SET session_replication_role = replica');
    await client.query(
      `INSERT INTO statement (project_id, number, month, ends_at, entries_to, rest_from, first_at, lines, opening_credits, charge_credits,
         refund_credits, compensation_credits, deposit_credits, topup_credits, adjustment_credits, closing_credits)
       SELECT $1, 1, date_trunc('month', now() AT TIME ZONE 'UTC')::date, now(), max(id), max(id) + 1, min(created_at), count(*), 0, 0, 0, 0, 0,
         sum(credits), 0, sum(credits) FROM credit_entry WHERE project_id = $1`,
      [project],
    );
  });
}

it('an open month without entries has its opening balance alone', async () => {
  const { status, body } = await owner.browser.get(of('/statement/open'));
  expect([status, body]).toMatchObject([
    200,
    { month: month(), opening: { credits: 0 }, closing: { credits: 0 }, entries: 0 },
  ]);
  expect([body.number, body.closed_at]).toEqual([undefined, undefined]);
  const { text } = await owner.browser.get(of('/statements/open.csv'));
  expect(text.trim().split('\r\n')).toHaveLength(1);
});

it('the open month begins after the last statement, and its file has the same entries', async () => {
  for (const usd of [1, 2, 3]) await ledger.topUp(project, credits(usd * USD), `bank-${usd.toString()}`, AUTHOR);
  const before = (await member.browser.get(of('/statement/open'))).body;
  expect(before).toMatchObject({
    opening: { credits: 0 },
    closing: { credits: 6 * USD, usd: '6.000000' },
    entries: 3,
    totals: { topup: { credits: 6 * USD }, charge: { credits: 0 } },
  });
  await close();
  await ledger.topUp(project, credits(4 * USD), 'bank-4', AUTHOR);
  await ledger.adjust(project, credits(-USD), 'corrected', AUTHOR);
  const { body } = await owner.browser.get(of('/statement/open'));
  expect(body).toMatchObject({
    opening: { credits: 6 * USD },
    closing: { credits: 9 * USD },
    entries: 2,
    totals: { topup: { credits: 4 * USD }, adjustment: { credits: -USD } },
  });
  const balance = (await owner.browser.get(of('/balance'))).body.balance;
  expect(body.closing).toEqual(balance);
  const csv = await owner.browser.get(of('/statements/open.csv'));
  expect(csv.headers['content-disposition']).toMatch(/filename="statement-until-\d{4}-\d{2}-\d{2}\.csv"$/);
  const [, ...lines] = csv.text.trim().split('\r\n');
  expect(lines.map((line) => /bank-\d|corrected/.exec(line)?.[0])).toEqual(['bank-4', 'corrected']);
  expect(lines[1]).toContain(`,${(9 * USD).toString()},`);
});

it('a closed statement is read by its number, in its project only', async () => {
  const { status, body } = await owner.browser.get(of('/statement/1'));
  expect([status, body]).toMatchObject([200, { number: 1, entries: 3, closing: { credits: 6 * USD } }]);
  expect(body.closed_at).toEqual(expect.any(String));
  for (const path of ['/statement/2', '/statement/x', '/statement/open.csv', '/statements/opened.csv']) {
    expect([path, (await owner.browser.get(of(path))).status]).toEqual([path, 404]);
  }
  const stranger = await merchants.signedIn('owner', other);
  expect((await stranger.browser.get(of('/statement/1'))).status).toBe(404);
  expect((await stranger.browser.get(`/api/projects/${other}/statement/1`)).status).toBe(404);
});

it('the balance tells what can be spent, for how long, and what was spent in the present UTC day', async () => {
  const stranger = await merchants.signedIn('owner', other);
  const read = async () => (await stranger.browser.get(`/api/projects/${other}/balance`)).body;
  const owe = (most: number) => ledger.setTerms(other, { kind: 'postpaid', debtLimitCredits: credits(most) }, AUTHOR);
  await owe(USD);
  await ledger.adjust(other, credits(-7_500_000), 'owed', AUTHOR);
  await byHand(
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, created_at)
     VALUES ('charge:1', $1, 'revenue', 'charge', -2000000, 1, clock_timestamp() - interval '2 days')`,
  );
  const today = `(clock_timestamp() AT TIME ZONE 'UTC')::date`;
  const spentOn = (day: string) =>
    byHand(`UPDATE credit_account SET spent_credits = 77, spent_on = ${day} WHERE project_id = $1`);
  await spentOn(today);
  expect(await read()).toMatchObject({
    available: { credits: 2_500_000 },
    days_left: 2.5,
    spent_today: { credits: 77 },
  });
  await spentOn(`${today} - 1`);
  expect(await read()).toMatchObject({ spent_today: { credits: 0 } });
  // A limit below the debt leaves nothing, not less than nothing.
  await owe(1);
  expect(await read()).toMatchObject({ balance: { credits: -7_500_000 }, available: { credits: 0 }, days_left: 0 });
});

it('the spending of a day is that of seven days, of a younger project’s, and never of less than an hour', async () => {
  const young = '11111111-2222-4333-8444-777777777777';
  const run = (text: string, ...params: unknown[]) => operators.database.query(text, [young, ...params]);
  await run(`INSERT INTO project (id, name, api_key_sealed) VALUES ($1, 'Young', '\\x00')`);
  await run(`INSERT INTO credit_account (project_id) VALUES ($1)`);
  const { browser } = await merchants.signedIn('member', young);
  const charge = (ago: string, amount: number, entries = 1) =>
    operators.database.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica');
      await tx.query(
        `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, created_at)
         SELECT 'charge:' || $2 || n, $1, 'revenue', 'charge', -$3::bigint, 1, clock_timestamp() - $2::interval
           FROM generate_series(1, $4::integer) n`,
        [young, ago, amount, entries],
      );
    });
  const expectPerDay = async (amount: number): Promise<void> => {
    const { body } = await browser.get(`/api/projects/${young}/balance`);
    expect(body.spent_per_day.credits / amount).toBeCloseTo(1, 2);
  };
  await charge('1 minute', 1_000_000);
  await expectPerDay(24_000_000);
  await charge('2 days', 1_000_000);
  await expectPerDay(1_000_000);
  await charge('8 days', 70_000_000);
  await expectPerDay(2_000_000 / 7);
  // Of more entries than are read, the newest give the rate since the oldest of them.
  await charge('2 hours', 1, 1);
  await charge('1 hour', 50, 20_000);
  await expectPerDay(24 * (1_000_000 + 19_999 * 50));
});

it('arrivals begin with the oldest event that is kept', async () => {
  await byHand(`DELETE FROM event_position WHERE project_id = $1`);
  await byHand(`INSERT INTO event_position (project_id, position, pruned_to) VALUES ($1, 7, 5)`);
  await byHand(
    `INSERT INTO event (project_id, type, at, position, payload)
     SELECT $1, 'deposit.credited', now(), n, '{"type":"deposit.credited","timestamp":"2026-11-30T00:00:00.000Z"}'
       FROM generate_series(6, 7) n`,
  );
  const stranger = await merchants.signedIn('owner', other);
  const after = async (position: number) => {
    const path = `/api/projects/${other}/arrivals?after=${position.toString()}`;
    const { position: last, events } = (await stranger.browser.get(path)).body;
    return [last, (events as { position: number }[]).map((event) => event.position)];
  };
  expect(await after(0)).toEqual([5, []]);
  expect(await after(5)).toEqual([7, [6, 7]]);
});

it('the measured saving of a month counts what its orders got back, whenever that was', async () => {
  const [returned, kept, later] = [9001, 9002, 9003];
  await byHand(
    `INSERT INTO orders (id, project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits,
       trx_usd_e8, energy_fee_sun, created_at) OVERRIDING SYSTEM VALUE
     SELECT v.id, $1, 'order-' || v.id, sha256(''), 'rental', v.status, 'T', 65000, 3600, 1, v.credits, 30000000, 100, now()
       FROM (VALUES (${returned.toString()}, 'refunded', 1000), (${kept.toString()}, 'delivered', 2000),
         (${later.toString()}, 'delivered', 500)) v (id, status, credits)`,
  );
  await byHand(
    `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, created_at)
     SELECT v.key, $1, 'sales', v.kind, v.credits, v.id, v.at::timestamptz FROM (VALUES
       ('charge:${returned.toString()}', 'charge', -1000, ${returned.toString()}, '2025-10-31T23:59:00Z'),
       ('refund:${returned.toString()}', 'refund', 1000, ${returned.toString()}, '2025-11-01T00:01:00Z'),
       ('charge:${kept.toString()}', 'charge', -2000, ${kept.toString()}, '2025-10-20T00:00:00Z'),
       ('compensation:${kept.toString()}:1', 'compensation', 300, ${kept.toString()}, '2025-11-20T00:00:00Z'),
       ('charge:${later.toString()}', 'charge', -500, ${later.toString()}, '2025-11-21T00:00:00Z')) v (key, kind, credits, id, at)
      WHERE $1::uuid IS NOT NULL`,
  );
  await byHand(
    `INSERT INTO rental_use SELECT id, 64285, 1, 7 FROM orders WHERE project_id = $1 AND id IN (${kept.toString()}, ${later.toString()})`,
  );
  const figures = operators.app.get(SpanFigures);
  const paidIn = async (of: string): Promise<number | undefined> => {
    const saving = await figures.savingOf(other, of);
    return saving && saving.burning.credits - saving.saved.credits;
  };
  expect([await paidIn('2025-10'), await paidIn('2025-11'), await paidIn('2025-12')]).toEqual([1700, 500, undefined]);
  // Spending is that of the entries' own days.
  const rows = await figures.entries(other, '2025-10-31T23:59:59Z', '2025-11-30T00:00:00Z', undefined);
  expect(rows.reduce((sum, { credits: spent }) => sum + spent, 0n)).toBe(500n - 1000n - 300n);
});
