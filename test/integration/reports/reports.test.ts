// Reports compared with sums over the rows, added up one by one here. The histories are made at random by the services
// and spread over days by direct updates.
import fc from 'fast-check';
import { credits } from '../../../src/domain/units.js';
import {
  Reports,
  marginSun,
  marginUsdE14,
  type Figures,
  type ReportBy,
} from '../../../src/modules/reports/report-service.js';
import { Replica } from '../../../src/platform/database/replica.js';
import { COSTS_BY, ENTRIES_BY, FREE_TOP_UPS_BY } from '../../../src/modules/reports/report-sql.js';
import { PoolSync } from '../../../src/modules/pool/pool-sync.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import type { Customer } from '../../support/api/client.js';
import { AUTHOR, keepSelling, makeCustomer } from '../../support/api/factory.js';
import { cliWith } from '../../support/cli.js';
import { openOrderFixture, settleOrder, withKey, type OrderFixture } from '../../support/api/order-fixture.js';
import { addedUp, rawRows } from './report-sums.js';
import { asAdmin } from '../../setup/admin.js';

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 0, 1);
const DAYS = 6;

let fixture: OrderFixture;
let customers: readonly Customer[];

beforeAll(async () => {
  fixture = await openOrderFixture({ RATE_LIMIT_PER_MIN: '100000' });
  customers = [
    await makeCustomer(fixture.api),
    await makeCustomer(fixture.api),
    await makeCustomer(fixture.api, 0n, { kind: 'postpaid', debtLimitCredits: undefined }),
  ];
});

afterAll(() => fixture.close());

/** Runs statements with triggers and foreign keys off, as a manual change of the database would. */
const byHand = (...statements: readonly (readonly [string, ...unknown[]])[]) =>
  asAdmin(fixture.env['DATABASE_URL']!, async (client) => {
    await client.query('SET session_replication_role = replica');
    for (const [text, ...params] of statements) await client.query(text, params);
  });

type Deed =
  | { readonly kind: 'buy'; readonly who: number; readonly energy: number; readonly hours: number }
  | { readonly kind: 'activate' | 'topup'; readonly who: number; readonly amount: number }
  | { readonly kind: 'refund' | 'compensate'; readonly which: number; readonly amount: number }
  | { readonly kind: 'adjust'; readonly who: number; readonly amount: number };

const who = fc.nat(2);
const deeds: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('buy' as const),
      who,
      energy: fc.integer({ min: 65_000, max: 400_000 }),
      hours: fc.constantFrom(1, 24),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('activate', 'topup'), who, amount: fc.integer({ min: 1, max: 1e7 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('refund', 'compensate'),
      which: fc.nat(100),
      amount: fc.integer({ min: 1, max: 9999 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('adjust' as const),
      who,
      amount: fc.integer({ min: -1000, max: 1000 }).filter((n) => n !== 0),
    }),
  },
);

let made = 0;

/** Performs a deed through the services, which may refuse it. */
async function act(
  deed: Deed,
  bought: { readonly customer: Customer; readonly key: string; readonly id: bigint }[],
): Promise<void> {
  made += 1;
  const { ledger } = fixture.api;
  if ('which' in deed) {
    const one = bought[deed.which % Math.max(1, bought.length)];
    if (one === undefined) return;
    if (deed.kind === 'compensate') {
      await settleOrder(fixture.api, one.id);
      await ledger.compensate(one.id, credits(BigInt(deed.amount)), AUTHOR).catch(() => undefined);
    } else await fixture.refund(one.customer, one.key).catch(() => undefined);
    return;
  }
  const customer = customers[deed.who]!;
  if (deed.kind === 'topup')
    await ledger.topUp(customer.merchant, credits(BigInt(deed.amount)), `t${made.toString()}`, AUTHOR);
  else if (deed.kind === 'adjust')
    await ledger
      .adjust(customer.merchant, credits(BigInt(deed.amount)), `a${made.toString()}`, AUTHOR)
      .catch(() => undefined);
  else {
    const isRental = deed.kind === 'buy';
    const body = isRental
      ? { receive_address: fixture.receiver(made), energy: deed.energy, duration_sec: deed.hours * 3600 }
      : { address: `T${'x'.repeat(33)}` };
    const answer = await customer.post(isRental ? '/v1/orders' : '/v1/activate', body, withKey(`k${made.toString()}`));
    if (answer.status === 202)
      bought.push({ customer, key: String(answer.body.key), id: BigInt(answer.body.id as number) });
  }
}

