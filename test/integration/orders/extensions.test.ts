// Extensions of running rentals: once per key, charged once, within the rules. Against a reclaiming worker exactly one
// of the two wins. The chain makes a block only on request.
import { setTimeout } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { credits } from '../../../src/domain/units.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Database } from '../../../src/platform/database/database.js';
import { afterAnnouncement } from '../../support/api/announcement.js';
import { HmacCustomer, type Answer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer } from '../../support/api/factory.js';
import { expectRefusal, withKey } from '../../support/api/order-fixture.js';
import { byHand, chargesOf, foundByVerify, type ExtensionAsked } from '../../support/worker/extension-records.js';
import { apiKeysOn, walletsOn } from '../../support/api/services.js';
import {
  api,
  clearFixture,
  closeFixture,
  customer,
  SteppedWorker,
  mine,
  openFixtureWith,
  orderOf,
  pool,
  receivers,
  rent,
  sentOrder,
  settledOrder,
  SOLID_LAG,
  START_LIMIT_MS,
  statusesOf,
} from '../../support/worker/fulfilment-fixture.js';

const EXTENDED_SEC = 300;
/** 50 000 energy at 38 sun each, at the fallback rate of 0.30 USD. */
const PRICE = 5_700_000;
/** The longest duration in the price table. */
const LONGEST_SEC = 2_592_000;

let caller: HmacCustomer;
let extended = 0;

beforeAll(async () => {
  await openFixtureWith({ DATABASE_POOL_MAX: '12' });
  caller = hmac();
}, START_LIMIT_MS);
afterEach(clearFixture, START_LIMIT_MS);
afterAll(closeFixture, START_LIMIT_MS);

const hmac = ({ merchant, apiKey } = customer): HmacCustomer => new HmacCustomer(api.baseUrl, merchant, apiKey);

const nextKey = (): string => `longer-${String((extended += 1))}`;

/** Extends the order, by default under a new key. */
const extend = async (
  key: string,
  { by = EXTENDED_SEC, uses, under = nextKey(), as = caller }: ExtensionAsked = {},
): Promise<Answer> =>
  as.post(`/v1/orders/${key}/extensions`, { duration_sec: by, expected_uses: uses }, withKey(under));

const read = async (key: string): Promise<Answer['body']> => (await caller.get(`/v1/orders/${key}`)).body;
const endOf = async (key: string): Promise<number> => Date.parse(String((await read(key)).ends_at));
const balanceOf = async (of = caller): Promise<number> => Number((await of.get('/v1/balance')).body.credits_balance);

