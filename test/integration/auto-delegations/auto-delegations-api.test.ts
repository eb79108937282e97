// Settings of an auto-delegation over the API: bounds, results and cost.
import { expectError } from '../../support/api/answers.js';
import {
  BUYING,
  KEEP,
  LEAST,
  LIMIT,
  made,
  openAutoDelegationFixture,
  pathOf,
  PAUSED,
  put,
  WORKED,
  type AutoDelegationFixture,
} from '../../support/api/auto-delegation-fixture.js';
import type { Answer } from '../../support/api/client.js';
import { AUTHOR, openApi } from '../../support/api/factory.js';
import { newAddress } from '../../support/chain/quote-chain.js';
import { until } from '../../support/api/quote-fixture.js';
import type { OrderFixture } from '../../support/api/order-fixture.js';
import { apiKeysOn } from '../../support/api/services.js';

/** The cost of a delegation and its reclaim, plus a tenth. */
const LEAST_PRICE_SUN = 620_400;

let autoDelegations: AutoDelegationFixture;
let fixture: OrderFixture;

beforeAll(async () => {
  autoDelegations = await openAutoDelegationFixture();
  ({ fixture } = autoDelegations);
});

afterAll(() => fixture.close());

/** Sessions that wait for a lock. */
const WAITING = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** Rolls back a transaction and carries the requests that were sent meanwhile. */
class NotKept extends Error {
  constructor(readonly asked: readonly Promise<Answer>[]) {
    super('rolled back');
  }
}

