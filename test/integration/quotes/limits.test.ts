// The limits endpoint: true of accepted orders, the same for both signatures, and cheap under load.
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { Limits } from '../../../src/modules/quotes/limits.service.js';
import { freeStake } from '../../../src/modules/pool/sellable.js';
import { Database } from '../../../src/platform/database/database.js';
import { HmacCustomer, type Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { expectRefusal, openOrderFixture, type OrderFixture } from '../../support/api/order-fixture.js';

let fixture: OrderFixture;
let customer: Customer;

beforeAll(async () => {
  fixture = await openOrderFixture();
  customer = await makeCustomer(fixture.api, 1_000_000_000_000_000n);
});

afterAll(() => fixture.close());

const query = (text: string, params: readonly unknown[] = []) => fixture.api.database.query(text, params);

interface LimitsSeen {
  readonly burn_price_sun_per_energy: number;
  readonly price_floor_sun: number;
  readonly durations: readonly {
    readonly max_duration_sec: number;
    readonly sun_per_energy: number;
    readonly min_energy?: number;
    readonly max_energy: number;
  }[];
}

/** Reads the limits once the cached pool state has expired. */
async function limitsNow(): Promise<LimitsSeen> {
  await new Promise((resolve) => setTimeout(resolve, 1050));
  const { status, body } = await customer.get('/v1/limits');
  expect(status).toBe(200);
  return body;
}

const buy = (energy: number, duration_sec: number) =>
  customer.post('/v1/orders', {
    ...{ receive_address: fixture.receiver(), energy, duration_sec },
    expected_uses: 1 + Math.floor(duration_sec / 86_400),
  });

/** Gives the pool wallets with this free stake, in one slot each. The chain is not asked. */
async function poolOf(...free: readonly bigint[]): Promise<void> {
  await query(`UPDATE pool_slot SET free_sun = 0, free_transactions = 0`);
  await query(`UPDATE pool_wallet SET status = 'paused', sells_until = NULL WHERE role = 'pool'`);
  for (const [index, sun] of free.entries()) {
    const [wallet] = (await query(
      `INSERT INTO pool_wallet (address, role, permission_id, key_address, status, sells_until, free_sun_seen)
       VALUES ('Tmade' || gen_random_uuid(), 'pool', 0, 'Tkey', 'active', now() + interval '1 day', $1) RETURNING id`,
      [sun],
    )) as { id: number }[];
    await query(`INSERT INTO pool_slot (wallet_id, slot_no, free_sun, free_transactions) VALUES ($1, $2, $3, 100)`, [
      ...[wallet!.id, index, sun],
    ]);
  }
}

test('names the price table, the bounds, the fee of burning and the budgets', async () => {
  const { status, headers, body } = await customer.get('/v1/limits');
  expect([status, headers['cache-control'], headers['ratelimit-limit']]).toEqual([200, 'no-store', '600']);
  const rows = (await query(
    `SELECT duration_max_sec AS max_duration_sec, sun_per_energy::int FROM price_row ORDER BY 1`,
  )) as { max_duration_sec: number }[];
  expect(body).toMatchObject({
    energy: { min: 1000, max: 100_000_000 },
    duration_sec: { min: 300, max: rows.at(-1)!.max_duration_sec, default: 3600 },
    burn_price_sun_per_energy: 100,
    durations: rows,
    rate_limits: { quotes: { requests: 120, window_sec: 60 }, general: { requests: 600, window_sec: 60 } },
  });
  expect(new Date(body.timestamp).toISOString()).toBe(body.timestamp);
  const byHmac = new HmacCustomer(customer.baseUrl, customer.merchant, customer.apiKey);
  const { timestamp: _timestamp, ...same } = (await byHmac.get('/v1/limits')).body;
  expect(body).toMatchObject(same);
});

test('the named minimum is sold, and one energy less is not worthwhile', async () => {
  const { durations, price_floor_sun, burn_price_sun_per_energy } = await limitsNow();
  const { min_energy: least, max_duration_sec } = durations.find(({ max_duration_sec: longest }) => longest === 3600)!;
  expect(least).toBe(Math.floor(price_floor_sun / burn_price_sun_per_energy) + 1);
  expectRefusal(await buy(least! - 1, max_duration_sec), 409, 'NOT_WORTH_RENTING');
  expect((await buy(least!, max_duration_sec)).status).toBe(202);
});

test.each([
  ['one wallet', [40_000_000_000n]],
  ['several wallets', [40_000_000_000n, 30_000_000_000n, 7_000_000_000n, 5_000_000n]],
  ['more wallets than one order may use', Array.from({ length: 25 }, (_, at) => 2_000_000_000n + BigInt(at))],
])(
  'of %s the named maximum is sold in one order, and hardly more',
  async (_what, free) => {
    await poolOf(...free);
    const { durations } = await limitsNow();
    for (const { max_duration_sec: seconds, max_energy: most } of durations) {
      await poolOf(...free);
      const more = await buy(Math.ceil(most * 1.0002) + 40, seconds);
      expectRefusal(more, 503, 'CAPACITY_UNAVAILABLE');
      expect([seconds, (await buy(most, seconds)).status]).toEqual([seconds, 202]);
    }
    // Margins grow with the duration.
    expect(durations.map(({ max_energy }) => max_energy)).toEqual(
      durations.map(({ max_energy }) => max_energy).toSorted((one, other) => other - one),
    );
    expect(durations.at(-1)!.max_energy).toBeLessThan(durations[0]!.max_energy);
  },
  60_000,
);

test('small rests of many wallets count as far as an order’s price pays for its legs’ transactions', async () => {
  const rests = Array.from({ length: 10 }, () => 50_000_000n);
  await poolOf(...rests);
  const { durations } = await limitsNow();
  const most = (seconds: number) => durations.find((row) => row.max_duration_sec === seconds)!.max_energy;
  // A cheap hour pays for only one wallet's transactions, an expensive week for all ten.
  expect([most(3600) < 10_000, most(604_800) > 80_000]).toEqual([true, true]);
  expectRefusal(await buy(2 * most(3600), 3600), 503, 'CAPACITY_UNAVAILABLE');
  for (const seconds of [3600, 604_800]) {
    await poolOf(...rests);
    expect([seconds, (await buy(most(seconds), seconds)).status]).toEqual([seconds, 202]);
  }
});

test('names nothing as sold while the pool is empty, its bandwidth is spent, or its sales are stopped', async () => {
  const most = async () => (await limitsNow()).durations.map(({ max_energy }) => max_energy);
  const none = (await limitsNow()).durations.map(() => 0);
  await poolOf();
  expect(await most()).toEqual(none);
  await poolOf(40_000_000_000n);
  expect(Math.min(...(await most()))).toBeGreaterThan(0);
  await query(`UPDATE pool_slot SET free_transactions = 1`);
  expect(await most()).toEqual(none);
  await poolOf(40_000_000_000n);
  await query(`UPDATE pool_wallet SET sells_until = now() - interval '1 second' WHERE address LIKE 'Tmade%'`);
  expect(await most()).toEqual(none);
});

test('names a price above burning without an amount, and no row shorter than any rental', async () => {
  await poolOf(40_000_000_000n);
  await query(`INSERT INTO price_row (duration_max_sec, sun_per_energy) VALUES (299, 10), (2600000, 3200)`);
  try {
    const seen = async () => (await limitsNow()).durations;
    let durations = await seen();
    for (let look = 0; look < 10 && durations.at(-1)!.max_duration_sec !== 2_600_000; look += 1)
      durations = await seen();
    expect(durations.at(-1)).toEqual({
      max_duration_sec: 2_600_000,
      sun_per_energy: 3200,
      max_expected_uses: 31,
      max_energy: 0,
    });
    expect(durations[0]!.max_duration_sec).toBeGreaterThanOrEqual(300);
  } finally {
    await query(`DELETE FROM price_row WHERE duration_max_sec IN (299, 2600000)`);
  }
});

test('reads the pool once for concurrent callers, and at most twice an order’s wallets of a large one', async () => {
  await poolOf(...Array.from({ length: 120 }, (_, at) => 1_000_000_000n + BigInt(at)));
  await limitsNow();
  await new Promise((resolve) => setTimeout(resolve, 1050));
  let reads = 0;
  aroundStatements(fixture.api.app.get(Database), ['pool-sellable'], { before: () => (reads += 1) });
  const limits = fixture.api.app.get(Limits);
  const answers = await Promise.all(Array.from({ length: 50 }, () => limits.now()));
  expect(new Set(answers.map(({ durations }) => JSON.stringify(durations))).size).toBe(1);
  expect(reads).toBe(1);
  expect((await freeStake(fixture.api.database)).energy).toEqual(
    Array.from({ length: 40 }, (_, at) => 1_000_000_119n - BigInt(at)),
  );
});
