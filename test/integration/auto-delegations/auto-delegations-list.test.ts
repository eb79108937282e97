// Auto-delegations in lists and events: waking, deleting, ownership and scopes.
import { Redis } from 'ioredis';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
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
import { canonical, Customer, hmacHeaders, send, type Answer } from '../../support/api/client.js';
import { AUTHOR } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import type { OrderFixture } from '../../support/api/order-fixture.js';
import { until } from '../../support/api/quote-fixture.js';
import { apiKeysOn } from '../../support/api/services.js';

let autoDelegations: AutoDelegationFixture;
let fixture: OrderFixture;

beforeAll(async () => {
  autoDelegations = await openAutoDelegationFixture();
  ({ fixture } = autoDelegations);
});

afterAll(() => fixture.close());

describe('the list', () => {
  it('is newest first, page by page, and filtered by the shown status', async () => {
    const customer = await autoDelegations.newCustomer();
    const addresses = Array.from({ length: LIMIT }, autoDelegations.receiver);
    for (const address of addresses) await made(customer, address);
    const [ended, paused, asleep] = addresses;
    await autoDelegations.leave(customer, asleep!, 'asleep = true');
    await autoDelegations.leave(
      customer,
      paused!,
      `asleep = true, pause_reason = 'SPEND_CAP_REACHED', paused_at = clock_timestamp()`,
    );
    await autoDelegations.leave(
      customer,
      ended!,
      `until = '2020-01-01', pause_reason = 'SPEND_CAP_REACHED', paused_at = '2020-01-01'`,
    );
    const { items } = (await customer.get('/v1/auto-delegations')).body;
    const status = items.map((item: Answer['body']) => item.status);
    expect(status).toEqual(['active', 'asleep', 'paused', 'ended']);
    expect(items.map((item: Answer['body']) => item.address)).toEqual([...addresses].reverse());
    for (const item of items) {
      expect((await customer.get(`/v1/auto-delegations?status=${item.status as string}`)).body).toEqual({
        items: [item],
      });
    }
    const first = (await customer.get('/v1/auto-delegations?limit=3')).body;
    expect(first.items).toEqual(items.slice(0, 3));
    const rest = await customer.get(`/v1/auto-delegations?limit=3&cursor=${first.next_cursor as string}`);
    expect(rest.body).toEqual({ items: items.slice(3) });
    for (const query of ['cursor=bm8', 'status=gone', 'limit=0', 'address=x']) {
      expectError(await customer.get(`/v1/auto-delegations?${query}`), 'INVALID_REQUEST');
    }
  });

  it('judges the end by the chain’s time, which may be ahead of the clock', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    await made(customer, address);
    // This chain's clock gains five seconds every second.
    const soon = new Date(Date.now() + 10_000);
    await autoDelegations.leave(customer, address, `until = '${soon.toISOString()}'`);
    await until(
      () => customer.get(pathOf(address)),
      ({ body }) => body.status === 'ended',
    );
    const listed = await customer.get('/v1/auto-delegations?status=ended');
    const refused = await put(customer, address, { ...LEAST, until: soon.toISOString() });
    expect(Date.now()).toBeLessThan(soon.getTime());
    expect(listed.body.items).toHaveLength(1);
    expectError(refused, 'INVALID_REQUEST');
  });
});

describe('the spending', () => {
  it('is of the current UTC day only', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    await made(customer, address);
    await autoDelegations.leave(customer, address, WORKED);
    const read = async () => (await customer.get(pathOf(address))).body;
    expect(await read()).toMatchObject({ purchases: 5, spent_today_credits: 900, used_at: '2026-11-20T12:00:00.000Z' });
    expect(await read()).not.toHaveProperty('open_order');
    await autoDelegations.leave(customer, address, `spent_on = spent_on - 1`);
    expect(await read()).toMatchObject({ purchases: 5, spent_today_credits: 0 });
  });
});

