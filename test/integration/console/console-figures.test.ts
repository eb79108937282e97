// Figures of the consoles' home pages: play money excluded, older rentals not hidden by newer orders, rentals by chain
// time, spending as in the ledger.
import { digestOf } from '../../../src/modules/console/mail-loop.js';
import type { InboxItem, PricePreview } from '../../../src/modules/console/operator-shapes.js';
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { creditsOf, trxOf } from '../../../src/domain/conversion.js';
import { credits, sun, type RateE8 } from '../../../src/domain/units.js';
import { SpanFigures } from '../../../src/modules/console/span-figures.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { seedTestCanaries } from '../../support/cli.js';
import { withKey } from '../../support/api/order-fixture.js';
import { openTestProjectFixture, type TestProjectFixture } from '../../support/api/test-project-fixture.js';

const RENTED = { energy: 65_000, duration_sec: 3600 };
/** As many rows as one page of a list reads. */
const MANY = 20_000;

let fixture: TestProjectFixture;
let operators: TestConsole;
let merchants: TestConsole;
let admin: Account;

beforeAll(async () => {
  fixture = await openTestProjectFixture();
  const url = fixture.env['DATABASE_URL']!;
  await seedTestCanaries(url);
  operators = await openConsole(url, 'operator');
  merchants = await openConsole(url, 'merchant');
  admin = await operators.signedIn('admin');
});

afterAll(async () => {
  await merchants.close();
  await operators.close();
  await fixture.close();
});

const inbox = async (): Promise<InboxItem[]> =>
  (await admin.browser.get('/api/operator/inbox')).body.items as InboxItem[];

/** Inserts rows in a later state, with triggers off. */
async function insert(text: string, params: readonly unknown[]): Promise<void> {
  await fixture.api.database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(text, params);
  });
}

/** Adds newer orders of a project that have ended. */
const addMany = (projectId: string, name: string): Promise<void> =>
  insert(
    `INSERT INTO orders (project_id, key, request_hash, kind, status, settled, receive_address, energy, duration_sec, price_sun,
       credits, trx_usd_e8, created_at, delivered_at, ends_at, reclaimed_at, judged)
     SELECT $1, $2 || n, sha256(''), 'rental', 'delivered', true, 'T', 1, 1, 1, 1, 1, now(), now(), now(), now(), true
       FROM generate_series(1, $3::int) n`,
    [projectId, name, MANY],
  );

it('the operators’ home, inbox and price preview count no play money and no played order', async () => {
  const seen = async () => {
    const home = (await admin.browser.get('/api/operator/home')).body as { owed: { credits: number } };
    const change = { duration_max_sec: 3600, sun_per_energy: 50 };
    const preview = (await admin.browser.post('/api/operator/prices/preview', change)).body as PricePreview;
    const listed = (await admin.browser.get('/api/operator/orders?attention=true')).body as { items: unknown[] };
    const { orders } = preview.effect;
    return { owed: home.owed.credits, inbox: await inbox(), orders, listed: listed.items };
  };
  const before = await seen();
  const customer = await fixture.customer({ balance: 777_000_000n });
  const body = { ...RENTED, receive_address: TEST_ADDRESSES['unresolved then delivered'] };
  expect((await customer.post('/v1/orders', body, withKey('played'))).status).toBe(202);
  await fixture.move();
  await fixture.move();
  expect((await customer.get('/v1/orders/played')).body.status).toBe('unresolved');
  expect(await seen()).toEqual(before);
});