/** Spreads entries over days, some at a day's very start or end. Splits legs and burns TRX for each leg. */
async function spread(random: readonly number[]): Promise<void> {
  const [wallet] = await fixture.api.database.query<{ id: number }>(`SELECT id FROM pool_wallet ORDER BY id LIMIT 1`);
  const pick = (place: number, most: number): number => (random[place % random.length] ?? 0) % most;
  const entries = await fixture.api.database.query<{ id: bigint }>(`SELECT id FROM credit_entry ORDER BY id`);
  const times = entries.map(({ id }, index) => {
    const ms = [0, DAY_MS - 1, pick(index, DAY_MS)][pick(index + 1, 3)]!;
    return [
      'UPDATE credit_entry SET created_at = $2 WHERE id = $1',
      id,
      new Date(FIRST + pick(index, DAYS) * DAY_MS + ms),
    ] as const;
  });
  const legs = await fixture.api.database.query<{ id: bigint; order_id: bigint; leg_no: number }>(
    `SELECT id, order_id, leg_no FROM leg ORDER BY id`,
  );
  const parts = legs.flatMap(({ id, order_id, leg_no }, index) => {
    const txid = Buffer.alloc(32, index);
    txid.writeUInt32BE(made, 0);
    const at = new Date(FIRST + pick(index + 3, DAYS) * DAY_MS);
    const fee = pick(index, 5) === 0 ? null : pick(index + 7, 3_000_000);
    const burnt = [
      `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, ref_block_number, expires_at,
          block_number, block_id, block_at, fee_sun) VALUES ($1, $2, 'delegate', 1, $3, $4, $5, 'x', 1, now(), 1, 'x', $6, $7)
        ON CONFLICT DO NOTHING`,
      ...[order_id, id, pick(index + 4, 4) + 1, pick(index, 7) === 0 ? 'included' : 'solid', txid, at, fee],
    ] as const;
    const split = [
      `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status, top_up, energy)
        SELECT order_id, $2, kind, $3, receive_address, $4, $5, $6, $7 FROM leg WHERE id = $1 ON CONFLICT DO NOTHING`,
      ...[
        id,
        leg_no + 1,
        pick(index + 5, 4) + 1,
        1_000_000 + pick(index, 999),
        pick(index + 2, 3) === 0 ? 'released' : 'active',
        pick(index, 4) === 0,
        1_000 + index,
      ],
    ] as const;
    return leg_no === 1 && pick(index, 2) === 0 ? [burnt, split] : [burnt];
  });
  const wallets = [2, 3, 4].map(
    (more) =>
      [
        `INSERT INTO pool_wallet (id, address, role, permission_id, key_address) OVERRIDING SYSTEM VALUE
          SELECT $1::integer, 'wallet ' || $1, role, permission_id, key_address FROM pool_wallet WHERE id = $2 ON CONFLICT DO NOTHING`,
        more,
        wallet!.id,
      ] as const,
  );
  await byHand(...wallets, ...times, ...parts);
}

const withoutZeros = (figures: object) =>
  Object.fromEntries(Object.entries(figures).filter(([name, value]) => value !== 0n && !name.endsWith('Ms')));

async function expectSums(by: ReportBy, from: Date, before: Date): Promise<void> {
  const made = await new Reports(new Replica(fixture.api.database)).make({ from, before, by });
  const wanted = [...addedUp(await rawRows(fixture.api.database), by, from, before)]
    .map(([key, row]): [string, object] => [key, withoutZeros(row)])
    .filter(([, row]) => Object.keys(row).length > 0);
  const found = made.rows.map(({ key, figures }): [string, object] => [key ?? 'none', withoutZeros(figures)]);
  expect(new Map(found.filter(([, row]) => Object.keys(row).length > 0))).toEqual(new Map(wanted));
  const sum = (name: keyof Figures): bigint => made.rows.reduce((all, row) => all + row.figures[name], 0n);
  for (const name of Object.keys(made.total) as (keyof Figures)[]) expect(made.total[name]).toBe(sum(name));
}

it('each amount by day, project and wallet is that of the ledger, to the last unit', async () => {
  const histories = fc.record({
    deeds: fc.array(deeds, { minLength: 12, maxLength: 25 }),
    random: fc.array(fc.nat(DAY_MS), { minLength: 30, maxLength: 40 }),
    range: fc.tuple(fc.nat(DAYS), fc.nat(DAYS)),
  });
  await fc.assert(
    fc.asyncProperty(histories, async ({ deeds: done, random, range }) => {
      await keepSelling(fixture.api.database);
      const bought: { customer: Customer; key: string; id: bigint }[] = [];
      for (const deed of done) await act(deed, bought);
      await spread(random);
      const [low, high] = [Math.min(...range), Math.max(...range) + 1];
      for (const by of ['day', 'project', 'wallet'] as const) {
        await expectSums(by, new Date(FIRST + low * DAY_MS), new Date(FIRST + high * DAY_MS));
        for (let day = 0; day < DAYS; day += 1)
          await expectSums(by, new Date(FIRST + day * DAY_MS), new Date(FIRST + (day + 1) * DAY_MS));
        await expectSums(by, new Date(0), new Date(Date.UTC(2200, 0, 1)));
      }
    }),
    { numRuns: 4, endOnFailure: true },
  );
  const { total } = await new Reports(new Replica(fixture.api.database)).make({
    from: new Date(0),
    before: new Date(Date.UTC(2200, 0, 1)),
    by: 'day',
  });
  const [ledger] = await fixture.api.database.query<{ sum: string }>(
    `SELECT sum(credits)::text AS sum FROM credit_entry`,
  );
  const { revenueCredits, refundsCredits, compensationsCredits, topupsCredits, adjustmentsCredits } = total;
  expect(revenueCredits).toBeGreaterThan(0n);
  expect(refundsCredits).toBeGreaterThan(0n);
  expect(total.chainCostSun).toBeGreaterThan(0n);
  expect(refundsCredits + compensationsCredits + topupsCredits + adjustmentsCredits - revenueCredits).toBe(
    BigInt(ledger!.sum),
  );
}, 240_000);

