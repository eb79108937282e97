// Monthly statements: every entry in exactly one, despite late commits and crashes; never changed after closing.
import { connect, type Socket } from 'node:net';
import pg from 'pg';
import { EnergyClient } from '../../../packages/sdk/src/index.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { EventLog, type EventPage } from '../../../src/modules/events/event-log.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { CSV_COLUMNS, StatementCsv } from '../../../src/modules/statements/statement-csv.js';
import { StatementLines } from '../../../src/modules/statements/statement-lines.js';
import { StatementClosing } from '../../../src/modules/statements/statement-closing.js';
import { Replica } from '../../../src/platform/database/replica.js';
import { StatementList } from '../../../src/modules/statements/statement-list.js';
import type { Database } from '../../../src/platform/database/database.js';
import { LedgerStatement } from '../../../src/platform/database/entities/statement.entity.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { credits } from '../../../src/domain/units.js';
import { serverOf } from '../../../src/platform/http/pipeline/server.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { expectError } from '../../support/api/answers.js';
import { Customer, HmacCustomer, hmacHeaders } from '../../support/api/client.js';
import { StatementFixture } from '../../support/worker/statement-fixture.js';
import { AUTHOR, makeCustomer, openAsOwner } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { cliWith } from '../../support/cli.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { apiKeysOn } from '../../support/api/services.js';
import { asRole } from '../../setup/roles.js';

const LIMIT_MS = 120_000;
let fixture: OrderFixture;
let database: Database;
let statementFixture: StatementFixture;

beforeAll(async () => {
  fixture = await openOrderFixture({ STREAM_SLOW_SEC: '1' });
  ({ database } = fixture.api);
  statementFixture = await StatementFixture.open(fixture);
  // The oldest entry determines the first month.
  await statementFixture.book((await project()).merchant, 1n, '2024-06-15');
  await statementFixture.closeUpTo('2024-06');
}, LIMIT_MS);

afterAll(async () => {
  await statementFixture.close();
  await fixture.close();
}, LIMIT_MS);

async function project(): Promise<HmacCustomer> {
  const { merchant, apiKey } = await makeCustomer(fixture.api, 0n);
  return new HmacCustomer(fixture.api.baseUrl, merchant, apiKey);
}

const rowsOf = async ({ merchant }: Customer) =>
  (await statementFixture.statements(merchant)).map(({ number, month, lines, opening_credits, closing_credits }) => [
    ...[number, month, Number(lines), Number(opening_credits), Number(closing_credits)],
  ]);

/** Returns the references of a statement's CSV lines, in order. */
async function referencesIn(customer: Customer, number: number): Promise<string[]> {
  const { status, text } = await customer.get(`/v1/statements/${number.toString()}/lines.csv`);
  expect(status).toBe(200);
  const place = CSV_COLUMNS.indexOf('reference');
  return text
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',')[place]!);
}

async function session(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: fixture.env['DATABASE_URL']! });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const ENTER = `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
  VALUES ('topup:' || $2, $1, 'funding', 'topup', $3, 'test', 'a test', $4)`;
const MOVE = `UPDATE credit_account SET balance_credits = balance_credits + $2 WHERE project_id = $1`;

it('several concurrent workers close each month once, beside continuing payments', async () => {
  const customers = await Promise.all(Array.from({ length: 12 }, project));
  for (const { merchant } of customers) await statementFixture.book(merchant, 3n, '2024-07-09');
  const paying = new AbortController();
  const paid = (async () => {
    for (let n = 0; !paying.signal.aborted; n += 1) {
      const { merchant } = customers[n % customers.length]!;
      await fixture.api.ledger.topUp(merchant, credits(1n), `beside-${n.toString()}`, AUTHOR);
    }
  })();
  const workers = Array.from(
    { length: 3 },
    () => new StatementClosing(statementFixture.worker, new Metrics(), openLog('silent')),
  );
  await Promise.all(workers.map((closing) => statementFixture.closeUpTo('2024-07', closing)));
  paying.abort();
  await paid;
  for (const customer of customers) expect(await rowsOf(customer)).toEqual([[1, '2024-07', 1, 0, 3]]);
});

