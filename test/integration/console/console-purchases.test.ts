// Purchases in the merchants' console: once for each form, within the cap that an owner set.
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { openFaultyProxy } from '../../support/api/faulty-proxy.js';
import type { HmacCustomer } from '../../support/api/client.js';
import { AUTHOR } from '../../support/api/factory.js';
import { settleOrder, withKey } from '../../support/api/order-fixture.js';
import { Browser, type Account, type Answer } from '../../support/console/console-fixture.js';
import {
  formKey,
  openPurchaseFixture,
  PRICE,
  purchasePath,
  PURCHASES_LIMIT_MS,
  refusalOf,
  setCap,
  type Buyer,
  type PurchaseFixture,
} from '../../support/console/purchase-fixture.js';

let shop: PurchaseFixture;
let mine: Buyer;

beforeAll(async () => {
  shop = await openPurchaseFixture();
  mine = await shop.opened();
}, PURCHASES_LIMIT_MS);

afterAll(() => shop.close(), PURCHASES_LIMIT_MS);

const orderOf = async (key: string) => {
  const [order] = await shop.query<{ id: bigint; status: string; credits: bigint }>(
    'SELECT id, status, credits FROM orders WHERE key = $1',
    [key],
  );
  return order;
};

describe('the cap', () => {
  it('is none at first, and nothing is bought until an owner sets it', async () => {
    const of = await shop.project();
    const by = await shop.join(of);
    const before = await by.browser.get(purchasePath(of));
    expect([before.status, before.body.cap]).toEqual([200, undefined]);
    const preview = await by.browser.post(purchasePath(of, '/preview'), shop.wanted());
    expect(preview.body.obstacle).toMatch(/An owner sets a daily cap/);
    const none = await shop.buy({ of, by });
    expect(refusalOf(none)).toEqual([402, 'SPEND_CAP_REACHED']);
    expect(none.body.msg).toMatch(/An owner sets a daily cap/);
    expect(await shop.charges(of)).toEqual([]);
    expect((await setCap({ of, by }, PRICE)).body.cap).toMatchObject({
      daily: { credits: PRICE },
      left: { credits: PRICE },
    });
    const acts = await shop.query(
      `SELECT actor, reason FROM audit_log WHERE subject = $1 AND action = 'key.console_cap'`,
      [of.merchant],
    );
    expect(acts).toEqual([{ actor: by.email, reason: 'in the merchants’ console' }]);
    expect((await shop.buy({ of, by })).status).toBe(200);
    const over = await shop.buy({ of, by });
    expect(refusalOf(over)).toEqual([402, 'SPEND_CAP_REACHED']);
    expect(over.body.msg).toMatch(/daily cap of purchases in the console leaves \$0\.000000/);
    await setCap({ of, by }, undefined);
    expect((await shop.buy({ of, by })).body.msg).toMatch(/An owner sets a daily cap/);
    expect((await setCap({ of, by }, 2 * PRICE)).body.cap.left.credits).toBe(PRICE);
    expect(await shop.charges(of)).toHaveLength(1);
  });

  it('belongs to a key that signs nothing and cannot be rotated, and whose revocation ends purchases', async () => {
    const { of, by } = await shop.opened();
    const keys = `/api/projects/${of.merchant}/keys`;
    const list = (await by.browser.get(keys)).body.items as { id: string; name: string; is_console?: true }[];
    const key = list.find((each) => each.is_console === true)!;
    expect(key).toMatchObject({ name: 'Console purchases', scopes: ['order'], daily_cap: { credits: 100 * PRICE } });
    const rotated = await by.browser.post(`${keys}/${key.id}/rotate`, { overlap_sec: 0 });
    expect(refusalOf(rotated)).toEqual([422, 'NOT_ALLOWED_HERE']);
    expect((await by.browser.post(`${keys}/${key.id}`, { no_daily_cap: true })).status).toBe(422);
    expect((await by.browser.post(`${keys}/${key.id}/revoke`, {})).status).toBe(200);
    expect(refusalOf(await shop.buy({ of, by }))).toEqual([402, 'SPEND_CAP_REACHED']);
    const faults = async () =>
      (await verifyRecords(shop.service.api.database)).checks.find(({ check }) => check === 'revoked-keys')?.findings;
    expect(await faults()).toEqual([]);
    // A new cap makes the key valid again, which is no fault of the records.
    expect((await setCap({ of, by }, 100 * PRICE)).status).toBe(200);
    expect((await shop.buy({ of, by })).status).toBe(200);
    expect(await faults()).toEqual([]);
    expect((await setCap({ of, by }, undefined)).status).toBe(200);
    await shop.query('UPDATE api_key SET revoked_at = NULL WHERE id = $1', [key.id]);
    expect(await faults()).toMatchObject([{ subject: `key ${key.id}` }]);
    await shop.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [key.id]);
  });

  it('holds for forms that are confirmed concurrently', async () => {
    const { of, by } = await shop.opened({ cap: 3 * PRICE });
    const answers = await Promise.all(Array.from({ length: 6 }, async () => shop.buy({ of, by })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 402, 402, 402]);
    expect(await shop.charges(of)).toHaveLength(3);
  });

  it('allows exactly what it leaves, counts the present UTC day alone, and never leaves less than nothing', async () => {
    const { of, by } = await shop.opened({ balance: BigInt(PRICE), cap: PRICE });
    const settings = `/api/projects/${of.merchant}/settings`;
    await by.browser.post(settings, { daily_cap_credits: PRICE });
    const previewed = async () => (await by.browser.post(purchasePath(of, '/preview'), shop.wanted())).body;
    expect(await previewed()).toMatchObject({ balance_after: { credits: 0 } });
    expect((await previewed()).obstacle).toBeUndefined();
    expect((await shop.buy({ of, by })).status).toBe(200);
    await shop.service.api.ledger.topUp(of.merchant, BigInt(PRICE) as never, `again-${of.merchant}`, AUTHOR);
    expect((await previewed()).obstacle).toMatch(/daily cap of the project leaves \$0\.000000/);
    await by.browser.post(settings, { no_daily_cap: true });
    const lowered = await setCap({ of, by }, PRICE - 1);
    expect(lowered.body.cap).toMatchObject({ daily: { credits: PRICE - 1 }, left: { credits: 0 } });
    expect((await previewed()).obstacle).toMatch(/purchases in the console leaves \$0\.000000/);
    await by.browser.post(settings, { daily_cap_credits: PRICE });
    expect((await setCap({ of, by }, PRICE)).body.cap.left.credits).toBe(0);
    for (const table of ['api_key', 'credit_account']) {
      await shop.query(`UPDATE ${table} SET spent_on = spent_on - 1 WHERE project_id = $1`, [of.merchant]);
    }
    expect((await by.browser.get(purchasePath(of))).body.cap.left.credits).toBe(PRICE);
    expect((await previewed()).obstacle).toBeUndefined();
    expect((await shop.buy({ of, by })).status).toBe(200);
  });

  it('is given back by a refund', async () => {
    const { of, by } = await shop.opened({ cap: PRICE });
    const key = formKey();
    expect((await shop.buy({ of, by }, { key })).status).toBe(200);
    await shop.service.refund(of, key);
    expect((await by.browser.get(purchasePath(of))).body.cap.left.credits).toBe(PRICE);
  });
});

