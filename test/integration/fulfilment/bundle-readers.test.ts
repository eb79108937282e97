// Readers of orders of energy, bandwidth and activation: one that was delivered, and one that was refunded except for
// its activation. All sums agree with the charges to the credit and to the sun.
import 'reflect-metadata';
import { RentalRecords } from '../../../src/modules/explain/rental-records.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { newOwner } from '../../support/chain/order-chain.js';
import { cliWith, seedTestCanaries, type Cli } from '../../support/cli.js';
import { bundleOf, buyBundle, openBundleFixture, step } from '../../support/worker/bundle-fixture.js';
import {
  api,
  closeFixture,
  customer,
  dueAgain,
  env,
  fixtureDatabaseUrl,
  loseLeases,
  mine,
  orderOf,
  pool,
  SOLID_LAG,
  START_LIMIT_MS,
  SteppedWorker,
} from '../../support/worker/fulfilment-fixture.js';

const BANDWIDTH = 10_000;
const ENERGY_PART = { sun: 2_470_000, credits: 7_410_000 };
const BANDWIDTH_PART = { sun: 7_000_000, credits: 21_000_000 };
const ACTIVATION_PART = { sun: 1_200_000, credits: 3_600_000 };
const RENTED = {
  sun: ENERGY_PART.sun + BANDWIDTH_PART.sun,
  credits: ENERGY_PART.credits + BANDWIDTH_PART.credits,
};

let worker: SteppedWorker;
let consoles: { readonly merchant: TestConsole; readonly operator: TestConsole };
let owner: Account;
let admin: Account;
let cli: Cli;
/** The keys of the delivered and of the refunded order, and the receivers of both. */
const delivered = { key: '', receiver: newOwner().address };
const refunded = { key: '', receiver: newOwner().address };

beforeAll(async () => {
  await openBundleFixture();
  await seedTestCanaries(fixtureDatabaseUrl());
  worker = await SteppedWorker.open();
  await worker.followChain();
  delivered.key = await buyBundle({ receiver: delivered.receiver, bandwidth: BANDWIDTH, activate: true }, worker);
  await worker.advance();
  await step(worker);
  await step(worker, SOLID_LAG + 2);
  expect(await bundleOf(delivered.key)).toMatchObject({ status: 'delivered', settled: true });
  refunded.key = await buyBundle({ receiver: refunded.receiver, bandwidth: BANDWIDTH, activate: true }, worker);
  await worker.advance();
  await mine();
  await worker.followChain();
  await worker.orderTermination().undo(await dueAgain(worker, (await orderOf(refunded.key)).id));
  await loseLeases();
  await step(worker, SOLID_LAG + 3);
  expect(await bundleOf(refunded.key)).toMatchObject({ status: 'refunded', kept_credits: 3_600_000n });
  const url = fixtureDatabaseUrl();
  consoles = { merchant: await openConsole(url, 'merchant'), operator: await openConsole(url, 'operator') };
  owner = await consoles.merchant.signedIn('owner', customer.merchant);
  admin = await consoles.operator.signedIn('admin');
  cli = cliWith({ ...env, USER: 'tester' });
}, START_LIMIT_MS);

afterAll(async () => {
  await consoles.merchant.close();
  await consoles.operator.close();
  await worker.close();
  await closeFixture();
}, START_LIMIT_MS);

interface ReportRow {
  readonly wallet: string | null;
  readonly revenue_credits: number;
  readonly refunds_credits: number;
  readonly net_sun: number;
  readonly energy_seconds_sold: number;
  readonly bandwidth_seconds_sold: number;
}

interface ReportJson {
  readonly rows: readonly ReportRow[];
  readonly total: ReportRow;
}

async function tomorrow(): Promise<string> {
  const [row] = await api.database.query<{ day: string }>(
    `SELECT to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYY-MM-DD') AS day`,
  );
  return row!.day;
}

async function report(by: string, format: readonly string[]) {
  const answer = await cli('report', '--from', '2020-01-01', '--to', await tomorrow(), '--by', by, ...format);
  expect(answer.err).toBe('');
  return answer;
}

const reportBy = async (by: string): Promise<ReportJson> => (await report(by, ['--json'])).json() as ReportJson;