it('closes each month with every movement of the balance, opening with the previous closing, and announces it', async () => {
  const customer = await project();
  const { merchant } = customer;
  await statementFixture.book(merchant, 100_000_000n, '2025-01-01T00:00:00Z', 'paid');
  const order = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
  for (const [key, at] of [
    ['kept', '2025-01-10T08:00:00.5Z'],
    ['lost', '2025-01-11'],
  ] as const) {
    expect((await customer.post('/v1/orders', order, withKey(key))).status).toBe(202);
    await statementFixture.moveNewest(merchant, at);
  }
  await fixture.refund(customer, 'lost');
  await statementFixture.moveNewest(merchant, '2025-01-11T00:05:00Z');
  await statementFixture.book(merchant, -77n, '2025-01-31T23:59:59.999999Z', '=cmd()');
  // Just beyond the end of the month.
  await statementFixture.book(merchant, 5n, '2025-02-01T00:00:00Z', 'february');
  await statementFixture.closeUpTo('2025-01');
  const [charge] = await database.query<{ credits: bigint }>(
    `SELECT credits FROM credit_entry WHERE project_id = $1 AND kind = 'refund'`,
    [merchant],
  );
  const price = Number(charge!.credits);
  const { status, body } = await customer.get('/v1/statements/1');
  expect(status).toBe(200);
  expect(body).toEqual({
    ...{ number: 1, month: '2025-01', from: '2025-01-01T00:00:00.000Z', to: '2025-02-01T00:00:00.000Z' },
    ...{ opening_credits: 0, closing_credits: 100_000_000 - price - 77, entries: 5 },
    totals: { charge: -2 * price, refund: price, compensation: 0, deposit: 0, topup: 100_000_000, adjustment: -77 },
    closed_at: expect.stringMatching(/Z$/) as string,
  });
  await statementFixture.closeUpTo('2025-02');
  expect((await customer.get('/v1/statements')).body.items).toMatchObject([
    {
      number: 2,
      month: '2025-02',
      opening_credits: body.closing_credits,
      closing_credits: (body.closing_credits as number) + 5,
    },
    body,
  ]);
  // The running balance goes on from the month before.
  const { text } = await customer.get('/v1/statements/2/lines.csv');
  expect(text).toContain(`,5,0.0000005,${((body.closing_credits as number) + 5).toString()},`);
  const numberer = new Numberer(database, new Metrics(), openLog('silent'));
  while ((await numberer.numberBatch()) > 0);
  const { items } = (await new EventLog(database).read(merchant, undefined, ['statement.ready'], 9)) as EventPage;
  const reported = items.map(({ payload }) => (JSON.parse(payload) as { data: unknown }).data);
  expect(reported).toEqual([{ statement: body }, { statement: (await customer.get('/v1/statements/2')).body }]);
});

