// Quotes and orders that ask for bandwidth and an activation beside energy: one price with its items, one key, and one
// charge.
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { HmacCustomer, type Answer, type Customer } from '../../support/api/client.js';
import { BANDWIDTH_PRICE, sellBandwidth } from '../../support/api/bandwidth-sale.js';
import { makeCustomer } from '../../support/api/factory.js';
import { balanceOf, expectRefusal, withKey } from '../../support/api/order-fixture.js';
import { openTestProjectFixture, type TestProjectFixture } from '../../support/api/test-project-fixture.js';
import { newOwner } from '../../support/chain/order-chain.js';

const ENERGY = 65_000;
const BANDWIDTH = 10_000;
const ITEMS = [
  { kind: 'energy', amount: ENERGY, price_sun: 2_925_000, credits: 8_775_000 },
  { kind: 'bandwidth', amount: BANDWIDTH, price_sun: 7_000_000, credits: 21_000_000 },
  { kind: 'activation', amount: 1, price_sun: 1_200_000, credits: 3_600_000 },
];
const TOTAL = { price_sun: 11_125_000, credits: 33_375_000 };
const HOUR = 3600;

let fixture: TestProjectFixture;
let customer: Customer;

beforeAll(async () => {
  fixture = await openTestProjectFixture({ MARKET_REFRESH_SEC: '1' });
  await sellBandwidth(fixture);
  customer = await makeCustomer(fixture.api);
});

afterAll(() => fixture.close());

type Extra = Readonly<Record<string, unknown>>;

const query = async (text: string): Promise<unknown> => fixture.api.database.query(text);
const quote = async (extra: Extra): Promise<Answer> =>
  customer.post('/v1/quotes', { receive_address: fixture.receiver(), energy: ENERGY, ...extra });
const order = async (extra: Extra, key: string): Promise<Answer> =>
  customer.post('/v1/orders', { receive_address: fixture.receiver(), energy: ENERGY, ...extra }, withKey(key));
const ownExtra = (bandwidth?: number) => ({ receive_address: newOwner().address, bandwidth, activate: true });

/** Expects a refusal that charges nothing, reserves nothing and leaves the key free. */
async function expectUntouched(ask: () => Promise<Answer>, status: number, code: string): Promise<Answer> {
  const state = async () => [
    await balanceOf(customer),
    await query(`SELECT sum(free_sun)::bigint AS energy, sum(free_bandwidth_sun)::bigint AS bandwidth,
                   sum(free_transactions)::bigint AS transactions FROM pool_slot`),
    await query(`SELECT count(*) FROM orders`),
  ];
  const before = await state();
  const answer = await ask();
  expectRefusal(answer, status, code);
  expect(await state()).toEqual(before);
  return answer;
}

