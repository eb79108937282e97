// The rights of purchases in the merchants' console: which people buy, and what a stolen connection of it can do.
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { HmacCustomer } from '../../support/api/client.js';
import { settleOrder } from '../../support/api/order-fixture.js';
import type { Account } from '../../support/console/console-fixture.js';
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
import { asAdmin } from '../../setup/admin.js';

let shop: PurchaseFixture;
let mine: Buyer;
let theirs: HmacCustomer;

beforeAll(async () => {
  shop = await openPurchaseFixture();
  mine = await shop.opened();
  theirs = await shop.project();
}, PURCHASES_LIMIT_MS);

afterAll(() => shop.close(), PURCHASES_LIMIT_MS);

describe('a person', () => {
  it.each(['', '/cap', '/extension'])('needs to be an owner who signed in lately, for POST %s', async (rest) => {
    const member = await shop.merchants.signedIn('member', mine.of.merchant);
    const body = {
      ...{ '': { ...shop.wanted(), key: formKey(), credits: PRICE }, '/cap': { daily_cap_credits: 1 } }[rest],
      ...(rest === '/extension' && { order: 'o', duration_sec: 3600, key: formKey(), credits: PRICE }),
    };
    expect(refusalOf(await member.browser.post(purchasePath(mine.of, rest), body))).toEqual([403, 'FORBIDDEN']);
    expect(refusalOf(await mine.by.browser.post(purchasePath(theirs, rest), body))).toEqual([404, 'NOT_FOUND']);
    const admin = await shop.operators.signedIn('admin');
    expect((await admin.browser.post(purchasePath(mine.of, rest), body)).status).toBe(404);
    const late = await shop.merchants.signedIn('owner', mine.of.merchant);
    const old = `UPDATE console_session SET authenticated_at = clock_timestamp() - interval '11 minutes' WHERE person_id = $1`;
    await shop.query(old, [late.id]);
    expect(refusalOf(await late.browser.post(purchasePath(mine.of, rest), body))).toEqual([403, 'SIGN_IN_AGAIN']);
  });

  it('who is a member sees the terms', async () => {
    const member = await shop.merchants.signedIn('member', mine.of.merchant);
    const { status, body } = await member.browser.get(purchasePath(mine.of));
    expect([status, body]).toMatchObject([200, { amounts: { holder: 65_000, new_holder: 131_000 } }]);
    expect(body.durations).toEqual([600, 3600, 86_400, 259_200, 604_800, 1_209_600, 2_592_000]);
  });
});