it('the lines are CSV without formulas for any spreadsheet program, with rate, transaction and running balance', async () => {
  const customer = await project();
  await statementFixture.book(customer.merchant, 9_000_000n, '2025-03-01T00:00:00.123456Z', '@SUM(A1),"b"');
  const order = { receive_address: fixture.receiver(), energy: 65_000, duration_sec: 3600 };
  const bought = await customer.post('/v1/orders', order, withKey('=1+1'));
  await statementFixture.moveNewest(customer.merchant, '2025-03-02T10:00:00Z');
  await statementFixture.closeUpTo('2025-03');
  const { status, headers, text } = await customer.get('/v1/statements/1/lines.csv');
  const price = bought.body.credits as number;
  const paid = (price / 10_000_000).toFixed(7);
  const left = (9_000_000 - price).toString();
  const sold = `Rental of 65000 energy for 3600 s to ${fixture.receiver()}`;
  const ids = [...text.matchAll(/^ent_\d+/gm)].map(([id]) => id);
  expect(text.split('\r\n')).toEqual([
    'entry,time,kind,description,credits,usd,balance_credits,asset,amount,usd_rate,order_key,deposit,reference,txids',
    `${ids[0]!},2025-03-01T00:00:00.123Z,topup,Top-up,9000000,0.9000000,9000000,,,,,,"'@SUM(A1),""b""",`,
    `${ids[1]!},2025-03-02T10:00:00.000Z,charge,${sold},-${price.toString()},-${paid},${left},TRX,,${bought.body.trx_usd as string},'=1+1,,,`,
    '',
  ]);
  expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
    ...[200, 'text/csv; charset=utf-8; header=present', 'attachment; filename="statement-2025-03.csv"'],
  ]);
});

it('an entry whose id is out of the order of time is in exactly one statement, that of its month', async () => {
  const customer = await project();
  const times = ['2025-04-05', '2025-05-01', '2025-04-30T23:59:59.999999Z', '2025-05-03', '2025-04-06'];
  for (const [place, at] of times.entries())
    await statementFixture.book(customer.merchant, 1n, at, `o${place.toString()}`);
  await statementFixture.closeUpTo('2025-05');
  expect(await rowsOf(customer)).toEqual([
    [1, '2025-04', 3, 0, 3],
    [2, '2025-05', 2, 3, 5],
  ]);
  expect(await referencesIn(customer, 1)).toEqual(['o0', 'o4', 'o2']);
  expect(await referencesIn(customer, 2)).toEqual(['o1', 'o3']);
});

it('a month waits for the writers at its cut, and contains their commits', async () => {
  const customer = await project();
  const { merchant } = customer;
  const late = await session();
  try {
    await late.query('BEGIN');
    await late.query(ENTER, [merchant, 'late', 1, '2025-06-30T23:59:59Z']);
    // Its id was drawn before those of other entries, and it commits after them.
    const other = await project();
    await database.query(ENTER, [other.merchant, 'other', 4, '2025-06-29']);
    await database.query(MOVE, [other.merchant, 4]);
    expect(await statementFixture.closing.runStep()).toBe('waits');
    expect(await statementFixture.closing.runStep()).toBe('waits');
    // Transactions that begin now are not waited for.
    const next = await session();
    await next.query('BEGIN');
    await next.query(ENTER, [merchant, 'later', 2, '2025-06-30T23:59:58Z']);
    await late.query(MOVE, [merchant, 1]);
    await late.query('COMMIT');
    await statementFixture.closeUpTo('2025-06');
    expect(await rowsOf(customer)).toEqual([[1, '2025-06', 1, 0, 1]]);
    // It committed after its month was closed, so it is in the next statement and no other.
    await next.query(MOVE, [merchant, 2]);
    await next.query('COMMIT');
    await next.end();
    await statementFixture.book(merchant, 4n, '2025-07-02', 'july');
    await statementFixture.closeUpTo('2025-08');
    expect(await rowsOf(customer)).toEqual([
      [1, '2025-06', 1, 0, 1],
      [2, '2025-07', 2, 1, 7],
    ]);
    expect(await referencesIn(customer, 2)).toEqual(['later', 'july']);
  } finally {
    await late.end();
  }
});

it('a month without entries has no statement, and numbers have no gap', async () => {
  const customer = await project();
  await statementFixture.book(customer.merchant, 3n, '2025-09-09');
  await statementFixture.book(customer.merchant, 4n, '2025-11-09');
  await statementFixture.closeUpTo('2025-12');
  expect(await rowsOf(customer)).toEqual([
    [1, '2025-09', 1, 0, 3],
    [2, '2025-11', 1, 3, 7],
  ]);
});