describe('an act', () => {
  it('ends the sleep, and makes the address due immediately', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    await made(customer, address);
    await autoDelegations.leave(customer, address, WORKED);
    expect((await customer.get(pathOf(address))).body.status).toBe('asleep');
    const answer = await customer.request('POST', `${pathOf(address)}/wake`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ address, status: 'active', purchases: 5, keep_energy: KEEP });
    expect(answer.body).not.toHaveProperty('cost_per_refill_credits');
    expect(await autoDelegations.rowOf(customer, address)).toMatchObject({
      ...{ asleep: false, failures: 0, used_at: null, fence: 7n, is_due: true, api_key_id: customer.merchant },
    });
    expect((await customer.post(`${pathOf(address)}/wake`, {})).status).toBe(200);
    expectError(await customer.post(`${pathOf(address)}/wake`, { now: true }), 'INVALID_REQUEST');
  });

  it('deletes, with an empty answer, and leaves nothing', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const { id } = await made(customer, address);
    const answer = await customer.request('DELETE', pathOf(address));
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers['x-request-id']).toBeDefined();
    expect(await autoDelegations.rowOf(customer, address)).toBeUndefined();
    expectError(await customer.request('DELETE', pathOf(address)), 'NOT_FOUND');
    expectError(await customer.request('POST', `${pathOf(address)}/wake`), 'NOT_FOUND');
    expectError(await customer.get(pathOf(address)), 'NOT_FOUND');
    expect((await made(customer, address)).id).not.toBe(id);
  });

  it('affects only its own project', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const other = await autoDelegations.newCustomer();
    const mine = await made(customer, address);
    expectError(await other.get(pathOf(address)), 'NOT_FOUND');
    expectError(await other.request('DELETE', pathOf(address)), 'NOT_FOUND');
    expectError(await other.request('POST', `${pathOf(address)}/wake`), 'NOT_FOUND');
    for (const none of ['%00', 'T123']) {
      const path = `/v1/auto-delegations/${none}`;
      expectError(await other.get(path), 'NOT_FOUND');
      expectError(await other.request('DELETE', path), 'NOT_FOUND');
      expectError(await other.request('POST', `${path}/wake`), 'NOT_FOUND');
    }
    expect((await other.get('/v1/auto-delegations')).body).toEqual({ items: [] });
    expect((await made(other, address, { keep_energy: 70_000 })).id).not.toBe(mine.id);
    expect((await customer.get(pathOf(address))).body).toEqual(mine);
    expect((await other.request('DELETE', pathOf(address))).status).toBe(204);
    expect((await customer.get(pathOf(address))).body).toEqual(mine);
  });

  it('requires HMAC and a key with its scope, and counts against the general budget', async () => {
    const customer = await autoDelegations.newCustomer();
    const { merchant, apiKey, baseUrl } = customer;
    const address = autoDelegations.receiver();
    await made(customer, address);
    const keys = apiKeysOn(fixture.api.database, fixture.api.app);
    const reader = customer.withKey((await keys.create(merchant, { name: 'r', scopes: ['read'] }, AUTHOR)).apiKey);
    const buyer = customer.withKey((await keys.create(merchant, { name: 'o', scopes: ['order'] }, AUTHOR)).apiKey);
    const byMd5 = new Customer(baseUrl, merchant, apiKey);
    const body = canonical(LEAST);
    const json = { 'Content-Type': 'application/json', ...byMd5.authHeaders(body) };
    expectError(await send(baseUrl, 'PUT', pathOf(address), json, body), 'HMAC_REQUIRED');
    expectError(await byMd5.get('/v1/auto-delegations'), 'HMAC_REQUIRED');
    expectError(await put(reader, address), 'KEY_SCOPE');
    expectError(await reader.request('DELETE', pathOf(address)), 'KEY_SCOPE');
    expectError(await reader.request('POST', `${pathOf(address)}/wake`), 'KEY_SCOPE');
    expectError(await buyer.get(pathOf(address)), 'KEY_SCOPE');
    expectError(await buyer.get('/v1/auto-delegations'), 'KEY_SCOPE');
    expect((await reader.get(pathOf(address))).headers['ratelimit-limit']).toBe('600');
    for (const answer of [await put(buyer, address), await buyer.request('POST', `${pathOf(address)}/wake`)]) {
      expect([answer.status, answer.headers['ratelimit-limit']]).toEqual([200, '600']);
    }
    expect((await buyer.request('DELETE', pathOf(address))).status).toBe(204);
  });

  it('succeeds once for each nonce, even after the store of nonces was emptied', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    await made(customer, address);
    const signed = (method: string, path: string, text: string) => {
      const headers = hmacHeaders(customer.merchant, customer.apiKey, { method, path, body: text });
      const json = { 'Content-Type': 'application/json' };
      return () => send(customer.baseUrl, method, path, { ...json, ...headers }, text);
    };
    const acts = [
      signed('PUT', pathOf(address), JSON.stringify(LEAST)),
      signed('POST', `${pathOf(address)}/wake`, '{}'),
      signed('DELETE', pathOf(address), ''),
    ];
    for (const [index, act] of acts.entries()) {
      expect((await act()).status).toBe(index === 2 ? 204 : 200);
      if (index === 2) await made(customer, address);
      const before = await autoDelegations.rowOf(customer, address);
      await fixture.api.database.query(`DELETE FROM request_nonce WHERE nonce NOT LIKE 'write:%'`);
      await forgetNonces();
      expectError(await act(), 'SIGNATURE_REPLAYED');
      expect(await autoDelegations.rowOf(customer, address)).toEqual(before);
    }
  });
});