describe('the report', () => {
  it('shares an order by its items: each item to the wallets that deliver it', async () => {
    const { rows, total } = await reportBy('wallet');
    const sold = (row: ReportRow | undefined) => [row?.revenue_credits, row?.refunds_credits, row?.net_sun];
    const selling = rows.find(({ wallet }) => wallet === pool.address);
    const activating = rows.find(({ wallet, revenue_credits: revenue }) => wallet !== pool.address && revenue > 0);
    expect(sold(selling)).toEqual([2 * RENTED.credits, RENTED.credits, RENTED.sun]);
    expect(sold(activating)).toEqual([2 * ACTIVATION_PART.credits, 0, 2 * ACTIVATION_PART.sun]);
    expect([selling?.energy_seconds_sold, activating?.energy_seconds_sold]).toEqual([65_000 * 60, 0]);
    expect([selling?.bandwidth_seconds_sold, activating?.bandwidth_seconds_sold]).toEqual([BANDWIDTH * 60, 0]);
    expect(sold(total)).toEqual([
      2 * (RENTED.credits + ACTIVATION_PART.credits),
      RENTED.credits,
      RENTED.sun + 2 * ACTIVATION_PART.sun,
    ]);
  });

  it('has the bandwidth sold beside the energy, as text, as CSV and in the console', async () => {
    const [heading = '', line = ''] = (await report('project', ['--csv'])).out.split('\r\n');
    const cells = new Map(heading.split(',').map((name, index) => [name, line.split(',')[index]]));
    expect(cells.get('energy_seconds_sold')).toBe((65_000 * 60).toString());
    expect(cells.get('bandwidth_seconds_sold')).toBe((BANDWIDTH * 60).toString());
    expect((await report('wallet', [])).out).toMatch(/In hours of one unit of bandwidth:\n\n[^]*167\n/);
    const to = await tomorrow();
    const from = new Date(Date.parse(to) - 3 * 86_400_000).toISOString().slice(0, 10);
    const query = `from=${from}&to=${to}&by=day`;
    const { status, body } = await admin.browser.get(`/api/operator/report?${query}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ total: { energy_hours: '1083', bandwidth_hours: '166', free_top_up_bandwidth: '0' } });
  });

  it.each(['day', 'project'])('by %s counts a kept activation as sold', async (by) => {
    const { total } = await reportBy(by);
    expect(total).toMatchObject({
      revenue_credits: 2 * (RENTED.credits + ACTIVATION_PART.credits),
      refunds_credits: RENTED.credits,
      net_sun: RENTED.sun + 2 * ACTIVATION_PART.sun,
    });
  });
});

it('the ledger names every part, and the part that a refund does not return', async () => {
  const { status, body } = await owner.browser.get(`/api/projects/${customer.merchant}/ledger?limit=100`);
  expect([status, body]).toEqual([200, expect.anything()]);
  const items = body.items as readonly { kind: string; description: string; order_key?: string }[];
  const said = (key: string) =>
    items.filter(({ order_key: of }) => of === key).map(({ kind, description }) => [kind, description]);
  const terms = (receiver: string) =>
    `ental of 65000 energy and 10000 bandwidth for 60 s, with activation, to ${receiver}`;
  expect(said(delivered.key)).toEqual([['charge', `R${terms(delivered.receiver)}`]]);
  expect(said(refunded.key)).toEqual([
    ['refund', `Refund, except for the activation, of the r${terms(refunded.receiver)}`],
    ['charge', `R${terms(refunded.receiver)}`],
  ]);
});

it('an explanation counts only delegations of energy as rented energy', async () => {
  const [rental] = await api.app
    .get(RentalRecords, { strict: false })
    .rentalsAround([customer.merchant], delivered.receiver, Date.now());
  const { delivered_energy: energy } = await bundleOf(delivered.key);
  expect(rental?.delegations.map((each) => each.energy)).toEqual([energy]);
});

describe('orders explain', () => {
  const explained = async (key: string) => {
    const { out, err } = await cli('orders', 'explain', key);
    expect(err).toBe('');
    return out;
  };

  it('shows each part with its price, its leg and its transactions, in 80 columns', async () => {
    const out = await explained(delivered.key);
    expect(out).toMatch(/^Bandwidth +10 000$/m);
    expect(out).toMatch(/^Price of energy +2\.470000 TRX, 7 410 000 \(0\.74 USD\)$/m);
    expect(out).toMatch(/^Price of bandwidth +7\.000000 TRX, 21 000 000 \(2\.10 USD\)$/m);
    expect(out).toMatch(/^Price of activation +1\.200000 TRX, 3 600 000 \(0\.36 USD\)$/m);
    expect(out).toMatch(/its\sbandwidth\sis\srented\stoo/);
    expect(out).toMatch(/part +activation\n/);
    expect(out).toMatch(/part +bandwidth\n/);
    expect(out).toMatch(/built delegate of bandwidth /);
    expect(out).toMatch(/Delivered +[\d ]+ energy, [\d ]+ bandwidth/);
    expect(out.split('\n').filter((line) => line.length > 80 && !/[0-9a-f]{64}|http/.test(line))).toEqual([]);
  });

  it('says that the activation of a refunded order stays charged', async () => {
    const out = await explained(refunded.key);
    expect(out).toMatch(/the charge was returned except for the activation,\swhich is final/);
    expect(out).toMatch(/^Kept +3 600 000 \(0\.36 USD\) for the activation$/m);
  });
});

interface Story {
  readonly sentence: string;
  readonly order: Record<string, unknown>;
  readonly actions: readonly string[];
  readonly timeline: readonly { readonly what: string }[];
  readonly money: Record<string, unknown> & { readonly items?: readonly Record<string, unknown>[] };
  readonly proof: readonly Record<string, unknown>[];
  readonly request: { readonly body: Record<string, unknown> };
  readonly curl: string;
  readonly why_refunded?: { readonly summary: string; readonly evidence: readonly { readonly says: string }[] };
  readonly operator?: { readonly legs: readonly Record<string, unknown>[] };
}

const story = async (account: Account, key: string): Promise<Story> => {
  const { status, body } = await account.browser.get(`/api/projects/${customer.merchant}/orders/${key}`);
  expect(status).toBe(200);
  return body;
};

describe('the order page', () => {
  it('shows the items, which add up to the charge', async () => {
    const { order, money, request, curl } = await story(owner, delivered.key);
    expect(order).toMatchObject({ energy: 65_000, bandwidth: BANDWIDTH, activates: true });
    expect(money.items).toEqual([
      { kind: 'energy', amount: 65_000, price_sun: ENERGY_PART.sun, charged: { credits: 7_410_000, usd: '0.741000' } },
      { kind: 'bandwidth', amount: BANDWIDTH, price_sun: 7_000_000, charged: { credits: 21_000_000, usd: '2.100000' } },
      { kind: 'activation', amount: 1, price_sun: 1_200_000, charged: { credits: 3_600_000, usd: '0.360000' } },
    ]);
    expect(request.body).toMatchObject({ energy: 65_000, bandwidth: BANDWIDTH, activate: true });
    expect(curl).toContain('"bandwidth":10000,"activate":true');
  });

  it('names the resource of each transaction', async () => {
    const { timeline, proof } = await story(owner, delivered.key);
    const said = timeline.map(({ what }) => what.replace(/ in block \d+$/, ' in block'));
    expect(said).toEqual(
      expect.arrayContaining([
        'Activation in block',
        'Delegation of energy in block',
        'Delegation of bandwidth in block',
      ]),
    );
    expect(proof.map(({ purpose, resource }) => [purpose, resource])).toEqual([
      ['activate', undefined],
      ['delegate', 'ENERGY'],
      ['delegate', 'BANDWIDTH'],
    ]);
    expect(proof[2]).toMatchObject({ bandwidth: expect.any(Number) as number });
    expect(proof[2]).not.toHaveProperty('energy');
  });

  it('says which part of a refunded order stays charged', async () => {
    const { sentence, why_refunded: why, money } = await story(owner, refunded.key);
    expect(sentence).toBe('Not delivered; the charge was returned except for the activation, which is final.');
    expect(money).toMatchObject({ kept: { credits: 3_600_000, usd: '0.360000' } });
    const says = why!.evidence.map((each) => each.says);
    expect(says).toContain('$2.841000 returned: the charge without the activation.');
    expect(says).toContain('$0.360000 kept for the activation: it is in a final block.');
    expect(says.join(' ')).not.toContain('full charge');
  });

  it('compares only the energy with burning it', async () => {
    const { money } = await story(owner, delivered.key);
    const { energy_sun: energySun, burning_sun: burning } = money as unknown as Record<string, number>;
    expect(energySun).toBe(ENERGY_PART.sun);
    expect(burning).toBeGreaterThan(0);
  });

  it('shows the operator the part of each leg', async () => {
    const { operator } = await story(admin, delivered.key);
    expect(operator!.legs.map(({ part, bandwidth, energy }) => [part, typeof energy, typeof bandwidth])).toEqual([
      ['activation', 'undefined', 'undefined'],
      ['energy', 'number', 'undefined'],
      ['bandwidth', 'undefined', 'number'],
    ]);
  });

  it('is listed with its parts', async () => {
    const { body } = await owner.browser.get(`/api/projects/${customer.merchant}/orders`);
    const items = body.items as readonly Record<string, unknown>[];
    expect(items.find(({ key }) => key === delivered.key)).toMatchObject({ bandwidth: BANDWIDTH, activates: true });
  });
});

it('the CSV of orders has the parts with their prices and the credits kept', async () => {
  const { text } = await owner.browser.get(`/api/projects/${customer.merchant}/orders.csv`);
  const [heading = '', ...lines] = text.trim().split('\r\n');
  const names = heading.split(',');
  const cells = (key: string) => {
    const line = lines.find((each) => each.includes(`,${key},`))!.split(',');
    return Object.fromEntries(names.map((name, index) => [name, line[index]]));
  };
  expect(cells(delivered.key)).toMatchObject({
    ...{ energy: '65000', bandwidth: '10000', price_trx: '10.670000', activation_price_trx: '1.200000' },
    ...{ bandwidth_price_trx: '7.000000', kept_credits: '' },
  });
  expect(cells(refunded.key)).toMatchObject({ credits: '32010000', kept_credits: '3600000' });
  expect(cells(delivered.key)['txids']!.split(' ')).toHaveLength(3);
});

it('the pool list shows the stake for bandwidth, and how much of it is delegated', async () => {
  await worker.poolSync().syncWallet(pool.address);
  const { wallets } = (await cli('pool', 'list', '--json')).json() as { wallets: readonly Record<string, unknown>[] };
  const wallet = wallets.find(({ address }) => address === pool.address)!;
  const [lent] = await api.database.query<{ sun: bigint }>(
    `SELECT sum(amount_sun)::bigint AS sun FROM leg WHERE kind = 'bandwidth' AND status = 'active'`,
  );
  expect(wallet).toMatchObject({ delegated_bandwidth_sun: Number(lent!.sun), reserved_bandwidth_sun: 0 });
  expect((await cli('pool', 'list')).out).toMatch(/bandwidth: delegated/);
});

describe('the price preview', () => {
  const AT_DURATION = { duration_max_sec: 3600, sun_per_energy: 60 };
  interface Preview {
    readonly before_sun_per_bandwidth?: number;
    readonly table_after: readonly { readonly duration_max_sec: number; readonly sun_per_bandwidth?: number }[];
    readonly effect: {
      readonly orders: number;
      readonly difference: { readonly credits: number };
      readonly too_long: { readonly orders: number };
    };
  }
  const previewOf = async (change: object): Promise<Preview> => {
    const { status, body } = await admin.browser.post('/api/operator/prices/preview', { ...AT_DURATION, ...change });
    expect(status).toBe(200);
    return body;
  };
  const shownIn = ({ table_after: table }: Preview) =>
    table.find(({ duration_max_sec: duration }) => duration === 3600)?.sun_per_bandwidth;

  it('keeps the price of bandwidth in its row, and sells the orders again for the same', async () => {
    const preview = await previewOf({});
    expect([preview.before_sun_per_bandwidth, shownIn(preview)]).toEqual([700, 700]);
    expect(preview.effect).toMatchObject({ orders: 2, difference: { credits: 0 }, too_long: { orders: 0 } });
  });

  it('shows the effect of another price of bandwidth, and of none', async () => {
    const dearer = await previewOf({ sun_per_bandwidth: 800 });
    expect(shownIn(dearer)).toBe(800);
    // 100 sun more for each of 10 000 units in two orders, at 0.3 USD.
    expect(dearer.effect).toMatchObject({ difference: { credits: 6_000_000 } });
    const none = await previewOf({ sun_per_bandwidth: 0 });
    expect(shownIn(none)).toBeUndefined();
    expect(none.effect).toMatchObject({ too_long: { orders: 2 } });
  });
});

it('the database refuses a purchase in a console below the prices of both resources', async () => {
  await api.database.query(`UPDATE api_key SET daily_cap_credits = 1000000000 WHERE project_id = $1`, [
    customer.merchant,
  ]);
  const faultAt = async (priceSun: number, bandwidth: number | null, activation: number | null = null) => {
    // Credits at 0.3 USD.
    const params = [customer.merchant, 65_000, bandwidth, 60, priceSun, priceSun * 3, activation];
    const [row] = await api.database.query<{ fault: string | null }>(
      `SELECT console_purchase_fault((SELECT id FROM api_key WHERE project_id = $1 LIMIT 1), $2, $3, $7, $4, $5, $6, 30000000) AS fault`,
      params,
    );
    return row!.fault;
  };
  expect(await faultAt(ENERGY_PART.sun, null)).toBeNull();
  expect(await faultAt(ENERGY_PART.sun - 1, null)).toBe('QUOTE_EXPIRED');
  expect(await faultAt(RENTED.sun, BANDWIDTH)).toBeNull();
  expect(await faultAt(RENTED.sun - 1, BANDWIDTH)).toBe('QUOTE_EXPIRED');
  const whole = RENTED.sun + ACTIVATION_PART.sun;
  expect(await faultAt(whole, BANDWIDTH, ACTIVATION_PART.sun)).toBeNull();
  expect(await faultAt(whole - 1, BANDWIDTH, ACTIVATION_PART.sun)).toBe('QUOTE_EXPIRED');
  expect(await faultAt(whole, BANDWIDTH, 1)).toBe('QUOTE_EXPIRED');
  await api.database.query(`UPDATE price_row SET sun_per_bandwidth = NULL`);
  expect(await faultAt(10 * RENTED.sun, BANDWIDTH)).toBe('QUOTE_EXPIRED');
  expect(await faultAt(ENERGY_PART.sun, null)).toBeNull();
});