it('an order that needs attention is in the inbox however many follow, and an unresolved one comes first', async () => {
  const live = await fixture.customer({ isTest: false });
  await live.post('/v1/orders', { ...RENTED, receive_address: fixture.receiver() }, withKey('old'));
  const { database } = fixture.api;
  await database.query(`UPDATE orders SET status = 'placed' WHERE key = 'old'`);
  await database.query(`UPDATE orders SET status = 'unresolved', needs_attention = true WHERE key = 'old'`);
  await addMany(live.merchant, 'newer-');
  await insert(
    `INSERT INTO orders (project_id, key, request_hash, kind, status, settled, needs_attention, receive_address, energy,
       duration_sec, price_sun, credits, trx_usd_e8, created_at, judged)
     SELECT $1, 'short-' || n, sha256(''), 'rental', 'delivered', true, true, 'T', 1, 1, 1, 1, 1, now(), true
       FROM generate_series(1, 30) n`,
    [live.merchant],
  );
  const first = (await inbox()).find(({ subject }) => subject?.kind === 'order');
  expect(first).toMatchObject({ severity: 'fault', says: expect.stringContaining('it is unresolved') });
  await insert(`UPDATE orders SET needs_attention = false WHERE project_id = $1`, [live.merchant]);
});

it('unreadable chain fees are a fault in the inbox with the reason, once sales stop for it', async () => {
  const { database } = fixture.api;
  const said = async (): Promise<InboxItem[]> =>
    (await inbox()).filter(({ says }) => says.startsWith('Nothing is being sold'));
  expect(await said()).toEqual([]);
  const failure = JSON.stringify({ cause: 'no-node', reason: 'No TRON node could answer: no answer in time' });
  const insertFailure = `INSERT INTO market_state (name, value, measured_at) VALUES ('chain-failure', $1, clock_timestamp())`;
  await database.query(insertFailure, [failure]);
  expect(await said()).toEqual([]);
  const age = `UPDATE market_state SET measured_at = clock_timestamp() - make_interval(secs => $1), lease_until = 'infinity' WHERE name = 'chain'`;
  await database.query(age, [3600]);
  expect(await said()).toMatchObject([
    {
      severity: 'fault',
      says: expect.stringMatching(
        /^Nothing is being sold: no node has answered \(No TRON node could answer: no answer in time\) since .* UTC\. Check /,
      ),
      outage: true,
      command: 'npm run -s cli -- doctor',
    },
  ]);
  await database.query(age, [0]);
  await database.query(`DELETE FROM market_state WHERE name = 'chain-failure'`);
  expect(await said()).toEqual([]);
});

it('a faulty wallet is one inbox line with the remedy command, also for people mailed only of faults', async () => {
  const { database } = fixture.api;
  const [wallet] = await database.query<{ id: string; address: string }>(
    `SELECT id, address FROM pool_wallet WHERE status = 'active' ORDER BY id LIMIT 1`,
  );
  const linesOf = async (): Promise<InboxItem[]> =>
    (await inbox()).filter(({ subject }) => subject?.kind === 'wallet' && subject.id === wallet!.address);
  for (const column of ['books_fault', 'wallet_fault', 'delivery_fault']) {
    await database.query(`UPDATE pool_wallet SET ${column} = 'it went wrong' WHERE id = $1`, [wallet!.id]);
    const lines = await linesOf();
    expect(lines).toEqual([
      expect.objectContaining({
        severity: 'fault',
        says: `Wallet ${wallet!.address} is not selling: it went wrong`,
        command: 'npm run -s cli -- doctor',
      }),
    ]);
    expect(digestOf(lines, { kinds: ['fault'], noted: [] }).count).toBe(1);
    await database.query(`UPDATE pool_wallet SET ${column} = NULL WHERE id = $1`, [wallet!.id]);
    expect(await linesOf()).toEqual([]);
  }
  const paused = (reason: string | null) =>
    database.query(`UPDATE pool_wallet SET status = $2, pause_reason = $3 WHERE id = $1`, [
      wallet!.id,
      reason === null ? 'active' : 'paused',
      reason,
    ]);
  await paused('a new key');
  expect(await linesOf()).toEqual([expect.objectContaining({ severity: 'warning' })]);
  await paused(null);
});