describe('a stolen connection of the console', () => {
  interface Stolen {
    readonly project?: string;
    readonly session?: string;
    readonly price?: number;
    readonly credits?: number;
    readonly rate?: number;
    readonly amount?: string;
    readonly receiver?: string;
    readonly key?: string;
    /** The parts beside energy: units, price, credits, stake, slack and legs, then price, credits and fee. */
    readonly further?: readonly (number | null)[];
  }

  /** Returns the outcome of a purchase in SQL, under the console's role. Rolls it back. */
  async function outcomeOf(of: HmacCustomer, by: Account, change: Stolen = {}): Promise<string> {
    const [session] = await shop.query<{ id: string }>('SELECT id FROM console_session WHERE person_id = $1', [by.id]);
    const values = [
      ...[
        change.session ?? session!.id,
        change.key ?? formKey(),
        Buffer.alloc(32),
        change.receiver ?? shop.service.receiver(),
      ],
      ...[65_000, 3600, change.price ?? 2_925_000, change.credits ?? PRICE, change.rate ?? 30_000_000],
      ...[change.amount ?? '1000000', 1, 1, null, 'r', 2000, null, 100, null],
      ...(change.further ?? []),
    ];
    return inRole(change.project ?? of.merchant, async (client) => {
      const { rows } = await client.query<{ refusal: string | null; created: boolean }>(
        `SELECT refusal, created FROM buy_in_console(${values.map((_, index) => `$${(index + 1).toString()}`).join(', ')})`,
        values,
      );
      return rows[0]!.refusal ?? (rows[0]!.created ? 'created' : 'replayed');
    });
  }

  async function inRole(projectId: string, work: (client: pg.Client) => Promise<string>): Promise<string> {
    return asAdmin(shop.service.env['DATABASE_URL']!, async (client) => {
      await client.query('BEGIN');
      try {
        await client.query('SET LOCAL ROLE energy_console_merchant');
        await client.query(`SELECT set_config('energy.project', $1, true)`, [projectId]);
        return await work(client);
      } catch (error) {
        const { code, message } = error as pg.DatabaseError;
        return code === 'ER001' ? message : (code ?? message);
      } finally {
        await client.query('ROLLBACK');
      }
    });
  }

  it('buys only for the owner of a fresh session, in its own project', async () => {
    const { of, by } = await shop.opened();
    const member = await shop.merchants.signedIn('member', of.merchant);
    const [other] = await shop.query<{ id: string }>('SELECT id FROM console_session WHERE person_id = $1', [
      member.id,
    ]);
    expect(await outcomeOf(of, by)).toBe('created');
    expect(await outcomeOf(of, by, { project: theirs.merchant })).toBe('KEY_SCOPE');
    expect(await outcomeOf(of, by, { project: '' })).toBe('KEY_SCOPE');
    expect(await outcomeOf(of, by, { session: other!.id })).toBe('KEY_SCOPE');
    expect(await outcomeOf(of, by, { session: randomUUID() })).toBe('KEY_SCOPE');
    expect(await outcomeOf(of, by, { key: 'auto_1_1' })).toBe('INVALID_REQUEST');
    const signedInAgo = `UPDATE console_session SET authenticated_at = clock_timestamp() - $2::interval WHERE person_id = $1`;
    await shop.query(signedInAgo, [by.id, '1 hour']);
    expect(await outcomeOf(of, by)).toBe('KEY_SCOPE');
    // The console allows ten minutes, and its statement may begin up to a minute later.
    await shop.query(signedInAgo, [by.id, '11 minutes 1 second']);
    expect(await outcomeOf(of, by)).toBe('KEY_SCOPE');
    await shop.query(signedInAgo, [by.id, '10 minutes 50 seconds']);
    expect(await outcomeOf(of, by)).toBe('created');
    await shop.query(signedInAgo, [by.id, '0 s']);
    const stage = `UPDATE console_session SET stage = $2 WHERE person_id = $1`;
    for (const waiting of ['second_factor', 'enrol']) {
      await shop.query(stage, [by.id, waiting]);
      expect([waiting, await outcomeOf(of, by)]).toEqual([waiting, 'KEY_SCOPE']);
    }
    await shop.query(stage, [by.id, 'signed_in']);
  });

  it('buys nothing beyond the cap, below the price or with more stake than was sold', async () => {
    await shop.query(
      `INSERT INTO market_state (name, value) VALUES ('trx-usd', '{"rate":"0.30"}')
       ON CONFLICT (name) DO UPDATE SET value = excluded.value, measured_at = clock_timestamp()`,
    );
    const { of, by } = await shop.opened({ cap: PRICE });
    expect(await outcomeOf(of, by)).toBe('created');
    expect(await outcomeOf(of, by, { price: 3_000_000, credits: 9_000_000 })).toBe('SPEND_CAP_REACHED');
    expect(await outcomeOf(of, by, { price: 2_924_999 })).toBe('QUOTE_EXPIRED');
    expect(await outcomeOf(of, by, { credits: PRICE - 1 })).toBe('QUOTE_EXPIRED');
    expect(await outcomeOf(of, by, { rate: 10_000_000, credits: PRICE / 3 })).toBe('QUOTE_EXPIRED');
    expect(await outcomeOf(of, by, { amount: '900000000000' })).toBe('CHAIN_UNAVAILABLE');
    expect(await outcomeOf(of, by, { receiver: shop.service.chain.pool.address })).toBe('RECEIVER_NOT_SUPPORTED');
    // Bandwidth that has no price, and an activation below the chain's fee.
    const rich = await shop.opened();
    const dearer = { price: 4_000_000, credits: 12_000_000 };
    expect(await outcomeOf(rich.of, rich.by, { ...dearer, further: [345, 1, 1, 1, 1, 1] })).toBe('QUOTE_EXPIRED');
    const activation = (priceSun: number) => [null, null, null, null, null, null, priceSun, 1, 1];
    expect(await outcomeOf(rich.of, rich.by, { ...dearer, further: activation(999_999) })).toBe('QUOTE_EXPIRED');
    // A key for consoles without a cap.
    await shop.query(`UPDATE api_key SET daily_cap_credits = NULL WHERE project_id = $1`, [rich.of.merchant]);
    expect(await outcomeOf(rich.of, rich.by)).toBe('SPEND_CAP_REACHED');
  });

  it('takes the stake of what it buys, with a margin of at most a tenth for each day, and burns the chain’s fee alone', async () => {
    const { of, by } = await shop.opened();
    const [chain] = await shop.query<{ energy: number; bandwidth: number; fee: number }>(
      `SELECT 1e6 * (value ->> 'totalEnergyWeight')::float8 / (value ->> 'totalEnergyLimit')::float8 AS energy,
          1e6 * (value ->> 'totalNetWeight')::float8 / (value ->> 'totalNetLimit')::float8 AS bandwidth,
          (value ->> 'createAccountFeeSun')::float8 AS fee FROM market_state WHERE name = 'chain'`,
    );
    const { energy, bandwidth, fee } = chain!;
    const amountOf = (share: number) => ({ amount: Math.floor(65_000 * energy * share).toString() });
    expect(await outcomeOf(of, by, amountOf(1.2))).toBe('created');
    expect(await outcomeOf(of, by, amountOf(1.21))).toBe('CHAIN_UNAVAILABLE');
    const dear = { price: 4_925_000, credits: 14_775_000 };
    const activation = (amount: number) => [null, null, null, null, null, null, fee, 3, amount];
    expect(await outcomeOf(of, by, { ...dear, further: activation(fee + 1) })).toBe('CHAIN_UNAVAILABLE');
    await shop.query(`UPDATE price_row SET sun_per_bandwidth = 700 WHERE duration_max_sec = 3600`);
    const units = 1_000_000;
    const dearer = { price: 2_925_000 + 700 * units, credits: PRICE + 2100 * units };
    // Each amount is rounded up to whole TRX, and two units more.
    const most = Math.ceil((units + 2) * bandwidth * 1.2) + 1_000_000;
    const bandwidthOf = (amount: number) => [units, 1, 1, amount, 1, 1];
    const rich = await shop.opened({ cap: 10 * dearer.credits, balance: BigInt(10 * dearer.credits) });
    expect(await outcomeOf(rich.of, rich.by, { ...dearer, further: bandwidthOf(most + 1) })).toBe('CHAIN_UNAVAILABLE');
    // Within the bounds, and more than the pool has.
    expect(await outcomeOf(rich.of, rich.by, { ...dearer, further: bandwidthOf(most - 1) })).toBe(
      'CAPACITY_UNAVAILABLE',
    );
  });

  it('extends only for the owner of a fresh session, and not below the price', async () => {
    const { of, by } = await shop.opened({ isTest: true });
    const key = formKey();
    expect((await shop.buy({ of, by }, { key })).status).toBe(200);
    const [order] = await shop.query<{ id: bigint }>('SELECT id FROM orders WHERE key = $1', [key]);
    await settleOrder(shop.service.api, order!.id);
    const extended = async (change: { session?: string; price?: number; credits?: number } = {}): Promise<string> => {
      const [session] = await shop.query<{ id: string }>('SELECT id FROM console_session WHERE person_id = $1', [
        by.id,
      ]);
      const { price = 2_925_000, credits = PRICE } = change;
      const values = [
        ...[change.session ?? session!.id, formKey(), Buffer.alloc(32), order!.id, 3600, price, credits, 30_000_000],
        ...[new Date(), 2_592_000, null, 'r', 2000, null, null, null],
      ];
      return inRole(of.merchant, async (client) => {
        const holders = values.map((_, index) => `$${(index + 1).toString()}`).join(', ');
        await client.query(`SELECT created FROM extend_in_console(${holders})`, values);
        return 'extended';
      });
    };
    expect(await extended()).toBe('extended');
    expect(await extended({ session: randomUUID() })).toBe('KEY_SCOPE');
    expect(await extended({ price: 2_924_999 })).toBe('QUOTE_EXPIRED');
    expect(await extended({ credits: PRICE - 1 })).toBe('QUOTE_EXPIRED');
  });

  it.each([
    [
      'take an order',
      `SELECT take_order(gen_random_uuid(), gen_random_uuid(), 'k', 'x', 'rental', null, null, 'T', 1, 1, 1, 1, 1, 1, 1, null, null)`,
    ],
    [
      'extend one',
      `SELECT extend_order(gen_random_uuid(), gen_random_uuid(), 'k', 'x', 1, 1, 1, 1, 1, null, 1, null, null)`,
    ],
    ['forget what was spent', 'UPDATE api_key SET spent_credits = 0'],
    ['judge a session itself', `SELECT console_buyer(gen_random_uuid(), 'k')`],
    ['change a balance', 'UPDATE credit_account SET balance_credits = 1'],
  ])('may not %s', async (_what, statement) => {
    const outcome = await inRole(mine.of.merchant, async (client) => {
      await client.query(statement);
      return 'done';
    });
    expect(outcome).toBe('42501');
  });
});