describe('a quote', () => {
  test('has one price with its items, and compares it with burning TRX for all of them', async () => {
    const { status, body } = await quote({ bandwidth: BANDWIDTH, activate: true });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...TOTAL,
      energy: ENERGY,
      bandwidth: BANDWIDTH,
      items: ITEMS,
      price_trx: '11.125000',
      burn_price_sun: 6_500_000 + BANDWIDTH * 1000 + 1_100_000,
      saving_trx: '6.475000',
      fee_limit_sun: 6_500_000,
    });
    expect(body.saving_credits).toBe(body.burn_price_credits - body.credits);
    expect(body.ref).toMatch(/^[A-Za-z0-9_-]{1,512}$/);
  });

  test('of energy alone has no items, with or without an explicit default', async () => {
    const { body: plain } = await quote({});
    expect(plain).not.toHaveProperty('items');
    expect(plain).not.toHaveProperty('bandwidth');
    for (const activate of [false, null]) {
      const { body: told } = await quote({ activate });
      expect(Object.keys(told)).toEqual(Object.keys(plain));
      expect([told.price_sun, told.burn_price_sun]).toEqual([plain.price_sun, plain.burn_price_sun]);
    }
  });

  test('sizes the energy of a bundle as it sizes energy alone', async () => {
    const { body } = await quote({ energy: undefined, bandwidth: BANDWIDTH });
    const { body: plain } = await quote({ energy: undefined });
    expect(body.items.map(({ kind, amount }: Extra) => [kind, amount])).toEqual([
      ['energy', plain.energy],
      ['bandwidth', BANDWIDTH],
    ]);
    expect(body.items[0].price_sun).toBe(plain.price_sun);
  });

  test.each([
    ['bandwidth', 344],
    ['bandwidth', 10_000_001],
    ['bandwidth', 400.5],
    ['bandwidth', '400'],
    ['bandwidth', null],
    ['activate', 'true'],
    ['activate', 1],
  ])('is refused for its %s: %p', async (field, value) => {
    for (const answer of [await quote({ [field]: value }), await order({ [field]: value }, 'malformed')]) {
      expectRefusal(answer, 400, 'INVALID_REQUEST');
      expect(answer.body.details?.[0].field).toBe(field);
    }
  });

  test('is refused where no row sells bandwidth for so long', async () => {
    const { status, body } = await quote({ bandwidth: BANDWIDTH, duration_sec: HOUR + 1 });
    expect({ status, details: body.details }).toEqual({
      status: 400,
      details: [{ field: 'bandwidth', msg: 'is not on sale for this duration' }],
    });
    // A shorter rental has the price of the shortest row with one.
    const { body: shorter } = await quote({ bandwidth: BANDWIDTH, duration_sec: 600 });
    expect(shorter.items[1].price_sun).toBe(BANDWIDTH * BANDWIDTH_PRICE);
    await expectUntouched(
      () => order({ bandwidth: BANDWIDTH, duration_sec: HOUR + 1 }, 'long'),
      400,
      'INVALID_REQUEST',
    );
  });

  test('is not worth renting below the floor of its bandwidth, and names the least amount that is', async () => {
    const { body: limits } = await customer.get('/v1/limits');
    const floor = limits.price_floor_sun as number;
    const least = Math.floor(floor / 1000) + 1;
    const refused = await quote({ bandwidth: least - 1 });
    expectRefusal(refused, 409, 'NOT_WORTH_RENTING');
    expect(refused.body.msg).toContain(`The smallest amount worth renting is ${least.toString()} units.`);
    const { body } = await quote({ bandwidth: least });
    expect(body.items[1]).toMatchObject({ amount: least, price_sun: floor });
    await expectUntouched(() => order({ bandwidth: least - 1 }, 'little'), 409, 'NOT_WORTH_RENTING');
  });

  test('does not let cheap bandwidth hide energy that is not worth renting', async () => {
    expectRefusal(await quote({ energy: 1000, bandwidth: BANDWIDTH }), 409, 'NOT_WORTH_RENTING');
  });
});