describe('the settings', () => {
  it('have defaults, are read as answered, and make the address due immediately', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const body = await made(customer, address);
    const { idle_cost_credits_per_day: idle, cost_per_refill_credits: refill, durations, ...others } = body;
    const { chosen_duration_sec: chosen, fee_limit_sun: limit, ...rest } = others;
    expect([chosen, limit]).toEqual([86_400, 6_500_000]);
    expect(durations).toHaveLength(7);
    expect(rest).toEqual({
      id: expect.stringMatching(/^auto_[1-9]\d*$/),
      address,
      status: 'active',
      keep_energy: KEEP,
      refill_below: 52_000,
      duration_sec: 86_400,
      daily_cap_credits: 1_000_000_000,
      idle_after_sec: 86_400,
      purchases: 0,
      spent_today_credits: 0,
      created_at: expect.stringMatching(/Z$/),
      changed_at: expect.stringMatching(/Z$/),
    });
    expect([idle, refill]).toEqual([KEEP * 65 * 3, 13_000 * 65 * 3]);
    expect((await customer.get(pathOf(address))).body).toEqual(body);
    expect((await customer.get('/v1/auto-delegations')).body).toEqual({ items: [rest] });
    expect(await autoDelegations.rowOf(customer, address)).toMatchObject({
      api_key_id: customer.merchant,
      is_due: true,
    });
  });

  it('replace all earlier ones, keep id and purchases, and make the address awake and due', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const all = {
      ...LEAST,
      refill_below: 60_000,
      duration_sec: 3600,
      max_sun_per_energy: 70,
      idle_after_sec: 60,
      until: '2096-12-31T12:00:00Z',
    };
    const { id } = await made(customer, address, all);
    await autoDelegations.leave(customer, address, [WORKED, BUYING, PAUSED].join());
    const keys = apiKeysOn(fixture.api.database, fixture.api.app);
    const buyer = await keys.create(customer.merchant, { name: 'buyer', scopes: ['order'] }, AUTHOR);
    const answer = await put(customer.withKey(buyer.apiKey), address);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      ...{ id, status: 'paused', refill_below: 52_000, duration_sec: 86_400, idle_after_sec: 86_400 },
      ...{ purchases: 5, open_order: `${id as string}_5`, spent_today_credits: 900, usable_energy: 12_345 },
      pause: { reason: 'INSUFFICIENT_CREDITS', since: '2026-11-20T11:58:00.000Z' },
      checked_at: '2026-11-20T12:00:03.412Z',
    });
    for (const member of ['max_sun_per_energy', 'until', 'used_at']) expect(answer.body).not.toHaveProperty(member);
    expect(Date.parse(answer.body.changed_at)).toBeGreaterThan(Date.parse(answer.body.created_at));
    expect(await autoDelegations.rowOf(customer, address)).toMatchObject({
      ...{ api_key_id: buyer.id, asleep: false, failures: 0, used_at: null, fence: 8n, is_due: true },
      ...{ pause_reason: 'INSUFFICIENT_CREDITS', spent_credits: 900n, open_order_id: 77n },
    });
    const { body } = await put(customer, address, all);
    expect(body).toMatchObject({ ...all, until: '2096-12-31T12:00:00.000Z' });
    expect(body).not.toHaveProperty('chosen_duration_sec');
  });

  it('are one row for concurrent requests, and concurrent requests respect the project’s limit', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const same = await Promise.all(Array.from({ length: 8 }, () => put(customer, address)));
    expect(same.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    const more = await Promise.all(Array.from({ length: LIMIT + 2 }, () => put(customer, autoDelegations.receiver())));
    expect(more.filter(({ status }) => status === 201)).toHaveLength(LIMIT - 1);
    for (const answer of more.filter(({ status }) => status !== 201)) expectError(answer, 'LIMIT_REACHED');
    expect((await put(customer, address)).status).toBe(200);
    expect((await customer.request('DELETE', pathOf(address))).status).toBe(204);
    expect((await put(customer, autoDelegations.receiver())).status).toBe(201);
  });

  it('are counted one after the other: one of two concurrent requests gets the last place', async () => {
    const customer = await autoDelegations.newCustomer();
    const { database } = fixture.api;
    for (let count = 1; count < LIMIT; count += 1) await made(customer, autoDelegations.receiver());
    const two = [autoDelegations.receiver(), autoDelegations.receiver()];
    const answers = await database
      .transaction(async (tx) => {
        // Uncommitted rows: the requests cannot know yet if these rows will exist.
        await tx.query(
          `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
             daily_cap_credits, idle_after_sec) SELECT $1, a, $1, 1, 1, 1, 1, 1 FROM unnest($2::text[]) a`,
          [customer.merchant, two],
        );
        const asked = two.map((address) => put(customer, address));
        await until(
          () => database.query(WAITING),
          (waiting) => waiting.length === two.length,
        );
        throw new NotKept(asked);
      })
      .catch(async (error: unknown) => {
        if (!(error instanceof NotKept)) throw error;
        return Promise.all(error.asked);
      });
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('are rejected with the invalid member', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const refused = async (more: object, field: string, to = address): Promise<void> => {
      const answer = await put(customer, to, { ...LEAST, ...more });
      expectError(answer, 'INVALID_REQUEST');
      expect(answer.body.details[0].field).toBe(field);
    };
    await refused({ keep_energy: 999 }, 'keep_energy');
    await refused({ keep_energy: 100_000_001 }, 'keep_energy');
    await refused({ keep_energy: null }, 'keep_energy');
    await refused({ refill_below: 0 }, 'refill_below');
    await refused({ refill_below: KEEP + 1 }, 'refill_below');
    await refused({ duration_sec: 299 }, 'duration_sec');
    await refused({ duration_sec: 2_592_001 }, 'duration_sec');
    await refused({ max_sun_per_energy: 0 }, 'max_sun_per_energy');
    await refused({ daily_cap_credits: undefined }, 'daily_cap_credits');
    await refused({ daily_cap_credits: -1 }, 'daily_cap_credits');
    await refused({ idle_after_sec: 59 }, 'idle_after_sec');
    await refused({ idle_after_sec: 31_536_001 }, 'idle_after_sec');
    for (const until of ['2096-12-31', '2096-12-31T12:00:00+01:00', '2096-02-30T12:00:00Z', 'soon', 5]) {
      await refused({ until }, 'until');
    }
    await refused({ until: '2020-01-01T00:00:00Z' }, 'until');
    await refused({ energy: 1 }, 'energy');
    await refused({}, 'address', 'T-no-address');
    await refused({}, 'address', `${address.slice(0, -1)}0`);
    // Checked before the price, which would refuse such a small amount.
    await refused({ keep_energy: 1000 }, 'address', 'T-no-address');
    await refused({ keep_energy: 1000, until: '2020-01-01T00:00:00Z' }, 'until');
    expect(await autoDelegations.rowOf(customer, address)).toBeUndefined();
    const bounds = { refill_below: KEEP, daily_cap_credits: 0, idle_after_sec: 60, max_sun_per_energy: 1 };
    await made(customer, address, bounds);
  });

  it('accept the longest rental on sale if that is shorter than a day', async () => {
    const customer = await autoDelegations.newCustomer();
    const { database } = fixture.api;
    const rows = await database.query<{ duration_max_sec: number; sun_per_energy: bigint }>('SELECT * FROM price_row');
    await database.query('DELETE FROM price_row WHERE duration_max_sec > 3600');
    try {
      const address = autoDelegations.receiver();
      const answer = await until(
        () => put(customer, address),
        ({ body }) => body.duration_sec !== 86_400,
      );
      expect(answer.body.duration_sec).toBe(3600);
      expectError(await put(customer, address, { ...LEAST, duration_sec: 3601 }), 'INVALID_REQUEST');
    } finally {
      for (const { duration_max_sec: sec, sun_per_energy: price } of rows) {
        await database.query('INSERT INTO price_row VALUES ($1, $2) ON CONFLICT DO NOTHING', [sec, price]);
      }
      const address = autoDelegations.receiver();
      await until(
        () => put(customer, address),
        ({ body }) => body.duration_sec === 86_400,
      );
    }
  });
});