describe('an extension', () => {
  it('moves the end, is charged without the price floor, and then appears in the order, its events and its ledger', async () => {
    const worker = await SteppedWorker.open();
    // So small an amount that the order costs the price floor.
    const { msg } = (
      await customer.post('/v1/orders', { receive_address: receivers[0]!, energy: 1000, duration_sec: 60 })
    ).body;
    const least = Number(/is (\d+) energy/.exec(msg as string)![1]);
    const key = await rent(receivers[0]!, least);
    await mine();
    await worker.followChain();
    await worker.advance();
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    const before = await read(key);
    expect(before.extensions).toBeUndefined();
    const answer = await extend(key, { under: 'an-hour-more' });
    expect([answer.status, answer.headers['idempotency-key']]).toEqual([200, 'an-hour-more']);
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
    const [extension] = answer.body.extensions;
    expect(extension).toEqual({
      key: 'an-hour-more',
      duration_sec: EXTENDED_SEC,
      credits: least * 38 * 3,
      fee_limit_sun: least * 100,
      at: expect.stringMatching(/Z$/),
    });
    expect(before.credits).toBeGreaterThan(extension.credits);
    const ends = new Date(Date.parse(before.ends_at as string) + EXTENDED_SEC * 1000).toISOString();
    expect(answer.body).toEqual({ ...before, ends_at: ends, extensions: [extension] });
    expect(await read(key)).toEqual(answer.body);
    expect((await caller.get('/v1/orders?limit=1')).body.items).toEqual([answer.body]);
    expect(await chargesOf(key)).toEqual([
      { entry: 'charge:ID', credits: BigInt(-before.credits) },
      { entry: 'charge:ID:ext:1', credits: BigInt(-extension.credits) },
    ]);
    await worker.part(Numberer).numberBatch();
    const { items } = (await caller.get('/v1/events?types=order.extended,order.settled')).body;
    expect(items.map(({ type }: { type: string }) => type)).toEqual(['order.settled', 'order.extended']);
    expect(items[0].data.order.extensions).toBeUndefined();
    expect(items[1].data.order).toEqual(answer.body);
    const [entry] = (await caller.get('/v1/ledger?limit=1')).body.items;
    expect(entry).toMatchObject({
      kind: 'charge',
      credits: -extension.credits,
      order_key: key,
      description: `Extension of ${least.toString()} energy for 300 s to ${receivers[0]!}`,
    });
    expect(await foundByVerify()).toEqual([]);
  });

  it('is reclaimed at its new end, never at the old one', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    expect((await extend(key)).status).toBe(200);
    await mine(25);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(0);
    await mine(100);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
    await mine(SOLID_LAG + 1);
    await worker.followChain();
    const { reclaimed_at: reclaimed, ends_at: ends, ...order } = await read(key);
    expect(Date.parse(reclaimed as string)).toBeGreaterThanOrEqual(Date.parse(ends as string));
    expect(order.ended_early_by).toBeUndefined();
    expect(await foundByVerify()).toEqual([]);
  });

  it('leaves a rental due while its top-up is pending, and any other at rest', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    const isDue = async (): Promise<boolean> =>
      (await api.database.query(`SELECT FROM orders WHERE key = $1 AND next_run_at IS NOT NULL`, [key])).length === 1;
    expect((await extend(key)).status).toBe(200);
    expect(await isDue()).toBe(false);
    await byHand(
      `INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status, top_up)
       SELECT l.order_id, 2, l.kind, l.wallet_id, l.receive_address, 1000000, 'reserved', true FROM leg l JOIN orders o ON o.id = l.order_id
        WHERE o.key = $1`,
      [key],
    );
    expect((await extend(key)).status).toBe(200);
    expect(await isDue()).toBe(true);
    await byHand(`DELETE FROM leg WHERE leg_no = 2 AND order_id = (SELECT id FROM orders WHERE key = $1)`, [key]);
  });

  it('of fifty concurrent requests under one key is made and charged once, and each gets the same bytes', async () => {
    const key = await settledOrder(await SteppedWorker.open());
    const before = await balanceOf();
    const answers = await Promise.all(Array.from({ length: 50 }, () => extend(key, { under: 'fifty' })));
    answers.push(await extend(key, { under: 'fifty' }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
    expect(before - (await balanceOf())).toBe(PRICE);
    expect((await read(key)).extensions).toHaveLength(1);
  });

  it('shares its keys with orders: another request under a used key is refused, of either kind', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    const other = await settledOrder(worker, receivers[1]);
    const body = { receive_address: receivers[2]!, energy: 50_000, duration_sec: 60 };
    expect((await extend(key, { under: 'shared' })).status).toBe(200);
    const { ref } = (await caller.post('/v1/quotes', { receive_address: receivers[3]!, energy: 50_000 })).body;
    expect((await caller.post('/v1/orders', { quote_ref: ref }, withKey(nextKey()))).status).toBe(202);
    const before = await balanceOf();
    for (const answer of [
      await extend(key, { under: 'shared', by: 600 }),
      await extend(other, { under: 'shared' }),
      await extend(key, { under: other }),
      await caller.post('/v1/orders', body, withKey('shared')),
      await caller.post('/v1/orders', { quote_ref: ref }, withKey('shared')),
      await customer.post('/v1/orders', { ...body, energy: 90_000_000 }, withKey('shared')),
    ]) {
      expectRefusal(answer, 422, 'IDEMPOTENCY_KEY_REUSED');
    }
    expect(await balanceOf()).toBe(before);
    // Also concurrently: the first request takes the key.
    for (let round = 0; round < 20; round += 1) {
      const under = `race-${round.toString()}`;
      const both = await Promise.all([extend(key, { under, by: 1 }), caller.post('/v1/orders', body, withKey(under))]);
      expect(both.map(({ status }) => Math.floor(status / 100)).sort()).toEqual([2, 4]);
    }
    expect(await foundByVerify()).toEqual([]);
  });

  it('requires its own key, HMAC, the scope of orders, and an order of the project', async () => {
    const key = await settledOrder(await SteppedWorker.open());
    const path = `/v1/orders/${key}/extensions`;
    const body = { duration_sec: EXTENDED_SEC };
    expectRefusal(await caller.post(path, body), 400, 'IDEMPOTENCY_KEY_REQUIRED');
    expectRefusal(await caller.post(path, {}, withKey('x')), 400, 'INVALID_REQUEST');
    expectRefusal(await customer.post(path, body, withKey('x')), 403, 'HMAC_REQUIRED');
    const keys = apiKeysOn(api.database, api.app);
    const reader = await keys.create(caller.merchant, { name: 'reader', scopes: ['read', 'quote'] }, AUTHOR);
    expectRefusal(await extend(key, { as: caller.withKey(reader.apiKey) }), 403, 'KEY_SCOPE');
    expectRefusal(await extend(key, { as: hmac(await makeCustomer(api, 1_000_000_000n)) }), 404, 'NOT_FOUND');
    expectRefusal(await extend('there-is-none'), 404, 'NOT_FOUND');
    const orders = await keys.create(caller.merchant, { name: 'orders', scopes: ['order'] }, AUTHOR);
    const buyer = caller.withKey(orders.apiKey);
    expect((await extend(key, { as: buyer, under: 'by-another' })).status).toBe(200);
    // The buyer's key is rotated, then revoked. The extension stays, and another key replays it.
    const rotated = await afterAnnouncement([api.app], caller, () => keys.rotate(orders.id, 0, AUTHOR));
    expectRefusal(await extend(key, { as: buyer }), 401, 'INVALID_SIGNATURE');
    const renewed = caller.withKey(rotated);
    expect((await extend(key, { as: renewed, under: 'by-another' })).headers['idempotency-replayed']).toBe('true');
    await afterAnnouncement([api.app], caller, () => keys.revoke(orders.id, AUTHOR));
    expectRefusal(await extend(key, { as: renewed }), 401, 'INVALID_SIGNATURE');
    expect((await extend(key, { under: 'by-another' })).headers['idempotency-replayed']).toBe('true');
    expect((await read(key)).extensions).toHaveLength(1);
  });

  it('is possible a hundred times for one order, which is reclaimed after the last end', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    const first = await endOf(key);
    const answers = await Promise.all(Array.from({ length: 101 }, () => extend(key, { by: 3 })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expectRefusal(
      answers.find(({ status }) => status !== 200)!,
      409,
      'NOT_EXTENDABLE',
    );
    expect((await endOf(key)) - first).toBe(300_000);
    const { extensions } = (await read(key)) as { extensions: { at: string; credits: number }[] };
    expect(extensions).toHaveLength(100);
    expect(await chargesOf(key)).toHaveLength(101);
    expect(extensions.map(({ at }) => at)).toEqual(extensions.map(({ at }) => at).sort());
    expect(await foundByVerify()).toEqual([]);
    await mine(100);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(0);
    await mine(30);
    await worker.followChain();
    expect(await worker.reclaimEnded()).toBe(1);
  });

  it('leaves at most the longest duration on sale, by the chain’s clock', async () => {
    const key = await settledOrder(await SteppedWorker.open());
    const answer = await extend(key, { by: LONGEST_SEC, uses: 13 });
    expectRefusal(answer, 400, 'INVALID_REQUEST');
    expect(answer.body.details).toEqual([
      { field: 'duration_sec', msg: expect.stringContaining(LONGEST_SEC.toString()) },
    ]);
    for (const by of [LONGEST_SEC + 1, 2 ** 31, Number.MAX_SAFE_INTEGER])
      expectRefusal(await extend(key, { by }), 400, 'INVALID_REQUEST');
    expect((await extend(key, { by: LONGEST_SEC - 60, uses: 13 })).status).toBe(200);
    expectRefusal(await extend(key, { by: 60 }), 400, 'INVALID_REQUEST');
  });

  it('is refused whole for credits, the caps of project and key, and a frozen project', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    const before = { order: await read(key), balance: await balanceOf() };
    const keys = apiKeysOn(api.database, api.app);
    const options = { name: 'small', scopes: ['order'], dailyCapCredits: credits(PRICE - 1) } as const;
    const small = await keys.create(caller.merchant, options, AUTHOR);
    expectRefusal(await extend(key, { as: caller.withKey(small.apiKey), under: 'refused' }), 402, 'SPEND_CAP_REACHED');
    const { merchant } = caller;
    await api.ledger.setDailyCap(merchant, credits(1), AUTHOR);
    expectRefusal(await extend(key, { under: 'refused' }), 402, 'SPEND_CAP_REACHED');
    await api.ledger.setDailyCap(merchant, undefined, AUTHOR);
    await api.ledger.adjust(merchant, credits(-before.balance + 1), 'taken', AUTHOR);
    expectRefusal(await extend(key, { under: 'refused' }), 402, 'INSUFFICIENT_CREDITS');
    await api.ledger.adjust(merchant, credits(before.balance - 1), 'given', AUTHOR);
    await afterAnnouncement([api.app], caller, () => api.ledger.setFrozen(merchant, true, AUTHOR));
    expectRefusal(await extend(key, { under: 'refused' }), 403, 'PROJECT_FROZEN');
    // Judged again under the balance's lock, independently of the API's cached project.
    const { id } = await orderOf(key);
    const statement = `SELECT * FROM extend_order($1, $1, 'refused', sha256('x'), $2, 300, 1, 1, 1, '2020-01-01', 2592000, NULL, NULL)`;
    await expect(api.database.query(statement, [merchant, id])).rejects.toThrow('PROJECT_FROZEN');
    await afterAnnouncement([api.app], caller, () => api.ledger.setFrozen(merchant, false, AUTHOR));
    expect({ order: await read(key), balance: await balanceOf() }).toEqual(before);
    // A refused request leaves its key free.
    expect((await extend(key, { under: 'refused' })).status).toBe(200);
  });

  it('is refused for an unsettled order, an activation, or a wallet that sells nothing', async () => {
    const worker = await SteppedWorker.open();
    const key = await sentOrder(worker);
    expectRefusal(await extend(key), 409, 'NOT_EXTENDABLE');
    await mine();
    await worker.followChain();
    expect(await orderOf(key)).toMatchObject({ status: 'delivered', settled: false });
    expectRefusal(await extend(key), 409, 'NOT_EXTENDABLE');
    await mine(SOLID_LAG);
    await worker.followChain();
    const wallets = walletsOn(api.database, api.app);
    await wallets.setStatus(pool.address, 'paused', AUTHOR);
    expectRefusal(await extend(key), 503, 'CAPACITY_UNAVAILABLE');
    await wallets.setStatus(pool.address, 'active', AUTHOR);
    expect((await extend(key)).status).toBe(200);
  });

  it('can be compensated with the order, and together they get at most their price', async () => {
    const key = await settledOrder(await SteppedWorker.open());
    const { credits: price } = (await read(key)) as { credits: number };
    expect((await extend(key)).status).toBe(200);
    const { id } = await orderOf(key);
    await expect(api.ledger.compensate(id, credits(price + PRICE + 1), AUTHOR)).rejects.toThrow('at most');
    await api.ledger.compensate(id, credits(price + PRICE), AUTHOR);
    await expect(api.ledger.compensate(id, credits(1), AUTHOR)).rejects.toThrow('nothing');
    expect(await foundByVerify()).toEqual([]);
  });

  it('verify names an uncharged extension, and an end that no extension moved', async () => {
    const key = await settledOrder(await SteppedWorker.open());
    expect((await extend(key)).status).toBe(200);
    const later = `UPDATE orders SET ends_at = ends_at + $2::integer * interval '1 second', fence = fence + 1 WHERE key = $1`;
    await expect(api.database.query(later, [key, 3600])).rejects.toThrow('by an extension of a running rental alone');
    await byHand(later, [key, 3600]);
    expect((await foundByVerify()).sort()).toEqual(['order-extensions', 'order-legs']);
    await byHand(later, [key, -3600]);
    const { id } = await orderOf(key);
    const rename = `UPDATE credit_entry SET entry_key = $2 WHERE entry_key = $1`;
    const [charge, other] = [`charge:${id.toString()}:ext:1`, `charge:${id.toString()}:other`];
    await byHand(rename, [charge, other]);
    expect(await foundByVerify()).toContain('order-extensions');
    await byHand(rename, [other, charge]);
    expect(await foundByVerify()).toEqual([]);
  });

  it('whose answer was lost after it was made is answered as made, and by its key once', async () => {
    const key = await settledOrder(await SteppedWorker.open());
    const before = await balanceOf();
    const database = api.app.get(Database, { strict: false });
    let lost = 0;
    aroundStatements(database, ['extend-order'], {
      after: () => {
        lost += 1;
        if (lost === 1) throw Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' });
      },
    });
    const answer = await extend(key, { under: 'lost' });
    expect(answer.status).toBe(200);
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
    expect(lost).toBe(2);
    expect((await extend(key, { under: 'lost' })).text).toBe(answer.text);
    expect(before - (await balanceOf())).toBe(PRICE);
  });
});