/** Removes the nonces as if Redis had lost its data, but keeps the time since when it remembers them. */
async function forgetNonces(): Promise<void> {
  const client = new Redis(fixture.env['REDIS_URL']!);
  const keys = await client.keys('*:nonce:*');
  if (keys.length > 0) await client.del(...keys);
  await client.quit();
}

describe('its events', () => {
  it('show its state at the pause, and its resumption', async () => {
    const customer = await autoDelegations.newCustomer();
    const address = autoDelegations.receiver();
    const { id } = await made(customer, address);
    await autoDelegations.leave(customer, address, [WORKED, BUYING, PAUSED].join());
    const paused = (await customer.get('/v1/auto-delegations')).body.items[0];
    await autoDelegations.leave(customer, address, `pause_reason = 'SPEND_CAP_REACHED', asleep = false`);
    await autoDelegations.leave(
      customer,
      address,
      `pause_reason = NULL, paused_at = NULL, open_order_id = NULL, spent_on = spent_on - 1`,
    );
    await autoDelegations.leave(customer, address, 'purchases = 6');
    const numberer = new Numberer(fixture.api.database, new Metrics(), openLog('silent'));
    while ((await numberer.numberBatch()) > 0);
    const types = 'auto_delegation.paused,auto_delegation.resumed';
    const { items } = (await customer.get(`/v1/events?types=${types}`)).body;
    expect(items.map(({ type, data }: Answer['body']) => [type, data.auto_delegation.pause?.reason])).toEqual([
      ['auto_delegation.paused', 'INSUFFICIENT_CREDITS'],
      ['auto_delegation.paused', 'SPEND_CAP_REACHED'],
      ['auto_delegation.resumed', undefined],
    ]);
    expect(items[0].data).toEqual({ auto_delegation: paused });
    expect(items[2].data.auto_delegation).toMatchObject({ id, status: 'active', purchases: 5, spent_today_credits: 0 });
    const known = (await customer.get('/openapi.json')).body.components.schemas.AutoDelegation.properties;
    expect(Object.keys(known)).toEqual(expect.arrayContaining(Object.keys(paused)));
  });
});