describe('a worker that dies', () => {
  const die = (): never => {
    throw new Error('killed');
  };
  const NAMES = ['cut_statement_month', 'close_statement', 'pass_statement_project', 'end_statement_month'];
  it('at any of its statements, before or after, leaves each month closed once by the next one', async () => {
    const customers = [await project(), await project()];
    for (const { merchant } of customers) await statementFixture.book(merchant, 3n, '2026-01-09');
    for (const name of NAMES) {
      for (const side of ['before', 'after'] as const) {
        const dying = await openAsOwner(asRole(fixture.env['DATABASE_URL']!, 'worker'));
        aroundStatements(dying, [name], { [side]: die });
        const closing = new StatementClosing(dying, new Metrics(), openLog('silent'));
        await expect(statementFixture.closeUpTo('2026-01', closing)).rejects.toThrow('killed');
        await dying.source.destroy();
        if (await statementFixture.isClosed('2026-01')) break;
      }
    }
    await statementFixture.closeUpTo('2026-01');
    for (const customer of customers) expect(await rowsOf(customer)).toEqual([[1, '2026-01', 1, 0, 3]]);
  });
});

it('a project whose ledger does not add up is not closed and delays no other, until it is corrected', async () => {
  const [wrong, known, right] = [await project(), await project(), await project()];
  for (const { merchant } of [wrong, known, right]) await statementFixture.book(merchant, 3n, '2026-03-09');
  for (const { merchant } of [wrong, known]) await database.query(MOVE, [merchant, 1]);
  const unproven = async (metrics = statementFixture.metrics): Promise<number> =>
    (await metrics.registry.getSingleMetric('statements_unproven')!.get()).values[0]!.value;
  for (let steps = 0; steps < 20 && (await unproven()) === 0; steps += 1) await statementFixture.closing.runStep();
  expect([await rowsOf(wrong), await rowsOf(right)]).toEqual([[], [[1, '2026-03', 1, 0, 3]]]);
  expect([await unproven(), await statementFixture.isClosed('2026-03')]).toEqual([2, false]);
  await database.query(MOVE, [wrong.merchant, -1]);
  // The operator has explained this finding, up to its amount.
  await database.query(
    `INSERT INTO explained_finding (fingerprint, check_name, subject, amount, facts, actor, reason)
     VALUES ('known', 'ledger-balance', 'project ' || $1, 1, '{}', 'test', 'a test')`,
    [known.merchant],
  );
  // The running closing continues with later months; a new instance starts with the oldest.
  const metrics = new Metrics();
  await statementFixture.closeUpTo(
    '2026-03',
    new StatementClosing(statementFixture.worker, metrics, openLog('silent')),
  );
  for (const customer of [wrong, known]) expect(await rowsOf(customer)).toEqual([[1, '2026-03', 1, 0, 3]]);
  expect(await unproven(metrics)).toBe(0);
});

it('a closed statement can neither change nor be joined by another', async () => {
  const { merchant } = await project();
  await statementFixture.book(merchant, 3n, '2026-04-09');
  await statementFixture.closeUpTo('2026-04');
  const again = (number: number, month: string, opening: number): string =>
    `INSERT INTO statement (project_id, number, month, ends_at, entries_to, rest_from, first_at, lines, opening_credits,
       charge_credits, refund_credits, compensation_credits, deposit_credits, topup_credits, adjustment_credits, closing_credits)
     SELECT project_id, ${number.toString()}, '${month}', ends_at, entries_to, rest_from, first_at, 1, ${opening.toString()}, 0, 0, 0, 0, 1, 0, ${(opening + 1).toString()}
       FROM statement WHERE project_id = '${merchant}'`;
  for (const change of [
    `UPDATE statement SET lines = lines`,
    `DELETE FROM statement WHERE project_id = '${merchant}'`,
    `TRUNCATE statement`,
    `UPDATE statement_month SET closed_at = NULL`,
    `UPDATE statement_month SET entries_to = entries_to + 1 WHERE closed_at IS NULL OR true`,
    `DELETE FROM statement_month`,
    again(3, '2026-04-01', 3),
    again(2, '2026-04-01', 3),
    again(2, '2026-04-01', 4),
  ])
    await expect(database.query(change)).rejects.toThrow(/append-only|does not follow|not being closed/);
});