describe('a purchase', () => {
  it('shows its price first, then is an order like any other, with the act of its person', async () => {
    const { body: preview } = await mine.by.browser.post(purchasePath(mine.of, '/preview'), shop.wanted());
    expect(preview).toMatchObject({
      ...{ energy: 65_000, duration_sec: 3600, expected_uses: 1, price: { credits: PRICE }, price_trx: '2.925000' },
      burning_trx: '6.500000',
    });
    expect(preview.obstacle).toBeUndefined();
    const key = formKey();
    const answer = await shop.buy(mine, { key, credits: preview.price.credits });
    expect([answer.status, answer.body]).toEqual([200, { order: key, is_replay: false }]);
    const order = await mine.of.get(`/v1/orders/${key}`);
    expect(order.body).toMatchObject({ ...shop.wanted(), key, credits: PRICE, status: 'reserved' });
    const page = await mine.by.browser.get(`/api/projects/${mine.of.merchant}/orders/${key}`);
    expect(page.body.request).toMatchObject({ idempotency_key: key, is_own_key: false, key_name: 'Console purchases' });
    expect((await mine.by.browser.get(purchasePath(mine.of, `?key=${key}`))).body.bought).toBe(key);
    const acts = await shop.query(
      `SELECT actor, reason, detail FROM audit_log WHERE subject = $1 AND action = 'orders.buy'`,
      [mine.of.merchant],
    );
    expect(acts).toEqual([
      {
        actor: mine.by.email,
        reason: 'in the merchants’ console',
        detail: {
          ...{ key, order: (await orderOf(key))!.id.toString(), credits: PRICE.toString(), energy: '65000' },
          ...{ durationSec: '3600', receiver: shop.service.receiver() },
        },
      },
    ]);
  });

  it('is made once by concurrent, repeated and later requests of one form', async () => {
    const { of, by } = await shop.opened();
    const key = formKey();
    const answers = await Promise.all(Array.from({ length: 8 }, async () => shop.buy({ of, by }, { key })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(answers.filter(({ body }) => body.is_replay === false)).toHaveLength(1);
    await setCap({ of, by }, 0);
    const later = await shop.buy({ of, by }, { key, credits: 1 });
    expect([later.status, later.body]).toEqual([200, { order: key, is_replay: true }]);
    expect(await shop.charges(of)).toHaveLength(1);
    const other = await shop.buy({ of, by }, { key, energy: 131_000, credits: 10 * PRICE });
    expect(refusalOf(other)).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    expect(other.body.msg).toMatch(/already bought something else/);
    expect(await shop.charges(of)).toHaveLength(1);
  });

  it('belongs to the duration and the uses that its form confirmed', async () => {
    const { of, by } = await shop.opened();
    const long = { key: formKey(), duration_sec: 86_400, expected_uses: 2, credits: 10 * PRICE };
    expect((await shop.buy({ of, by }, long)).status).toBe(200);
    for (const change of [{ expected_uses: 1 }, { duration_sec: 3600, expected_uses: 1 }]) {
      expect(refusalOf(await shop.buy({ of, by }, { ...long, ...change }))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    }
    expect((await shop.buy({ of, by }, long)).body).toEqual({ order: long.key, is_replay: true });
    expect(await shop.charges(of)).toHaveLength(1);
  });

  it('is made once when the answer of the console is lost', async () => {
    const { of, by } = await shop.opened();
    const key = formKey();
    const targetUrl = `http://127.0.0.1:${shop.merchants.port.toString()}`;
    const proxy = await openFaultyProxy({ targetUrl, percent: 100, faults: ['answer lost'], lateMs: 0, seed: 1 });
    try {
      const lost = new Browser(Number(new URL(proxy.baseUrl).port), shop.merchants.config.url);
      for (const [name, value] of by.browser.cookies) lost.cookies.set(name, value);
      await expect(lost.post(purchasePath(of), { ...shop.wanted(), key, credits: PRICE })).rejects.toThrow();
    } finally {
      await proxy.close();
    }
    const again = await shop.buy({ of, by }, { key });
    expect([again.status, again.body.is_replay]).toEqual([200, true]);
    expect(await shop.charges(of)).toHaveLength(1);
  });

  it('is made once when the answer of the database is lost, and says so if the outcome stays unknown', async () => {
    const { of, by } = await shop.opened();
    let lost = 0;
    let until = 1;
    aroundStatements(shop.merchants.app.get(Database), ['buy_in_console'], {
      after: () => {
        lost += 1;
        if (lost <= until) throw Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' });
      },
    });
    expect((await shop.buy({ of, by })).status).toBe(200);
    expect([lost, (await shop.charges(of)).length]).toEqual([2, 1]);
    until = Number.POSITIVE_INFINITY;
    const key = formKey();
    const unknown = await shop.buy({ of, by }, { key });
    until = 0;
    expect(refusalOf(unknown)).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(unknown.body.msg).toMatch(/^It is not known if this was bought\. Confirm this form again/);
    expect((await shop.buy({ of, by }, { key })).body).toEqual({ order: key, is_replay: true });
    expect(await shop.charges(of)).toHaveLength(2);
  }, 60_000);

  it('costs no more than the confirmed price, and the form can go on', async () => {
    const { of, by } = await shop.opened();
    const key = formKey();
    const rose = await shop.buy({ of, by }, { key, credits: PRICE - 1 });
    expect(refusalOf(rose)).toEqual([409, 'QUOTE_EXPIRED']);
    expect(rose.body.msg).toMatch(/The price has changed, and nothing was bought/);
    expect((await shop.buy({ of, by }, { key })).body).toEqual({ order: key, is_replay: false });
  });

  it('is refused with the reason and the next step, and leaves nothing behind', async () => {
    const { of, by } = await shop.opened({ balance: BigInt(PRICE - 1) });
    const poor = await shop.buy({ of, by });
    expect(refusalOf(poor)).toEqual([402, 'INSUFFICIENT_CREDITS']);
    expect(poor.body.msg).toMatch(/only \$0\.877500 can be spent\. Top up under Billing/);
    await shop.service.api.ledger.topUp(of.merchant, BigInt(PRICE) as never, `more-${of.merchant}`, AUTHOR);
    const settings = `/api/projects/${of.merchant}/settings`;
    await by.browser.post(settings, { daily_cap_credits: 5 });
    const capped = await shop.buy({ of, by });
    expect(refusalOf(capped)).toEqual([402, 'SPEND_CAP_REACHED']);
    expect(capped.body.msg).toMatch(/the daily cap of the project leaves/);
    await by.browser.post(settings, { no_daily_cap: true });
    await shop.query('UPDATE credit_account SET frozen = true WHERE project_id = $1', [of.merchant]);
    const frozen = await shop.buy({ of, by });
    expect(refusalOf(frozen)).toEqual([403, 'PROJECT_FROZEN']);
    expect(frozen.body.msg).toMatch(/Contact your operator/);
    const preview = await by.browser.post(purchasePath(of, '/preview'), shop.wanted());
    expect(preview.body.obstacle).toMatch(/is frozen/);
    expect(await shop.charges(of)).toEqual([]);
  });

  it('names the mistake in an address, and refuses amounts and times that are not on sale', async () => {
    const typo = await mine.by.browser.post(purchasePath(mine.of, '/preview'), {
      ...shop.wanted(),
      receive_address: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
    });
    expect(refusalOf(typo)).toEqual([400, 'INVALID_REQUEST']);
    const played = { ...shop.wanted(), receive_address: TEST_ADDRESSES.delivered };
    const shown = await mine.by.browser.post(purchasePath(mine.of, '/preview'), played);
    expect(refusalOf(shown)).toEqual([422, 'RECEIVER_NOT_SUPPORTED']);
    expect(typo.body.msg).toMatch(/receive_address must be in base58check form/);
    expect(refusalOf(await shop.buy(mine, { energy: 1 }))).toEqual([400, 'INVALID_REQUEST']);
    expect(refusalOf(await shop.buy(mine, { duration_sec: 9_999_999_999 }))).toEqual([400, 'INVALID_REQUEST']);
    expect(refusalOf(await shop.buy(mine, { key: 'mine' }))).toEqual([400, 'INVALID_REQUEST']);
    expect(refusalOf(await setCap(mine, -1))).toEqual([400, 'INVALID_REQUEST']);
    expect(refusalOf(await shop.buy(mine, { expected_uses: 2 }))).toEqual([400, 'INVALID_REQUEST']);
    expect(refusalOf(await shop.buy(mine, { receive_address: shop.service.chain.pool.address }))).toEqual([
      422,
      'RECEIVER_NOT_SUPPORTED',
    ]);
    expect(refusalOf(await shop.buy(mine, { receive_address: TEST_ADDRESSES.delivered }))).toEqual([
      422,
      'RECEIVER_NOT_SUPPORTED',
    ]);
  });

  it('of a test project is played', async () => {
    const { of, by } = await shop.opened({ isTest: true });
    const key = formKey();
    expect((await shop.buy({ of, by }, { key, receive_address: TEST_ADDRESSES.delivered })).status).toBe(200);
    await shop.service.move();
    await shop.service.move();
    expect((await orderOf(key))!.status).toBe('delivered');
    const absent = { receive_address: TEST_ADDRESSES['not activated'], credits: 2 * PRICE };
    expect(refusalOf(await shop.buy({ of, by }, absent))).toEqual([409, 'RECEIVER_NOT_ACTIVATED']);
    const activated = { ...absent, activate: true };
    const wanted = { ...shop.wanted(), ...activated, credits: undefined };
    const preview = await by.browser.post(purchasePath(of, '/preview'), wanted);
    expect([preview.status, (await shop.buy({ of, by }, activated)).status]).toEqual([200, 200]);
    const short = await shop.buy({ of, by }, { receive_address: TEST_ADDRESSES['short of capacity'] });
    expect(refusalOf(short)).toEqual([503, 'CAPACITY_UNAVAILABLE']);
  });
});

describe('an extension', () => {
  /** Buys a rental in the console and has it delivered. */
  async function running(of: HmacCustomer, by: Account): Promise<string> {
    const key = formKey();
    expect((await shop.buy({ of, by }, { key })).status).toBe(200);
    await settleOrder(shop.service.api, (await orderOf(key))!.id);
    return key;
  }
  const extend = (of: HmacCustomer, by: Account, order: string, change: object = {}): Promise<Answer> =>
    by.browser.post(purchasePath(of, '/extension'), {
      order,
      duration_sec: 3600,
      key: formKey(),
      credits: PRICE,
      ...change,
    });

  it('moves the end once for each form, under the same cap, with the act of its person', async () => {
    const { of, by } = await shop.opened({ isTest: true, cap: 2 * PRICE });
    const order = await running(of, by);
    const before = (await of.get(`/v1/orders/${order}`)).body.ends_at as string;
    const preview = await by.browser.post(purchasePath(of, '/extension/preview'), { order, duration_sec: 3600 });
    expect(preview.body).toMatchObject({ price: { credits: PRICE }, ends_at: expect.any(String) });
    const key = formKey();
    const answers = await Promise.all(Array.from({ length: 4 }, async () => extend(of, by, order, { key })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers.filter(({ body }) => body.is_replay === false)).toHaveLength(1);
    const { body } = await of.get(`/v1/orders/${order}`);
    expect(body.extensions).toMatchObject([{ key, credits: PRICE, duration_sec: 3600 }]);
    expect(body.ends_at).toBe(preview.body.ends_at);
    expect(Date.parse(body.ends_at as string) - Date.parse(before)).toBe(3_600_000);
    expect((await by.browser.get(purchasePath(of, `?key=${key}`))).body.bought).toBe(order);
    expect(refusalOf(await extend(of, by, order))).toEqual([402, 'SPEND_CAP_REACHED']);
    const longer = await extend(of, by, order, { key, duration_sec: 3599 });
    expect(refusalOf(longer)).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    expect(await shop.charges(of)).toHaveLength(2);
    const acts = await shop.query<{ actor: string; detail: object }>(
      `SELECT actor, detail FROM audit_log WHERE subject = $1 AND action = 'orders.extend'`,
      [of.merchant],
    );
    expect(acts).toMatchObject([{ actor: by.email, detail: { key, credits: PRICE.toString(), durationSec: '3600' } }]);
  });

  it('of a live rental follows the chain’s clock, and is refused while that is unknown', async () => {
    const { of, by } = await shop.opened();
    const order = await running(of, by);
    expect(refusalOf(await extend(of, by, order))).toEqual([503, 'CHAIN_UNAVAILABLE']);
    await shop.query(`DELETE FROM reconcile_state`);
    await shop.query(`INSERT INTO reconcile_state (server_mark) VALUES (server_mark())`);
    await shop.query(`DELETE FROM deposit_cursor`);
    await shop.query(
      `INSERT INTO deposit_cursor (block_number, block_id, block_at, read_at) VALUES (1, sha256(''), clock_timestamp(), clock_timestamp())`,
    );
    expect((await extend(of, by, order)).status).toBe(200);
  });

  it('of an activation, which has no time, is refused', async () => {
    const { of, by } = await shop.opened({ isTest: true });
    const activated = await of.post('/v1/activate', { address: TEST_ADDRESSES['not activated'] }, withKey('activated'));
    expect(activated.status).toBe(202);
    expect(refusalOf(await extend(of, by, 'activated'))).toEqual([409, 'NOT_EXTENDABLE']);
    const wanted = { order: 'activated', duration_sec: 3600 };
    const preview = await by.browser.post(purchasePath(of, '/extension/preview'), wanted);
    expect(refusalOf(preview)).toEqual([409, 'NOT_EXTENDABLE']);
  });

  it('is refused beyond its limits, and of other projects’ orders', async () => {
    const { of, by } = await shop.opened({ isTest: true });
    const order = await running(of, by);
    expect(
      refusalOf(await extend(of, by, order, { duration_sec: 2_592_000, credits: 100 * PRICE, expected_uses: 31 })),
    ).toEqual([400, 'INVALID_REQUEST']);
    expect(refusalOf(await extend(of, by, order, { credits: PRICE - 1 }))).toEqual([409, 'QUOTE_EXPIRED']);
    const key = formKey();
    expect((await shop.buy({ of, by }, { key })).status).toBe(200);
    expect(refusalOf(await extend(of, by, key))).toEqual([409, 'NOT_EXTENDABLE']);
    const early = await by.browser.post(purchasePath(of, '/extension/preview'), { order: key, duration_sec: 3600 });
    expect(refusalOf(early)).toEqual([409, 'NOT_EXTENDABLE']);
    const foreign = formKey();
    expect((await shop.buy(mine, { key: foreign })).status).toBe(200);
    expect(refusalOf(await extend(of, by, foreign))).toEqual([404, 'NOT_FOUND']);
    const used = await extend(of, by, order, { key });
    expect(refusalOf(used)).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    expect(await shop.charges(of)).toHaveLength(2);
  });
});