describe('against the reclaim', () => {
  it('a worker that read the old end records nothing more, and the rental continues', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    await mine(25);
    await worker.followChain();
    const [claimed] = await worker.orderClaims().claimEnded(Date.parse((await read(key)).ends_at as string) + 1, 1);
    expect((await extend(key)).status).toBe(200);
    await worker.advancer().advance([claimed!]);
    expect(await statusesOf(key, 'reclaim')).toEqual([]);
    const [row] = await api.database.query(
      'SELECT lease_until, next_run_at, fence > $2 AS is_newer FROM orders WHERE key = $1',
      [key, claimed!.fence],
    );
    expect(row).toEqual({ lease_until: null, next_run_at: null, is_newer: true });
  });

  it('rejects an extension of a recorded, sent, included, reclaimed or given-up rental', async () => {
    const worker = await SteppedWorker.open();
    const key = await settledOrder(worker);
    await mine(25);
    await worker.followChain();
    const built = jest.spyOn(worker.transactionLog(), 'recordSigned').mockRejectedValueOnce(new Error('died'));
    await expect(worker.reclaimEnded()).rejects.toThrow('died');
    built.mockRestore();
    expect(await statusesOf(key, 'reclaim')).toEqual(['built']);
    expectRefusal(await extend(key), 409, 'NOT_EXTENDABLE');
    await worker.transactionLog().recordDropped([]);
    await api.database.query(`UPDATE orders SET lease_until = NULL WHERE key = $1`, [key]);
    await worker.advance();
    expect(await statusesOf(key, 'reclaim')).toEqual(['sending']);
    expectRefusal(await extend(key), 409, 'NOT_EXTENDABLE');
    await mine();
    await worker.followChain();
    expectRefusal(await extend(key), 409, 'NOT_EXTENDABLE');
    await mine(SOLID_LAG);
    await worker.followChain();
    expectRefusal(await extend(key), 409, 'NOT_EXTENDABLE');
    expect((await read(key)).reclaimed_at).toBeDefined();
  });

  it('in 200 races at the second of the end either extension or reclaim wins, and both answers are true', async () => {
    const worker = await SteppedWorker.open();
    const won = { extended: 0, reclaimed: 0 };
    const follow = async (blocks?: number): Promise<void> => {
      await mine(blocks);
      await worker.followChain();
    };
    let leadMs = 0; // Adapts to the machine.
    for (let batch = 0; batch < 20; batch += 1) {
      const keys: string[] = [];
      for (let place = 0; place < 10; place += 1) keys.push(await rent(receivers[place % receivers.length]!));
      await follow();
      // On a busy machine a broadcast can exceed its limit; the worker then sends again.
      do {
        await worker.advance();
        await follow(SOLID_LAG + 1);
      } while ((await Promise.all(keys.map(orderOf))).some(({ settled }) => !settled));
      await follow(25);
      const ends = new Map(await Promise.all(keys.map(async (key) => [key, await endOf(key)] as const)));
      const extendLater = (key: string): Promise<Answer> =>
        setTimeout(Math.random() * 100 + Math.max(0, -leadMs)).then(() => extend(key, { by: 60 }));
      const [answers] = await Promise.all([
        Promise.all(keys.map(extendLater)),
        setTimeout(Math.max(0, leadMs)).then(() => worker.reclaimEnded()),
      ]);
      const extended = answers.filter(({ status }) => status === 200).length;
      if (extended === 0) leadMs = Math.max(50, leadMs * 2);
      if (extended === keys.length) leadMs = Math.min(-50, leadMs * 2);
      for (const [at, key] of keys.entries()) {
        const isExtended = answers[at]!.status === 200;
        if (!isExtended) expectRefusal(answers[at]!, 409, 'NOT_EXTENDABLE');
        expect([key, await statusesOf(key, 'reclaim')]).toEqual([key, isExtended ? [] : ['sending']]);
        expect((await endOf(key)) - ends.get(key)!).toBe(isExtended ? 60_000 : 0);
        won[isExtended ? 'extended' : 'reclaimed'] += 1;
      }
      await follow(PAST_THE_END);
      await worker.reclaimEnded();
      await follow(SOLID_LAG + 1);
    }
    expect(won.extended + won.reclaimed).toBe(200);
    expect(Math.min(won.extended, won.reclaimed)).toBeGreaterThan(0);
    expect(await foundByVerify()).toEqual([]);
  });
});

const PAST_THE_END = 22;