it('the operator lists statements, shows one and writes its lines, as the project reads them', async () => {
  const [customer] = await database.query<{ id: string }>(
    `SELECT project_id AS id FROM statement WHERE month = '2025-03-01' AND lines = 2`,
  );
  const merchant = customer!.id;
  const cli = cliWith({ ...fixture.env, USER: 'tester' });
  const listed = (await cli('statements', 'list', '--merchant', merchant, '--json')).json();
  expect(listed).toMatchObject([{ merchant, number: 1, month: '2025-03', entries: 2, opening_credits: 0 }]);
  expect((await cli('statements', 'show', merchant, '1', '--json')).json()).toEqual(listed[0]);
  expect((await cli('statements', 'show', merchant, '1')).out).toMatch(/opening balance +0 \(0\.00 USD\)/);
  expect((await cli('statements', 'list')).out).toContain(merchant);
  const { code, out } = await cli('statements', 'csv', merchant, '1');
  expect([code, out.split('\r\n').length, out.startsWith(CSV_COLUMNS.join(','))]).toEqual([0, 4, true]);
  expect(out).toContain(`"'@SUM(A1),""b"""`);
  for (const none of ['2', '0', 'x']) expect(await cli('statements', 'csv', merchant, none)).toMatchObject({ code: 1 });
});

it('the SDK reads statements and their lines', async () => {
  const customer = await project();
  await statementFixture.book(customer.merchant, 9_000_000n, '2026-05-01T00:00:00Z');
  await statementFixture.book(customer.merchant, 1_000_000n, '2026-06-01T00:00:00Z');
  await statementFixture.closeUpTo('2026-06');
  const { account } = new EnergyClient(customer);
  const months: string[] = [];
  for await (const { month } of account.statements({ limit: 1 })) months.push(month);
  expect(months).toEqual(['2026-06', '2026-05']);
  expect(await account.statement(2)).toMatchObject({ opening_credits: 9_000_000, closing_credits: 10_000_000 });
  expect(await account.statementLines(2)).toBe((await customer.get('/v1/statements/2/lines.csv')).text);
});

it('verify finds nothing in closed months, however late entries came', async () => {
  for (const depth of ['everything', 'newer'] as const) {
    const { checks } = await verifyRecords(database, { depth });
    expect(checks.filter(({ check, count }) => check.startsWith('statement-') && count > 0)).toEqual([]);
    expect(checks.map(({ check }) => check)).toContain('statement-sums');
  }
});

