// Purchases of bandwidth and an activation beside energy in the merchants' console.
import { newOwner } from '../../support/chain/order-chain.js';
import { sellBandwidth } from '../../support/api/bandwidth-sale.js';
import { settleOrder } from '../../support/api/order-fixture.js';
import {
  formKey,
  openPurchaseFixture,
  PRICE,
  purchasePath,
  PURCHASES_LIMIT_MS,
  refusalOf,
  type Buyer,
  type PurchaseFixture,
} from '../../support/console/purchase-fixture.js';

/** 700 sun for each of 1 000 units, at 0.30 USD per TRX. */
const BANDWIDTH = { bandwidth: 1000 };
const BANDWIDTH_CREDITS = 2_100_000;

let shop: PurchaseFixture;
let mine: Buyer;

beforeAll(async () => {
  shop = await openPurchaseFixture({ MARKET_REFRESH_SEC: '1' });
  await sellBandwidth(shop.service);
  mine = await shop.opened();
  const isRecorded = async () =>
    (await shop.query(`SELECT FROM market_state WHERE name = 'chain' AND (value ->> 'totalNetWeight')::bigint > 0`))
      .length;
  while ((await isRecorded()) === 0) await new Promise((resolve) => setTimeout(resolve, 100));
}, PURCHASES_LIMIT_MS);

afterAll(() => shop.close(), PURCHASES_LIMIT_MS);

interface Item {
  readonly kind: string;
  readonly amount: number;
  readonly charged: { readonly credits: number };
}

const previewed = async (wanted: object) => {
  const { status, body } = await mine.by.browser.post(purchasePath(mine.of, '/preview'), {
    ...shop.wanted(),
    ...wanted,
  });
  expect(status).toBe(200);
  return body as { readonly price: { readonly credits: number }; readonly items?: readonly Item[] };
};
const partsOf = ({ items = [] }: { readonly items?: readonly Item[] }) =>
  items.map(({ kind, amount, charged }) => [kind, amount, charged.credits]);

it('tells the durations for which bandwidth is on sale', async () => {
  expect((await mine.by.browser.get(purchasePath(mine.of))).body.bandwidth_max_sec).toBe(3600);
});

it('shows each part with its price, and buys all of them as one order', async () => {
  const receiver = newOwner().address;
  const wanted = { ...BANDWIDTH, activate: true, receive_address: receiver };
  const preview = await previewed(wanted);
  const activation = preview.price.credits - PRICE - BANDWIDTH_CREDITS;
  expect(activation).toBeGreaterThan(0);
  expect(partsOf(preview)).toEqual([
    ['energy', 65_000, PRICE],
    ['bandwidth', 1000, BANDWIDTH_CREDITS],
    ['activation', 1, activation],
  ]);
  const key = formKey();
  const bought = await shop.buy(mine, { ...wanted, key, credits: preview.price.credits });
  expect([bought.status, bought.body]).toEqual([200, { order: key, is_replay: false }]);
  const { body } = await mine.of.get(`/v1/orders/${key}`);
  expect(body).toMatchObject({ ...BANDWIDTH, credits: preview.price.credits, status: 'reserved' });
  expect(body.items.map(({ kind, credits }: { kind: string; credits: number }) => [kind, credits])).toEqual([
    ['energy', PRICE],
    ['bandwidth', BANDWIDTH_CREDITS],
    ['activation', activation],
  ]);
  const legs = await shop.query<{ kind: string }>(
    `SELECT l.kind FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1 ORDER BY l.leg_no`,
    [key],
  );
  expect(legs.map(({ kind }) => kind)).toEqual(['activation', 'rental', 'bandwidth']);
  const again = await shop.buy(mine, { ...wanted, key, credits: preview.price.credits });
  expect(again.body).toEqual({ order: key, is_replay: true });
  const other = await shop.buy(mine, { receive_address: receiver, key, credits: preview.price.credits });
  expect(refusalOf(other)).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
});

it('extends all parts of a running rental at the price of all, and at no less', async () => {
  const key = formKey();
  const credits = PRICE + BANDWIDTH_CREDITS;
  expect((await shop.buy(mine, { ...BANDWIDTH, key, credits })).status).toBe(200);
  const [order] = await shop.query<{ id: bigint }>('SELECT id FROM orders WHERE key = $1', [key]);
  await settleOrder(shop.service.api, order!.id);
  await shop.query(`DELETE FROM reconcile_state`);
  await shop.query(`INSERT INTO reconcile_state (server_mark) VALUES (server_mark())`);
  await shop.query(
    `INSERT INTO deposit_cursor (block_number, block_id, block_at, read_at) VALUES (1, sha256(''), clock_timestamp(), clock_timestamp())`,
  );
  // A rental with bandwidth lasts no longer than bandwidth is on sale.
  await shop.service.api.database.transaction(async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    const ending = `delivered_bandwidth = bandwidth, ends_at = clock_timestamp() + interval '5 minutes'`;
    await tx.query(`UPDATE orders SET ${ending} WHERE key = $1`, [key]);
  });
  const wanted = { order: key, duration_sec: 3000 };
  const preview = await mine.by.browser.post(purchasePath(mine.of, '/extension/preview'), wanted);
  expect(preview.body).toMatchObject({ price: { credits }, burning_trx: '7.500000' });
  const extend = async (confirmed: number) =>
    mine.by.browser.post(purchasePath(mine.of, '/extension'), { ...wanted, key: formKey(), credits: confirmed });
  expect(refusalOf(await extend(credits - 1))).toEqual([409, 'QUOTE_EXPIRED']);
  expect((await extend(credits)).status).toBe(200);
  expect((await mine.of.get(`/v1/orders/${key}`)).body.extensions).toMatchObject([{ credits }]);
});

it('buys nothing below the price of all parts, and no bandwidth for a duration without its price', async () => {
  const { price } = await previewed(BANDWIDTH);
  expect(price.credits).toBe(PRICE + BANDWIDTH_CREDITS);
  const before = await shop.charges(mine.of);
  expect(refusalOf(await shop.buy(mine, { ...BANDWIDTH, credits: price.credits - 1 }))).toEqual([409, 'QUOTE_EXPIRED']);
  const long = { ...shop.wanted(), ...BANDWIDTH, duration_sec: 86_400 };
  const refused = await mine.by.browser.post(purchasePath(mine.of, '/preview'), long);
  expect([refused.status, refused.body.msg]).toEqual([400, expect.stringContaining('bandwidth')]);
  expect(await shop.charges(mine.of)).toEqual(before);
});
