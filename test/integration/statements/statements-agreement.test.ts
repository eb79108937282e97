// A project's months on every surface: interface, file, command line and console show the same entries and sums, and
// each month's opening balance and entries make its closing balance.
import { credits } from '../../../src/domain/units.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { HmacCustomer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, settleOrder, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { cliWith, seedTestCanaries, type Cli } from '../../support/cli.js';
import { StatementFixture } from '../../support/worker/statement-fixture.js';
import { CSV_COLUMNS } from '../../../src/modules/statements/statement-csv.js';

const LIMIT_MS = 120_000;

let fixture: OrderFixture;
let statements: StatementFixture;
let merchants: TestConsole;
let customer: HmacCustomer;
let owner: Account;
let cli: Cli;

beforeAll(async () => {
  fixture = await openOrderFixture();
  const url = fixture.env['DATABASE_URL']!;
  await seedTestCanaries(url);
  merchants = await openConsole(url, 'merchant');
  statements = await StatementFixture.open(fixture);
  cli = cliWith({ ...fixture.env, USER: 'tester' });
  const { merchant, apiKey } = await makeCustomer(fixture.api, 0n);
  customer = new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
  owner = await merchants.signedIn('owner', merchant);
}, LIMIT_MS);

afterAll(async () => {
  await merchants.close();
  await statements.close();
  await fixture.close();
}, LIMIT_MS);

interface Sums {
  readonly opening: number;
  readonly closing: number;
  readonly entries: number;
  readonly totals: Record<string, number>;
}

/** Returns the amounts and the running balances of a file. */
function linesOf(text: string): { amounts: number[]; balances: number[] } {
  const rows = text.trimEnd().split('\r\n').slice(1);
  const column = (name: (typeof CSV_COLUMNS)[number]): number[] =>
    rows.map((row) => Number(row.split(',')[CSV_COLUMNS.indexOf(name)]));
  return { amounts: column('credits'), balances: column('balance_credits') };
}

/** Reads a month on every surface, and asserts that they agree. */
async function read(number: number): Promise<Sums> {
  const { merchant } = customer;
  const { body } = await customer.get(`/v1/statements/${number.toString()}`);
  const opening = body.opening_credits as number;
  const closing = body.closing_credits as number;
  const entries = body.entries as number;
  const totals = body.totals as Record<string, number>;
  const shown = (await cli('statements', 'show', merchant, number.toString(), '--json')).json();
  expect(shown).toMatchObject({ opening_credits: opening, closing_credits: closing, entries });
  const files = [
    (await customer.get(`/v1/statements/${number.toString()}/lines.csv`)).text,
    (await cli('statements', 'csv', merchant, number.toString())).out,
    (await owner.browser.get(`/api/projects/${merchant}/statements/${number.toString()}.csv`)).text,
  ];
  expect(new Set(files.map((text) => text.replace(/^\uFEFF/, ''))).size).toBe(1);
  const page = (await owner.browser.get(`/api/projects/${merchant}/statement/${number.toString()}`)).body;
  expect(page).toMatchObject({ number, opening: { credits: opening }, closing: { credits: closing }, entries });
  for (const [kind, sum] of Object.entries(totals)) expect(page.totals[kind]).toMatchObject({ credits: sum });
  const { amounts, balances } = linesOf(files[0]!);
  const sum = amounts.reduce((total, amount) => total + amount, 0);
  expect(amounts).toHaveLength(entries);
  expect(opening + sum).toBe(closing);
  expect(balances.at(-1)).toBe(closing);
  expect(Object.values(totals).reduce((total, one) => total + one, 0)).toBe(sum);
  return { opening, closing, entries, totals };
}

it(
  'months with one entry, none, one at the first instant, and a refund and a compensation of an earlier order agree',
  async () => {
    const { merchant } = customer;
    await statements.book(merchant, 100_000_000n, '2026-05-31T23:59:59.999999Z');
    // None in June.
    const order = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
    const orders: { id: number; credits: number }[] = [];
    for (const [key, at] of [
      ['kept', '2026-07-01T00:00:00Z'],
      ['lost', '2026-07-31T23:59:59.999999Z'],
    ] as const) {
      const { status, body } = await customer.post('/v1/orders', order, withKey(key));
      expect(status).toBe(202);
      orders.push(body as { id: number; credits: number });
      await statements.moveNewest(merchant, at);
    }
    await fixture.refund(customer, 'lost');
    await statements.moveNewest(merchant, '2026-08-01T00:00:00Z');
    await settleOrder(fixture.api, BigInt(orders[0]!.id));
    await fixture.api.ledger.compensate(BigInt(orders[0]!.id), credits(1000), AUTHOR);
    await statements.moveNewest(merchant, '2026-08-01T00:00:00.000001Z');
    await statements.closeUpTo('2026-08');
    const [may, july, august] = [await read(1), await read(2), await read(3)];
    const [kept, lost] = orders.map((each) => each.credits) as [number, number];
    expect(may).toMatchObject({ opening: 0, closing: 100_000_000, entries: 1 });
    expect(july).toMatchObject({ opening: may.closing, entries: 2, totals: { charge: -kept - lost, refund: 0 } });
    expect(august).toMatchObject({
      ...{ opening: july.closing, entries: 2 },
      totals: { charge: 0, refund: lost, compensation: 1000 },
    });
    expect(august.closing).toBe((await customer.get('/v1/balance')).body.credits_balance);
    const listed = (await customer.get('/v1/statements')).body.items as { month: string }[];
    expect(listed.map(({ month }) => month)).toEqual(['2026-08', '2026-07', '2026-05']);
    const shown = (await owner.browser.get(`/api/projects/${merchant}/statements`)).body.items as { month: string }[];
    expect(shown.filter(({ month }) => month < '2026-09').map(({ month }) => month)).toEqual(
      listed.map(({ month }) => month),
    );
    const open = (await owner.browser.get(`/api/projects/${merchant}/statement/open`)).body;
    expect(open).toMatchObject({
      opening: { credits: august.closing },
      closing: { credits: august.closing },
      entries: 0,
    });
  },
  LIMIT_MS,
);