describe('an order', () => {
  test('is charged once for all parts, and tells them ever after', async () => {
    const before = await balanceOf(customer);
    const receiver = newOwner().address;
    const bought = { receive_address: receiver, bandwidth: BANDWIDTH, activate: true };
    const { status, body } = await order(bought, 'all');
    expect(status).toBe(202);
    const told = { ...TOTAL, kind: 'rental', energy: ENERGY, bandwidth: BANDWIDTH, items: ITEMS };
    expect(body).toMatchObject(told);
    expect(before - (await balanceOf(customer))).toBe(TOTAL.credits);
    expect((await customer.get('/v1/orders/all')).body).toMatchObject(told);
    expect((await customer.get('/v1/orders?limit=1')).body.items[0]).toMatchObject(told);
    expect(
      await query(`SELECT kind, count(*)::int FROM leg WHERE receive_address = '${receiver}' GROUP BY 1 ORDER BY 1`),
    ).toEqual([
      { kind: 'activation', count: 1 },
      { kind: 'bandwidth', count: 1 },
      { kind: 'rental', count: 1 },
    ]);
  });

  test('belongs to its key with its bandwidth and its activation', async () => {
    const { body: first } = await order({ bandwidth: BANDWIDTH }, 'kept');
    const again = await order({ bandwidth: BANDWIDTH, activate: false, duration_sec: HOUR }, 'kept');
    expect([again.status, again.headers['idempotency-replayed'], again.body.id]).toEqual([202, 'true', first.id]);
    for (const other of [{}, { bandwidth: BANDWIDTH + 1 }, { bandwidth: BANDWIDTH, activate: true }]) {
      await expectUntouched(() => order(other, 'kept'), 422, 'IDEMPOTENCY_KEY_REUSED');
    }
    expect((await order({}, 'plain')).status).toBe(202);
    await expectUntouched(() => order({ bandwidth: BANDWIDTH }, 'plain'), 422, 'IDEMPOTENCY_KEY_REUSED');
  });

  test('by a quote pays its price, and may name no other parts', async () => {
    const asked = ownExtra(BANDWIDTH);
    const { body: quoted } = await quote(asked);
    const redeem = async (extra: Extra, key = 'quoted') =>
      customer.post('/v1/orders', { quote_ref: quoted.ref, ...extra }, withKey(key));
    for (const [field, wrong] of Object.entries({ bandwidth: BANDWIDTH + 1, activate: false })) {
      const refused = await expectUntouched(() => redeem({ [field]: wrong }), 409, 'QUOTE_MISMATCH');
      expect(refused.body.msg).toContain(field);
    }
    const before = await balanceOf(customer);
    const { status, body } = await redeem({ bandwidth: BANDWIDTH, activate: true });
    expect([status, body.items]).toEqual([202, ITEMS]);
    expect(before - (await balanceOf(customer))).toBe(quoted.credits);
    const replay = await redeem({});
    expect([replay.headers['idempotency-replayed'], replay.body.id]).toEqual(['true', body.id]);
    expectRefusal(await redeem({}, 'second'), 409, 'QUOTE_ALREADY_USED');

    const { body: plain } = await quote({});
    const more = async (extra: Extra) =>
      customer.post('/v1/orders', { quote_ref: plain.ref, ...extra }, withKey('more'));
    expectRefusal(await more({ bandwidth: BANDWIDTH }), 409, 'QUOTE_MISMATCH');
    expectRefusal(await more({ activate: true }), 409, 'QUOTE_MISMATCH');
    expect((await more({ activate: false })).body).not.toHaveProperty('items');
  });

  test('activates only a receiver that does not exist, and says how to go on', async () => {
    const { body } = await expectUntouched(
      () => order({ receive_address: newOwner().address, bandwidth: BANDWIDTH }, 'free'),
      409,
      'RECEIVER_NOT_ACTIVATED',
    );
    expect(body.msg).toContain('activate: true');
    await expectUntouched(() => order({ bandwidth: BANDWIDTH, activate: true }, 'free'), 409, 'ALREADY_ACTIVATED');
    const { body: quoted } = await quote({ activate: true });
    const redeem = async () => customer.post('/v1/orders', { quote_ref: quoted.ref }, withKey('free'));
    await expectUntouched(redeem, 409, 'ALREADY_ACTIVATED');
    const { status, body: made } = await order(ownExtra(), 'free');
    expect([status, made.items]).toEqual([202, [ITEMS[0], ITEMS[2]]]);
  });

  test('takes nothing when one part has no capacity', async () => {
    const { body: quoted } = await quote({ bandwidth: BANDWIDTH });
    await query(`CREATE TABLE kept_slots AS SELECT * FROM pool_slot`);
    await query(`UPDATE pool_slot SET free_bandwidth_sun = 0`);
    try {
      await expectUntouched(() => order({ bandwidth: BANDWIDTH }, 'short'), 503, 'CAPACITY_UNAVAILABLE');
      const redeem = async () => customer.post('/v1/orders', { quote_ref: quoted.ref }, withKey('short'));
      await expectUntouched(redeem, 503, 'CAPACITY_UNAVAILABLE');
      expect((await order({}, 'energy-alone')).status).toBe(202);
    } finally {
      await query(`UPDATE pool_slot s SET free_bandwidth_sun = k.free_bandwidth_sun FROM kept_slots k
                    WHERE (k.wallet_id, k.slot_no) = (s.wallet_id, s.slot_no)`);
      await query(`DROP TABLE kept_slots`);
    }
    expect((await customer.post('/v1/orders', { quote_ref: quoted.ref }, withKey('short'))).status).toBe(202);
  });

  test('of a client of the family has the same members', async () => {
    const renter = new HmacCustomer(fixture.api.baseUrl, customer.merchant, customer.apiKey);
    const asked = { receive_address: fixture.receiver(1), energy: ENERGY, bandwidth: BANDWIDTH };
    const { body: quoted } = await renter.post('/v1/energy/quote', asked);
    expect(quoted.items).toEqual(ITEMS.slice(0, 2));
    expect((await renter.post('/v1/orders', asked, withKey('family'))).status).toBe(202);
    const { body } = await renter.post('/v1/energy/order', { key: 'family' });
    expect(body).toMatchObject({ status: 'unresolved', bandwidth: BANDWIDTH, items: ITEMS.slice(0, 2) });
    await fixture.refund(customer, 'family');
    const { body: refused } = await renter.post('/v1/energy/order', { key: 'family' });
    expect(refused).toMatchObject({ status: 'refused', bandwidth: BANDWIDTH });
    expect(refused).not.toHaveProperty('items');
  });
});