it('a running rental is on its project’s home however many follow', async () => {
  const customer = await fixture.customer({ isTest: false });
  const running = (key: string, isSettled: boolean) =>
    insert(
      `INSERT INTO orders (project_id, key, request_hash, kind, status, settled, receive_address, energy, duration_sec,
         price_sun, credits, trx_usd_e8, created_at, delivered_at, ends_at, judged)
       VALUES ($1, $2, sha256(''), 'rental', 'delivered', $3, 'T', 7, 1, 1, 1, 1, now(), now(), now() + interval '1 day', true)`,
      [customer.merchant, key, isSettled],
    );
  await running('long', true);
  await addMany(customer.merchant, 'after-');
  await running('fresh', false);
  const owner = await merchants.signedIn('owner', customer.merchant);
  const { body } = await owner.browser.get(`/api/projects/${customer.merchant}/home`);
  const shown = body as { running: { order_key: string }[]; running_more: boolean };
  expect([shown.running.map(({ order_key: key }) => key), shown.running_more]).toEqual([['long', 'fresh'], false]);
});

it('rentals end in the pool’s forecast by the chain’s clock', async () => {
  const { database } = fixture.api;
  const atMost = async (hour: number): Promise<number> =>
    ((await admin.browser.get('/api/operator/pool')).body.forecast as { at_most_sun: number }[])[hour]!.at_most_sun;
  const [nowBefore, dayBefore] = [await atMost(1), await atMost(24)];
  const customer = await fixture.customer({ isTest: false });
  // The chain is a day and a half ahead, and the rental has twelve and a half hours left.
  await insert(
    `INSERT INTO deposit_cursor (block_number, block_id, block_at, read_at)
     VALUES (1, sha256(''), now() + interval '36 hours', now())
     ON CONFLICT (id) DO UPDATE SET block_at = excluded.block_at, read_at = excluded.read_at`,
    [],
  );
  await insert(
    `INSERT INTO orders (id, project_id, key, request_hash, kind, status, settled, receive_address, energy, duration_sec,
       price_sun, credits, trx_usd_e8, created_at, delivered_at, ends_at, judged)
     OVERRIDING SYSTEM VALUE VALUES (900001, $1, 'ahead', sha256(''), 'rental', 'delivered', true, 'T', 7, 1, 1, 1, 1, now(),
       now(), now() + interval '48 hours 30 minutes', true)`,
    [customer.merchant],
  );
  await insert(
    `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status)
     SELECT 900001, 1, 'rental', id, 'T', 5000000, 7, 'active' FROM pool_wallet WHERE status = 'active' ORDER BY id LIMIT 1`,
    [],
  );
  expect([await atMost(12), await atMost(13)]).toEqual([nowBefore, dayBefore + 5_000_000]);
  await database.query(`UPDATE deposit_cursor SET block_at = now(), read_at = now()`);
  expect(await atMost(13)).toBe(nowBefore);
});

it('a rental ends by the time of the chain’s head, ahead of the newest solid block, and a test order by our clock', async () => {
  const [live, played] = [await fixture.customer({ isTest: false }), await fixture.customer()];
  await insert(
    `INSERT INTO deposit_cursor (block_number, block_id, block_at, read_at)
     VALUES (1, sha256(''), now() - interval '50 seconds', now())
     ON CONFLICT (id) DO UPDATE SET block_at = excluded.block_at, read_at = excluded.read_at`,
    [],
  );
  const left = async ({ merchant }: { readonly merchant: string }, isTest: boolean, endsIn: string) => {
    await insert(
      `INSERT INTO orders (project_id, key, request_hash, kind, status, settled, test, receive_address, energy, duration_sec,
         price_sun, credits, trx_usd_e8, created_at, delivered_at, ends_at, judged)
       VALUES ($1, 'ends', sha256(''), 'rental', 'delivered', true, $2, 'T', 7, 1, 1, 1, 1, now(), now(), now() + $3::interval, true)`,
      [merchant, isTest, endsIn],
    );
    const owner = await merchants.signedIn('owner', merchant);
    const { running } = (await owner.browser.get(`/api/projects/${merchant}/home`)).body;
    const { sentence } = (await owner.browser.get(`/api/projects/${merchant}/orders/ends`)).body;
    return { isOver: running[0].left_sec === 0, saysOver: String(sentence).includes('the rental is over') };
  };
  expect(await left(live, false, '-5 seconds')).toEqual({ isOver: true, saysOver: true });
  expect(await left(played, true, '12 hours')).toEqual({ isOver: false, saysOver: false });
  await fixture.api.database.query(`UPDATE deposit_cursor SET block_at = now(), read_at = now()`);
});