it('names the energy of free top-ups and their burn', async () => {
  const [leg] = await fixture.api.database.query<{ id: bigint }>(
    `SELECT l.id FROM leg l JOIN chain_tx t ON t.leg_id = l.id WHERE NOT l.top_up AND t.status = 'solid' AND t.fee_sun > 0 LIMIT 1`,
  );
  await byHand(
    [`UPDATE leg SET top_up = true, energy = 123456 WHERE id = $1`, leg!.id],
    [`UPDATE chain_tx SET fee_sun = 345000, block_at = '2027-03-01' WHERE leg_id = $1`, leg!.id],
  );
  const range = ['--from', '2027-03-01', '--to', '2027-03-01'];
  const { out } = await cliWith(fixture.env)('report', ...range);
  expect(out).toContain('Free top-ups: 123 456 energy; their transactions burnt 0.345000 TRX.');
  for (const by of ['day', 'project', 'wallet']) {
    const { total, rows } = (await cliWith(fixture.env)('report', ...range, '--by', by, '--json')).json();
    expect(total).toMatchObject({ free_top_up_energy: 123456, free_top_up_cost_sun: 345000, chain_cost_sun: 345000 });
    expect(rows).toHaveLength(1);
  }
});

it('the debt at the end of a day is that of the balances then', async () => {
  const reports = new Reports(new Replica(fixture.api.database));
  const { entries } = await rawRows(fixture.api.database);
  for (const day of [0, 2, DAYS]) {
    const before = new Date(FIRST + day * DAY_MS);
    const balances = new Map<string, bigint>();
    for (const { project_id: id, credits: amount, created_at: at } of entries)
      if (at < before) balances.set(id, (balances.get(id) ?? 0n) + amount);
    const owed = [...balances.values()].filter((each) => each > 0n).reduce((sum, each) => sum + each, 0n);
    const debts = [...balances.values()].filter((each) => each < 0n).reduce((sum, each) => sum - each, 0n);
    const { standing } = await reports.make({ from: new Date(FIRST), before, by: 'day' });
    expect({ owed: standing.owedCredits, debts: standing.debtsCredits }).toEqual({ owed, debts });
  }
});

it('the margin in TRX and in dollars is the price minus the costs, at the rate of each order', async () => {
  const { total } = await new Reports(new Replica(fixture.api.database)).make({
    from: new Date(0),
    before: new Date(Date.UTC(2200, 0, 1)),
    by: 'day',
  });
  expect(marginSun(total)).toBe(total.netSun - total.chainCostSun);
  const net = total.revenueCredits - total.refundsCredits - total.compensationsCredits;
  expect(marginUsdE14(total)).toBe(net * 10_000_000n - total.chainCostUsdE14);
});

it('adds up a wallet’s idle and recovering energy by day as it is read, without outages', async () => {
  const { database, app, config } = fixture.api;
  const sync = new PoolSync(database, app.get(TronClient), config);
  const { address } = fixture.chain.pool;
  const days = () =>
    database.query<{ measured_ms: bigint; idle_energy_ms: string; recovering_energy_ms: string }>(
      `SELECT d.measured_ms, d.idle_energy_ms, d.recovering_energy_ms FROM pool_wallet_day d
         JOIN pool_wallet w ON w.id = d.wallet_id WHERE w.address = $1`,
      [address],
    );
  const readAgo = (age: string) =>
    byHand(
      [`UPDATE pool_wallet SET read_at = clock_timestamp() - $2::interval WHERE address = $1`, address, age],
      [`DELETE FROM pool_wallet_day`],
    );
  await readAgo('100 seconds');
  await sync.syncWallet(address);
  const [day] = await days();
  // An interval counts for the day in which it ends, also across midnight.
  expect(Number(day!.measured_ms)).toBeGreaterThanOrEqual(100_000);
  const [wallet] = await database.query<{ free_sun_seen: bigint }>(
    `SELECT free_sun_seen FROM pool_wallet WHERE address = $1`,
    [address],
  );
  expect(wallet!.free_sun_seen).toBeGreaterThan(0n);
  expect(BigInt(day!.idle_energy_ms) % day!.measured_ms).toBe(0n);
  expect(BigInt(day!.idle_energy_ms)).toBeGreaterThan(0n);
  const { total } = await new Reports(new Replica(database)).make({
    from: new Date(Date.now() - 2 * DAY_MS - (Date.now() % DAY_MS)),
    before: new Date(Date.now() + 2 * DAY_MS - (Date.now() % DAY_MS)),
    by: 'wallet',
  });
  expect(total.idleEnergyMs).toBe(BigInt(day!.idle_energy_ms));
  expect(total.measuredMs).toBe(day!.measured_ms);
  await readAgo('1 hour');
  await sync.syncWallet(address);
  expect(await days()).toEqual([]);
});