describe('of a test project', () => {
  const buy = async (tester: HmacCustomer, receiver: string) =>
    tester.post(
      '/v1/orders',
      { receive_address: receiver, energy: ENERGY, bandwidth: BANDWIDTH, activate: true },
      withKey('played'),
    );

  test('an order plays all of its parts, and its events tell them', async () => {
    const tester = await fixture.customer();
    const { status, body } = await buy(tester, TEST_ADDRESSES['not activated']);
    expect(status).toBe(202);
    expect(body).toMatchObject({ ...TOTAL, items: ITEMS, bandwidth: BANDWIDTH, test: true });
    expect(body).not.toHaveProperty('delivered_bandwidth');
    while ((await fixture.move()) > 0);
    const { body: done } = await tester.get('/v1/orders/played');
    expect(done).toMatchObject({ delivered_energy: ENERGY, delivered_bandwidth: BANDWIDTH, delegations: [] });
    const events = await fixture.eventsOf(tester);
    expect(events.map(({ type }) => type)).toEqual([
      'order.created',
      'order.delivered',
      'order.settled',
      'order.ended',
    ]);
    for (const { data } of events) expect(data.order).toMatchObject({ bandwidth: BANDWIDTH, items: ITEMS });
    expect(events[1]!.data.order).toMatchObject({ delivered_bandwidth: BANDWIDTH });
  });

  test('a refunded order returns the whole charge, because nothing was activated', async () => {
    const tester = await fixture.customer();
    await buy(tester, TEST_ADDRESSES.refunded);
    while ((await fixture.move()) > 0);
    const { body } = await tester.get('/v1/orders/played');
    expect(body).toMatchObject({ status: 'refunded', items: ITEMS });
    expect(body).not.toHaveProperty('kept_credits');
    expect(await balanceOf(tester)).toBe(1_000_000_000);
  });
});

test('the limits name the bandwidth on sale: the maximum is sold in one order, and hardly more', async () => {
  const rich = await makeCustomer(fixture.api, 1_000_000_000_000_000n);
  await query(`UPDATE pool_slot s SET free_bandwidth_sun = CASE WHEN s.slot_no = (SELECT min(slot_no) FROM pool_slot)
                 AND w.role = 'pool' THEN 3_000_000 ELSE 0 END FROM pool_wallet w WHERE w.id = s.wallet_id`);
  // A reading of the pool is kept for a second.
  await new Promise((resolve) => setTimeout(resolve, 1050));
  const { body } = await rich.get('/v1/limits');
  expect(body.burn_price_sun_per_bandwidth).toBe(1000);
  const of = (seconds: number) => body.durations.find((row: Extra) => row['max_duration_sec'] === seconds);
  const { max_bandwidth: most, ...hour } = of(HOUR);
  expect(hour).toMatchObject({ sun_per_bandwidth: BANDWIDTH_PRICE, min_bandwidth: 621 });
  expect(of(600)).toMatchObject({ sun_per_bandwidth: BANDWIDTH_PRICE });
  expect(Object.keys(of(86_400)).filter((member) => member.includes('bandwidth'))).toEqual([]);
  const buy = async (bandwidth: number) =>
    rich.post('/v1/orders', { receive_address: fixture.receiver(), energy: ENERGY, bandwidth });
  expectRefusal(await buy(Math.ceil(most * 1.0002) + 40), 503, 'CAPACITY_UNAVAILABLE');
  expect((await buy(most)).status).toBe(202);
});

test('a pool without stake for bandwidth refuses quotes and orders of it, and sells energy alone', async () => {
  await query(`UPDATE pool_wallet SET staked_bandwidth_sun = 0`);
  await query(`UPDATE pool_slot SET free_bandwidth_sun = 0`);
  let refused = await quote({ bandwidth: BANDWIDTH });
  for (let look = 0; look < 100 && refused.status === 200; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    refused = await quote({ bandwidth: BANDWIDTH });
  }
  expectRefusal(refused, 503, 'CAPACITY_UNAVAILABLE');
  expect(refused.body.msg).toContain('Order without bandwidth');
  await expectUntouched(() => order({ bandwidth: BANDWIDTH }, 'none'), 503, 'CAPACITY_UNAVAILABLE');
  expect((await order({}, 'none')).status).toBe(202);
});