it('the pool counts as sold out by concurrent lending, not by the sales of a day', async () => {
  const customer = await fixture.customer({ isTest: false });
  const soldOut = async (): Promise<unknown> => {
    const fresh = await openConsole(fixture.env['DATABASE_URL']!, 'operator');
    const home = (await (await fresh.signedIn('admin')).browser.get('/api/operator/home')).body;
    await fresh.close();
    return home.capacity.sold_out_in_hours;
  };
  const { capacity } = (await admin.browser.get('/api/operator/home')).body;
  // Ended rentals of half the free energy, all day long.
  await insert(
    `INSERT INTO orders (id, project_id, key, request_hash, kind, status, settled, receive_address, energy, duration_sec,
       price_sun, credits, trx_usd_e8, created_at, delivered_at, ends_at, reclaimed_at, judged)
     OVERRIDING SYSTEM VALUE VALUES (900002, $1, 'hourly', sha256(''), 'rental', 'delivered', true, 'T', 7, 3600, 1, 1, 1, now(),
       now(), now(), now(), true)`,
    [customer.merchant],
  );
  await insert(
    `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at)
     SELECT 900002, 1, 'rental', id, 'T', $1::bigint, 7, 'closed', now() - interval '1 hour' FROM pool_wallet
      WHERE status = 'active' AND role = 'pool' ORDER BY id LIMIT 1`,
    [Math.floor(capacity.free_sun * 12)],
  );
  expect(await soldOut()).toBeUndefined();
  await insert(`UPDATE orders SET ends_at = now() + interval '30 days' WHERE id = 900002`, []);
  expect(await soldOut()).toBe(3);
  await insert(`DELETE FROM leg WHERE order_id = 900002`, []);
});

it('a project’s spending of thirty days equals its ledger, with extensions and compensations', async () => {
  const customer = await fixture.customer();
  const order = async (key: string, receiver: string) =>
    customer.post('/v1/orders', { ...RENTED, receive_address: receiver }, withKey(key));
  const kept = await order('kept', TEST_ADDRESSES.delivered);
  await order('back', TEST_ADDRESSES.refunded);
  for (let move = 0; move < 3; move += 1) await fixture.move();
  const extension = await customer.post('/v1/orders/kept/extensions', { duration_sec: 3600 }, withKey('more'));
  expect(extension.status).toBe(200);
  await fixture.move();
  await fixture.api.ledger.compensate(BigInt(kept.body.id as number), credits(1000), AUTHOR);
  const activation = { address: TEST_ADDRESSES['not activated'] };
  const activated = await customer.post('/v1/activate', activation, withKey('activation'));
  expect(activated.status).toBe(202);

  const items = (await customer.get('/v1/ledger')).body.items as { kind: string; credits: number }[];
  const inLedger = items.filter(({ kind }) => kind !== 'topup').reduce((sum, entry) => sum - entry.credits, 0);
  expect(items.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['topup', 'charge', 'refund', 'compensation']));
  const owner = await merchants.signedIn('owner', customer.merchant);
  const { last_30_days: month } = (await owner.browser.get(`/api/projects/${customer.merchant}/home`)).body;
  expect(month).toMatchObject({ spent: { credits: inLedger }, orders: 1, energy: RENTED.energy });
  expect([month.used_energy, month.burning, month.saved]).toEqual([undefined, undefined, undefined]);
  const today = new Date().toISOString().slice(0, 10);
  // Two days if midnight falls between.
  expect(month.days.at(-1).day <= today).toBe(true);
  expect(sumOf(month.days, 'spent')).toBe(inLedger);
});