describe('over HTTP', () => {
  it('statements require HMAC and a key that may read, and no one reads those of another project', async () => {
    const customer = await project();
    const { merchant, apiKey } = customer;
    for (const month of ['07', '08', '09']) await statementFixture.book(merchant, 3n, `2026-${month}-09`);
    await statementFixture.closeUpTo('2026-09');
    const keys = apiKeysOn(database, fixture.api.app);
    const reader = await keys.create(merchant, { name: 'r', scopes: ['read'] }, AUTHOR);
    const buyer = await keys.create(merchant, { name: 'o', scopes: ['order', 'quote', 'manage'] }, AUTHOR);
    const other = await project();
    for (const path of ['/v1/statements', '/v1/statements/1', '/v1/statements/1/lines.csv']) {
      expectError(await new Customer(fixture.api.baseUrl, merchant, apiKey).get(path), 'HMAC_REQUIRED');
      const { status, headers } = await customer.withKey(reader.apiKey).get(path);
      expect([status, headers['ratelimit-limit']]).toEqual([200, '600']);
      expectError(await customer.withKey(buyer.apiKey).get(path), 'KEY_SCOPE');
      if (path !== '/v1/statements') expectError(await other.get(path), 'NOT_FOUND');
    }
    expect((await other.get('/v1/statements')).body).toEqual({ items: [] });
    for (const none of ['4', '0', '01', '-1', 'x', '99999999999'])
      expectError(await customer.get(`/v1/statements/${none}`), 'NOT_FOUND');
    const first = (await customer.get('/v1/statements?limit=2')).body;
    expect(first.items.map(({ number }: { number: number }) => number)).toEqual([3, 2]);
    const second = (await customer.get(`/v1/statements?limit=2&cursor=${first.next_cursor as string}`)).body;
    expect([second.items.length, second.items[0].number, second.next_cursor]).toEqual([1, 1, undefined]);
    expectError(await customer.get('/v1/statements?cursor=bm8'), 'INVALID_REQUEST');
    // A cursor beyond every possible number is refused too.
    const beyond = Buffer.from('s999999999999999999').toString('base64url');
    expectError(await customer.get(`/v1/statements?cursor=${beyond}`), 'INVALID_REQUEST');
  });

  it('sends a hundred thousand lines page by page, and disconnects a caller that reads none', async () => {
    const customer = await project();
    const { merchant, apiKey } = customer;
    const count = 100_000;
    await database.query(
      `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
       SELECT 'topup:' || $1 || n, $1::uuid, 'funding', 'topup', 1, 'test', 'a test', '2026-10-01Z'::timestamptz + n * interval '1 second'
         FROM generate_series(1, $2::integer) n`,
      [merchant, count],
    );
    await database.query(MOVE, [merchant, count]);
    await statementFixture.closeUpTo('2026-10');
    const statements = new StatementList(database.source.getRepository(LedgerStatement), new Replica(database));
    const statement = (await statements.find(merchant, '1'))!;
    expect([statement.lines, statement.closingCredits]).toEqual([BigInt(count), BigInt(count)]);
    let lines = 0;
    const csv = new StatementCsv(new StatementLines(new Replica(database), statements));
    for await (const page of csv.pages(statement, async (read) => read())) {
      const here = page.split('\r\n').length - 1;
      expect(here).toBeLessThanOrEqual(1001);
      lines += here;
    }
    expect(lines).toBe(count + 1);
    const { text } = await customer.get('/v1/statements/1/lines.csv');
    const all = text.trimEnd().split('\r\n').slice(1);
    expect([all.length, new Set(all.map((line) => line.split(',')[0])).size]).toEqual([count, count]);
    expect(all.at(-1)).toContain(`,1,0.0000001,${count.toString()},`);
    const path = '/v1/statements/1/lines.csv';
    const cut = new Promise<Socket>((resolve) => {
      const { port } = new URL(fixture.api.baseUrl);
      const socket = connect(Number(port), '127.0.0.1', () => {
        const headers = Object.entries(hmacHeaders(merchant, apiKey, { method: 'GET', path }));
        const lines = [`GET ${path} HTTP/1.1`, 'Host: x', ...headers.map(([name, value]) => `${name}: ${value}`)];
        socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      }).pause();
      serverOf(fixture.api.app).on('connection', (theirs: Socket) => {
        if (theirs.remotePort === socket.localPort) theirs.once('close', () => resolve(socket));
      });
    });
    // The bytes in flight still arrive, but not the end of the body.
    const received: Buffer[] = [];
    const socket = await cut;
    socket.on('data', (chunk) => received.push(chunk)).on('error', () => undefined);
    await new Promise((resolve) => socket.once('close', resolve).resume());
    const part = Buffer.concat(received).toString('latin1');
    expect([part.startsWith('HTTP/1.1 200'), part.endsWith('0\r\n\r\n')]).toEqual([true, false]);
  });
});