describe('the receiver', () => {
  it('must be an activated account, no contract and no address of the service', async () => {
    const customer = await autoDelegations.newCustomer();
    expectError(await put(customer, newAddress()), 'RECEIVER_NOT_ACTIVATED');
    expectError(await put(customer, fixture.chain.token), 'RECEIVER_NOT_SUPPORTED');
    expectError(await put(customer, fixture.chain.pool.address), 'RECEIVER_NOT_SUPPORTED');
    expect((await customer.get('/v1/auto-delegations')).body).toEqual({ items: [] });
  });
});

describe('the costs', () => {
  it('are the price of the kept energy by the day, and of a worthwhile refill', async () => {
    const customer = await autoDelegations.newCustomer();
    const costsOf = (body: Answer['body']) => [body.idle_cost_credits_per_day, body.cost_per_refill_credits];
    const hourly = await made(customer, autoDelegations.receiver(), { duration_sec: 3600 });
    expect(costsOf(hourly)).toEqual([KEEP * 45 * 3 * 24, LEAST_PRICE_SUN * 3]);
    const odd = await made(customer, autoDelegations.receiver(), { keep_energy: 65_001, duration_sec: 86_399 });
    expect(costsOf(odd)[0]).toBe(Math.ceil((65_001 * 65 * 3 * 86_400) / 86_399));
    const crumbs = await made(customer, autoDelegations.receiver(), { refill_below: KEEP, duration_sec: 3600 });
    const quote = await customer.post('/v1/quotes', { receive_address: autoDelegations.receiver(), energy: 1000 });
    expectError(quote, 'NOT_WORTH_RENTING');
    const least = Number(/is (\d+) energy/.exec(quote.body.msg)![1]);
    const asOrder = await customer.post('/v1/quotes', { receive_address: autoDelegations.receiver(), energy: least });
    expect(costsOf(crumbs)[1]).toBe(asOrder.body.credits);
  });

  it('of a use are those of each duration that can be bought, by the uses of whole days until some are measured', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const { durations } = await made(customer, address);
    const DAY = 86_400;
    const row = (duration_sec: number, sun_per_energy: number, expected_uses: number) => ({
      ...{ duration_sec, sun_per_energy, expected_uses, price_sun: KEEP * sun_per_energy },
      price_per_use_sun: Math.ceil((KEEP * sun_per_energy) / expected_uses),
    });
    const long = [row(3 * DAY, 150, 3), row(7 * DAY, 315, 7), row(14 * DAY, 600, 14), row(30 * DAY, 1200, 30)];
    expect(durations).toEqual([row(600, 38, 1), row(3600, 45, 1), row(DAY, 65, 1), ...long]);
    // The maximum is the price of a rental, not of a use of it.
    const short = [row(600, 38, 1), row(3600, 45, 1)];
    const cheap = await made(customer, autoDelegations.receiver(), { max_sun_per_energy: 64 });
    expect(cheap.durations).toEqual(short);
    const highest = await made(customer, autoDelegations.receiver(), { max_sun_per_energy: 65 });
    expect(highest.durations).toEqual([...short, row(DAY, 65, 1)]);
  });

  it('of a use follow the measured uses, which also choose the duration', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    await made(customer, address);
    const { timestamp } = (await customer.get('/v1/limits')).body;
    const today = timestamp.slice(0, 10) as string;
    await autoDelegations.leave(customer, address, `uses_on = '${today}', daily_uses = '{9,2,5,0,3,2,1,1,4,2}'`);
    const { body } = await customer.get(pathOf(address));
    expect(body).toMatchObject({ measured_uses: { days: 9, used_days: 8, uses: 20 }, chosen_duration_sec: 7 * 86_400 });
    const week = (of: Answer['body']) => of.durations.find((row: Answer['body']) => row.duration_sec === 7 * 86_400);
    expect(week(body)).toMatchObject({ expected_uses: 6, price_per_use_sun: (KEEP * 315) / 6 });
    const explicit = (await put(customer, address, { ...LEAST, duration_sec: 3600 })).body;
    expect(week(explicit)).toEqual(week(body));
    expect(explicit).toMatchObject({ duration_sec: 3600, measured_uses: body.measured_uses });
    expect(explicit).not.toHaveProperty('chosen_duration_sec');
    // Beside a week, the cap of the day leaves no room for the most uses of a day, or the auto-delegation ends before.
    const perDay = KEEP * 65 * 3;
    const chosenWith = async (changes: string): Promise<unknown> => {
      await autoDelegations.leave(customer, address, changes);
      return (await customer.get(pathOf(address))).body.chosen_duration_sec;
    };
    const capped = (cap: number) => `auto_duration = true, duration_sec = 86400, daily_cap_credits = ${cap.toString()}`;
    expect(await chosenWith(capped(KEEP * 315 * 3 + 5 * perDay))).toBe(7 * 86_400);
    expect(await chosenWith(capped(KEEP * 315 * 3 + 5 * perDay - 1))).not.toBe(7 * 86_400);
    const ending = (days: number) =>
      `until = '${timestamp as string}'::timestamptz + interval '${days.toString()} days'`;
    expect(await chosenWith(`${capped(10 ** 12)}, ${ending(8)}`)).toBe(7 * 86_400);
    expect(await chosenWith(ending(6))).not.toBe(7 * 86_400);
    expect(await chosenWith('until = NULL, auto_duration = false')).toBeUndefined();
    const [listed] = (await customer.get('/v1/auto-delegations')).body.items;
    expect(listed).toMatchObject({ measured_uses: body.measured_uses });
    expect(listed).not.toHaveProperty('durations');
  });

  it('never reject a price that is too high, or an amount beyond the pool, for the moment', async () => {
    const customer = await autoDelegations.newCustomer();
    expect(await made(customer, autoDelegations.receiver(), { max_sun_per_energy: 1 })).toMatchObject({
      status: 'active',
    });
    const { database } = fixture.api;
    const sells = (until: string) => database.query(`UPDATE pool_wallet SET sells_until = ${until}`);
    await sells(`clock_timestamp() - interval '1 second'`);
    try {
      const ask = () => customer.post('/v1/quotes', { receive_address: autoDelegations.receiver(), energy: KEEP });
      await until(ask, ({ body }) => body.error === 'CAPACITY_UNAVAILABLE');
      expect(await made(customer, autoDelegations.receiver())).toHaveProperty('cost_per_refill_credits');
    } finally {
      await sells(`clock_timestamp() + interval '1 day'`);
    }
  });

  it('reject an amount that is not worth renting, as for an order', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const terms = { keep_energy: 1000, daily_cap_credits: 1, duration_sec: 3600 };
    const answer = await put(customer, address, terms);
    expectError(answer, 'NOT_WORTH_RENTING');
    const order = await customer.post('/v1/orders', { receive_address: address, energy: 1000, duration_sec: 3600 });
    expect(answer.body.msg).toBe(order.body.msg);
  });

  it('are unknown while the chain’s state is: nothing can be set then, and settings are shown without costs', async () => {
    const away = 'http://127.0.0.1:1';
    const nodes = { TRON_FULL_NODE_URLS: away, TRON_SOLIDITY_NODE_URLS: away, LOG_LEVEL: 'silent' };
    const market = { MARKET_MAX_AGE_SEC: '1', MARKET_REFRESH_SEC: '3600' };
    const customer = await autoDelegations.newCustomer();
    const [address, spare] = [autoDelegations.receiver(), autoDelegations.receiver()];
    const body = await made(customer, address, { until: '2096-12-31T12:00:00Z' });
    const frail = await openApi({ ...fixture.env, ...nodes, ...market });
    try {
      const apart = customer.at(frail.baseUrl);
      const answer = await until(
        () => put(apart, spare),
        ({ status }) => status >= 400,
      );
      expectError(answer, 'CHAIN_UNAVAILABLE');
      const { idle_cost_credits_per_day: _idle, cost_per_refill_credits: _refill, durations: _rows, ...others } = body;
      const { chosen_duration_sec: _chosen, fee_limit_sun: _limit, ...rest } = others;
      const read = (await apart.get(pathOf(address))).body;
      expect(read).toEqual({ ...rest, changed_at: read.changed_at });
      // Without the chain's clock, `until` is compared with the database's clock.
      await autoDelegations.leave(customer, address, `until = clock_timestamp() - interval '1 second'`);
      expect((await apart.get(pathOf(address))).body.status).toBe('ended');
    } finally {
      await frail.close();
    }
  });
});