it('savings are the cost of burning the energy that was used, minus the price, on the home page and the order’s page', async () => {
  const customer = await fixture.customer({ isTest: false });
  const rent = async (key: string): Promise<bigint> => {
    const { body } = await customer.post(
      '/v1/orders',
      { ...RENTED, receive_address: fixture.receiver() },
      withKey(key),
    );
    await insert(`UPDATE orders SET status = 'delivered', delivered_at = now(), ends_at = now() WHERE id = $1`, [
      body.id,
    ]);
    return BigInt(body.id as number);
  };
  const [used, unused] = [await rent('used'), await rent('unused')];
  await insert(`INSERT INTO rental_use VALUES ($1, 64285, 2, 77)`, [used]);
  const [row] = await fixture.api.database.query<{ fee: bigint; rate: bigint; price: bigint; credits: bigint }>(
    `SELECT energy_fee_sun AS fee, trx_usd_e8 AS rate, price_sun AS price, credits FROM orders WHERE id = $1`,
    [used],
  );
  const { fee, rate, price, credits: charged } = row!;
  const burnt = 64_285n * fee;
  const burntCredits = creditsOf(sun(burnt), rate as RateE8);
  const owner = await merchants.signedIn('owner', customer.merchant);
  const { last_30_days: month } = (await owner.browser.get(`/api/projects/${customer.merchant}/home`)).body;
  expect(month).toMatchObject({
    used_energy: 64_285,
    burning: { credits: Number(burntCredits) },
    saved: { credits: Number(burntCredits - 2n * charged) },
  });
  expect(sumOf(month.days, 'saved')).toBe(month.saved.credits);
  const measured = async (key: string): Promise<unknown> =>
    (await owner.browser.get(`/api/projects/${customer.merchant}/orders/${key}`)).body.money.measured;
  const ofUsed = { used_energy: 64_285, calls: 2, last_block: 77, saved_sun: Number(burnt - price) };
  expect(await measured('used')).toMatchObject(ofUsed);
  const ofUnused = { used_energy: 0, calls: 0, saved_sun: -Number(price), saved_trx: trxOf(-price) };
  expect(await measured('unused')).toEqual(ofUnused);
  const page = (await owner.browser.get(`/api/projects/${customer.merchant}/orders/used`)).body;
  expect(page.raw.measured_use).toEqual((await customer.get('/v1/orders/used')).body.measured_use);
  expect(page.raw.measured_use).toMatchObject({ ...ofUsed, is_final: false });
  const statement = async () => (await owner.browser.get(`/api/projects/${customer.merchant}/statement/open`)).body;
  expect((await statement()).measured).toMatchObject({
    used_energy: 64_285,
    burning: { credits: Number(burntCredits) },
    saved: { credits: Number(burntCredits - 2n * charged) },
  });
  // A month is of UTC, from its first microsecond to the first of the next.
  const usedIn = async (month: string) =>
    (await operators.app.get(SpanFigures).savingOf(customer.merchant, month))?.used_energy;
  const chargedAt = async (at: string): Promise<void> =>
    insert(`UPDATE credit_entry SET created_at = $2::timestamptz WHERE order_id = $1`, [used, at]);
  await chargedAt('2025-12-01T00:00:00.000000Z');
  expect([await usedIn('2025-11'), await usedIn('2025-12')]).toEqual([undefined, 64_285]);
  await chargedAt('2025-12-31T23:59:59.999999Z');
  expect([await usedIn('2025-12'), await usedIn('2026-01')]).toEqual([64_285, undefined]);
  await chargedAt('2026-01-01T00:00:00.000000Z');
  expect([await usedIn('2025-12'), await usedIn('2026-01')]).toEqual([undefined, 64_285]);
  await insert(`UPDATE orders SET test = true WHERE id = ANY ($1)`, [[used, unused]]);
  expect([await measured('used'), await usedIn('2026-01')]).toEqual([undefined, undefined]);
});