it('the command shows it within 80 columns, as JSON with whole amounts, and as CSV that no spreadsheet runs', async () => {
  const cli = cliWith(fixture.env);
  await byHand([`UPDATE project SET name = '=HYPERLINK("http://x","a, b")' WHERE id = $1`, customers[0]!.merchant]);
  await byHand(
    [
      `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at, status, rate_e8)
        SELECT sha256(n::text::bytea), 'native', 0, $1, 'a', 'b', 'TRX', n, 1, sha256('b'), $2, 'credited', 1
          FROM (VALUES (2000000), (3000000)) v(n)`,
      customers[0]!.merchant,
      new Date(FIRST),
    ],
    [
      `INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ('TRX', $1, 30000000), ('TRX', now(), 90000000)`,
      new Date(FIRST),
    ],
  );
  const range = ['--from', '2026-01-01', '--to', '2026-01-06'];
  for (const by of ['day', 'project', 'wallet']) {
    const { code, out, err } = await cli('report', ...range, '--by', by);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(Math.max(...out.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(out).toMatch(/revenue +refunds +compens\. +burnt TRX +margin +margin TRX/);
    expect(out).toContain('Owed to projects');
  }
  const made = await new Reports(new Replica(fixture.api.database)).make({
    from: new Date(FIRST),
    before: new Date(FIRST + 6 * DAY_MS),
    by: 'project',
  });
  const json = (await cli('--json', 'report', ...range, '--by', 'project')).json();
  expect(json.total.revenue_credits).toBe(Number(made.total.revenueCredits));
  expect(json.rows).toHaveLength(made.rows.length);
  expect(json.deposits_held).toEqual([{ asset: 'TRX', amount: '5.000000', usd: '1.50' }]);
  const { out: csv } = await cli('report', ...range, '--by', 'project', '--csv');
  const lines = csv.split('\r\n');
  expect(lines[0]).toMatch(/^project,name,revenue_credits,/);
  expect(lines).toHaveLength(made.rows.length + 2);
  expect(csv).toContain(`"'=HYPERLINK(""http://x"",""a, b"")"`);
  for (const bad of [
    ['--from', '2026-02-30', '--to', '2026-03-01'],
    ['--from', '2026-03-02', '--to', '2026-03-01'],
    [...range, '--by', 'hour'],
  ])
    expect((await cli('report', ...bad)).code).toBe(2);
});

it('a report of some days reads by time, whatever there is of other days', async () => {
  await byHand(
    [`TRUNCATE credit_entry, chain_tx CASCADE`],
    [
      `INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
        SELECT 'topup:' || n, $1, 'funding', 'topup', 1, 'a', 'b', '2024-01-01'::timestamptz + n * interval '10 minutes' FROM generate_series(1, 100000) n`,
      customers[0]!.merchant,
    ],
    [
      `INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, ref_block_number, expires_at,
          block_number, block_id, block_at, fee_sun)
        SELECT 1, n, 'delegate', 1, 1, 'solid', sha256(n::text::bytea), 'x', 1, now(), n, 'x', '2024-01-01'::timestamptz + n * interval '10 minutes', 1
          FROM generate_series(1, 100000) n`,
    ],
    [`VACUUM ANALYZE credit_entry`],
    [`VACUUM ANALYZE chain_tx`],
  );
  const planOf = async (text: string): Promise<string> => {
    const rows = await fixture.api.database.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, [
      new Date('2025-01-01'),
      new Date('2025-01-04'),
    ]);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  for (const by of ['day', 'project', 'wallet'] as const) {
    expect(await planOf(ENTRIES_BY[by])).toMatch(/credit_entry_(created_at|time)/);
    expect(await planOf(COSTS_BY[by])).toMatch(/chain_tx_block_at/);
    expect(await planOf(FREE_TOP_UPS_BY[by])).toMatch(/chain_tx_block_at/);
  }
});