it('the credits of a project pay for an order if they are the price of an ordinary rental', async () => {
  const customer = await fixture.customer({ isTest: false });
  const owner = await merchants.signedIn('owner', customer.merchant);
  const canPay = async (): Promise<unknown> => {
    const { steps } = (await owner.browser.get(`/api/projects/${customer.merchant}/go-live`)).body;
    return steps.find(({ step }: { step: string }) => step === 'can_pay')?.is_done;
  };
  const { credits: price } = (await customer.post('/v1/quotes', { ...RENTED, receive_address: fixture.receiver() }))
    .body;
  const set = `UPDATE credit_account SET balance_credits = $2 WHERE project_id = $1`;
  await insert(set, [customer.merchant, price - 1]);
  expect(await canPay()).toBe(false);
  await insert(set, [customer.merchant, price]);
  expect(await canPay()).toBe(true);
});

const sumOf = (days: readonly Readonly<Record<string, { readonly credits: number }>>[], figure: string): number =>
  days.reduce((sum, day) => sum + (day[figure]?.credits ?? Number.NaN), 0);

it('the days that a balance lasts are counted from a young project’s first entry', async () => {
  const customer = await fixture.customer();
  const rental = { ...RENTED, receive_address: TEST_ADDRESSES.delivered };
  const { body } = await customer.post('/v1/orders', rental, withKey('first'));
  await insert(`UPDATE credit_entry SET created_at = now() - interval '1 day' WHERE project_id = $1`, [
    customer.merchant,
  ]);
  const owner = await merchants.signedIn('owner', customer.merchant);
  const balance = (await owner.browser.get(`/api/projects/${customer.merchant}/balance`)).body;
  expect(Math.round(balance.spent_per_day.credits / (body.credits as number))).toBe(1);
  expect((await owner.browser.get(`/api/projects/${customer.merchant}/home`)).body.first_steps.topped_up).toBe(true);
});

it('spending is shown immediately and counted once, beside stored sums, and none is older than thirty days', async () => {
  const customer = await fixture.customer();
  const order = async (key: string, ago: string): Promise<number> => {
    const rental = { ...RENTED, receive_address: TEST_ADDRESSES.delivered };
    const { body } = await customer.post('/v1/orders', rental, withKey(key));
    const moved = `UPDATE credit_entry SET created_at = created_at - $2::interval WHERE order_id = $1`;
    await insert(moved, [body.id, ago]);
    return body.credits as number;
  };
  const owner = await merchants.signedIn('owner', customer.merchant);
  const spent = async (): Promise<unknown> =>
    (await owner.browser.get(`/api/projects/${customer.merchant}/home`)).body.last_30_days;
  await order('too old', '31 days');
  const price = await order('an hour ago', '1 hour');
  expect(await spent()).toMatchObject({ spent: { credits: price }, orders: 1, energy: RENTED.energy });
  await order('a second ago', '0 seconds');
  expect(await spent()).toMatchObject({ spent: { credits: 2 * price }, orders: 2, energy: 2 * RENTED.energy });
});

it('finds rare event types behind many others, in steps, and the last page has no cursor', async () => {
  const customer = await fixture.customer();
  const add = (type: string, first: number, last: number): Promise<void> =>
    insert(
      `INSERT INTO event (project_id, type, at, position, payload)
       SELECT $1, $2, now(), n, '{"id":"evt_' || n || '"}' FROM generate_series($3::int, $4::int) n`,
      [customer.merchant, type, first, last],
    );
  await add('order.refunded', 1, 2);
  await add('order.delivered', 3, MANY + 2);
  const owner = await merchants.signedIn('owner', customer.merchant);
  const page = async (cursor = ''): Promise<{ readonly ids: unknown[]; readonly next: string | undefined }> => {
    const path = `/api/projects/${customer.merchant}/events?limit=1&types=order.refunded${cursor}`;
    const { items, next_cursor: next } = (await owner.browser.get(path)).body;
    return { ids: (items as { id: string }[]).map(({ id }) => id), next: next as string | undefined };
  };
  const first = await page();
  expect(first.ids).toEqual([]);
  const second = await page(`&cursor=${first.next ?? ''}`);
  expect(second.ids).toEqual(['evt_2']);
  expect(await page(`&cursor=${second.next ?? ''}`)).toEqual({ ids: ['evt_1'], next: undefined });
});
