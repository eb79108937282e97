// Webhooks as their owner configures them: validation, secrets shown once, and the deliveries made.
import { Redis } from 'ioredis';
import { Sealers } from '../../../src/platform/support/sealers.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { expectError } from '../../support/api/answers.js';
import { hmacHeaders, send, type Answer, type HmacCustomer } from '../../support/api/client.js';
import { AUTHOR, makeCustomer, type TestApi } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { apiKeysOn } from '../../support/api/services.js';
import { openWebhookFixture, URL_OF_SHOP, type WebhookFixture } from '../../support/webhooks/webhook-fixture.js';

let fixture: WebhookFixture;
let api: TestApi;

beforeAll(async () => {
  fixture = await openWebhookFixture();
  ({ api } = fixture);
});

afterAll(() => fixture.close());

const post = (customer: HmacCustomer, path: string, body: object = {}): Promise<Answer> =>
  customer.post(`/v1/webhooks${path}`, body);

/** Removes the nonces as if Redis had lost its data, but keeps the time since when it remembers them. */
async function forgetNonces(): Promise<void> {
  const client = new Redis(fixture.redis.url);
  const keys = await client.keys('*:nonce:*');
  await client.del(...keys);
  await client.quit();
}

const deliveriesOf = async (customer: HmacCustomer, id: string, query = ''): Promise<Record<string, unknown>[]> => {
  const answer = await customer.get(`/v1/webhooks/${id}/deliveries${query}`);
  expect(answer.status).toBe(200);
  return answer.body.items;
};

const eventsOf = async (customer: HmacCustomer): Promise<{ type: string; data: { webhook: object } }[]> => {
  await fixture.numberAll();
  const rows = await api.database.query<{ payload: string }>(
    `SELECT payload FROM event WHERE project_id = $1 AND type LIKE 'webhook.%' ORDER BY position`,
    [customer.merchant],
  );
  return rows.map(({ payload }) => JSON.parse(payload));
};

describe('a webhook', () => {
  it('is created with a secret shown once, read, listed, changed, disabled, enabled and deleted', async () => {
    const customer = await fixture.newCustomer();
    const made = await post(customer, '', { url: URL_OF_SHOP, types: ['order.delivered'], description: 'orders' });
    expect(made.status).toBe(201);
    const { id, secret, ...rest } = made.body;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rest).toEqual({
      url: URL_OF_SHOP,
      types: ['order.delivered'],
      description: 'orders',
      enabled: true,
      pending: 0,
      created_at: expect.any(String),
      changed_at: expect.any(String),
    });
    const read = await customer.get(`/v1/webhooks/${id}`);
    expect(read.body).toEqual({ id, ...rest });
    expect((await customer.get('/v1/webhooks')).body).toEqual({ items: [{ id, ...rest }] });
    const changed = await post(customer, `/${id}`, { url: 'https://other.example.com:8443/', types: [] });
    expect(changed.body).toMatchObject({ url: 'https://other.example.com:8443/', description: 'orders' });
    expect(changed.body).not.toHaveProperty('types');
    const disabled = await post(customer, `/${id}`, { enabled: false });
    expect(disabled.body).toMatchObject({ enabled: false, disabled_reason: 'owner' });
    expect((await post(customer, `/${id}`, { enabled: true })).body).toMatchObject({ enabled: true });
    expect((await customer.request('DELETE', `/v1/webhooks/${id}`)).body).toEqual({ id, deleted: true });
    expectError(await customer.get(`/v1/webhooks/${id}`), 'NOT_FOUND');
    expect((await customer.get('/v1/webhooks')).body).toEqual({ items: [] });
    const events = await eventsOf(customer);
    expect(events.map(({ type }) => type)).toEqual([
      'webhook.created',
      'webhook.changed',
      'webhook.disabled',
      'webhook.changed',
      'webhook.changed',
    ]);
    expect(events[0]!.data.webhook).toEqual({
      id,
      // Many receivers put a token into path or query.
      url: 'https://shop.example.com/…',
      types: ['order.delivered'],
      description: 'orders',
      enabled: true,
      deleted: false,
    });
    expect(events[4]!.data.webhook).toMatchObject({ deleted: true });
  });

  it('changes with an event, and without one if nothing changes', async () => {
    const customer = await fixture.newCustomer();
    const types = ['order.delivered', 'order.refunded'];
    const { id } = await fixture.newWebhook(customer, { types, description: 'orders' });
    const changedAt = async (): Promise<unknown> => (await customer.get(`/v1/webhooks/${id}`)).body.changed_at;
    const before = await changedAt();
    for (const same of [{}, { url: URL_OF_SHOP }, { types }, { description: 'orders' }, { enabled: true }]) {
      expect((await post(customer, `/${id}`, same)).status).toBe(200);
    }
    expect(await changedAt()).toBe(before);
    for (const once of [1, 2])
      expect([once, (await post(customer, `/${id}`, { enabled: false })).status]).toEqual([once, 200]);
    await post(customer, `/${id}`, { types: ['order.delivered'], enabled: true });
    expect((await eventsOf(customer)).map(({ type }) => type)).toEqual([
      ...['webhook.created', 'webhook.disabled', 'webhook.changed'],
    ]);
  });

  it('is sealed at rest, and keeps no secret once it is deleted', async () => {
    const customer = await fixture.newCustomer();
    const { id, secret } = await fixture.newWebhook(customer);
    const stored = async () => {
      const [row] = await api.database.query<{ present: Buffer | null; previous: Buffer | null }>(
        `SELECT secret_sealed AS present, previous_secret_sealed AS previous FROM webhook_endpoint WHERE id = $1`,
        [id],
      );
      return row!;
    };
    expect((await post(customer, `/${id}/rotate`, { expire_old_after_sec: 3600 })).status).toBe(200);
    const { present, previous } = await stored();
    for (const sealed of [present, previous]) expect(sealed!.includes(secret.slice(6))).toBe(false);
    expect(api.app.get(Sealers).webhookSecret.open(previous!, id)?.toString()).toBe(secret);
    await customer.request('DELETE', `/v1/webhooks/${id}`);
    expect(await stored()).toEqual({ present: null, previous: null });
  });

  it('gets a new secret, and shows the end of the previous one', async () => {
    const customer = await fixture.newCustomer();
    const { id, secret } = await fixture.newWebhook(customer);
    const rotated = await customer.request('POST', `/v1/webhooks/${id}/rotate`);
    expect(rotated.status).toBe(200);
    expect(rotated.body.secret).toMatch(/^whsec_/);
    expect(rotated.body.secret).not.toBe(secret);
    const untilMs = Date.parse(rotated.body.previous_secret_until as string) - Date.now();
    expect(untilMs).toBeGreaterThan(86_000_000);
    expect(untilMs).toBeLessThan(86_500_000);
    const atOnce = await post(customer, `/${id}/rotate`, { expire_old_after_sec: 0 });
    expect(atOnce.body).not.toHaveProperty('previous_secret_until');
    expectError(await post(customer, `/${id}/rotate`, { expire_old_after_sec: 86_401 }), 'INVALID_REQUEST');
  });

  it('of another project is not found, for any caller', async () => {
    const [owner, other] = [await fixture.newCustomer(), await fixture.newCustomer()];
    const { id } = await fixture.newWebhook(owner);
    expectError(await other.get(`/v1/webhooks/${id}`), 'NOT_FOUND');
    expectError(await post(other, `/${id}`, { enabled: false }), 'NOT_FOUND');
    expectError(await other.request('DELETE', `/v1/webhooks/${id}`), 'NOT_FOUND');
    for (const act of ['rotate', 'test', 'deliveries/1/resend']) {
      expectError(await other.request('POST', `/v1/webhooks/${id}/${act}`), 'NOT_FOUND');
    }
    expectError(await post(other, `/${id}/replay`, { after: 0 }), 'NOT_FOUND');
    expectError(await other.get(`/v1/webhooks/${id}/deliveries`), 'NOT_FOUND');
    expectError(await owner.get('/v1/webhooks/no-id'), 'NOT_FOUND');
  });

  it('exists ten times at most, even after concurrent requests', async () => {
    const customer = await fixture.newCustomer();
    const answers = await Promise.all(Array.from({ length: 16 }, () => post(customer, '', { url: URL_OF_SHOP })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectError(answer, 'LIMIT_REACHED');
  });

  it('requires the scope manage and a signature by HMAC', async () => {
    const customer = await fixture.newCustomer();
    const keys = apiKeysOn(api.database, api.app);
    const { apiKey } = await keys.create(customer.merchant, { name: 'r', scopes: ['read', 'order', 'quote'] }, AUTHOR);
    expectError(await customer.withKey(apiKey).get('/v1/webhooks'), 'KEY_SCOPE');
    const { merchant, apiKey: primary } = customer;
    const byMd5 = await makeCustomer(api);
    expectError(await byMd5.get('/v1/webhooks'), 'HMAC_REQUIRED');
    expect(primary).toHaveLength(48);
    expect(merchant).toHaveLength(36);
  });

  it('is created once by one request, even if Redis has forgotten its nonce', async () => {
    const customer = await fixture.newCustomer();
    await fixture.newWebhook(customer);
    const body = JSON.stringify({ url: URL_OF_SHOP });
    const headers = hmacHeaders(customer.merchant, customer.apiKey, {
      method: 'POST',
      path: '/v1/webhooks',
      body,
      timestamp: Math.floor(Date.now() / 1000) + 5,
    });
    const ask = () =>
      send(api.baseUrl, 'POST', '/v1/webhooks', { 'Content-Type': 'application/json', ...headers }, body);
    expect((await ask()).status).toBe(201);
    await forgetNonces();
    const again = await ask();
    expect(again.status).toBe(401);
    expect((await customer.get('/v1/webhooks')).body.items).toHaveLength(2);
  });
});

describe('a request is judged strictly', () => {
  it.each([
    [{}, 'url is required'],
    [{ url: 7 }, 'url must be a string'],
    [{ url: URL_OF_SHOP, types: 'order.delivered' }, 'types must be a list'],
    [{ url: URL_OF_SHOP, types: ['order.delivered', 'order.unheard'] }, 'types item 2 must be one of'],
    [{ url: URL_OF_SHOP, types: [['order.delivered']] }, 'types item 1 must be one of'],
    [
      { url: URL_OF_SHOP, types: Array.from({ length: 51 }, () => 'order.delivered') },
      'types must be a list of at most',
    ],
    [{ url: URL_OF_SHOP, description: 'x'.repeat(501) }, 'description must have at most 500'],
    [{ url: URL_OF_SHOP, description: 'a\0b' }, 'description must not contain control characters'],
    [{ url: URL_OF_SHOP, secret: 'whsec_mine' }, 'secret is not a member of this request'],
  ])('%j', async (body, msg) => {
    const answer = await post(await fixture.newCustomer(), '', body);
    expectError(answer, 'INVALID_REQUEST');
    expect(answer.body.msg).toContain(msg);
  });

  it.each([
    ['http://shop.example.com/'],
    ['ftp://shop.example.com/'],
    ['https://shop.example.com:444/'],
    ['https://user@shop.example.com/'],
    ['https://user:word@shop.example.com/'],
    ['https://shop.example.com/#here'],
    ['https://shop/'],
    ['https://localhost/'],
    ['https://localhost./'],
    ['https://shop.localhost/'],
    ['https://printer.local/'],
    ['https://metadata.google.internal/'],
    ['https://metadata.google.internal./'],
    ['https://127.0.0.1/'],
    ['https://127.0.0.1./'],
    ['https://2130706433/'],
    ['https://0x7f.1/'],
    ['https://0177.0.0.1/'],
    ['https://127.1/'],
    ['https://8.8.8.8/'],
    ['https://[::1]/'],
    ['https://[::ffff:127.0.0.1]/'],
    ['https://[::ffff:7f00:1]/'],
    ['https://[::127.0.0.1]/'],
    ['https://[2606:4700:4700::1111]/'],
    ['https://1.2.3.4.5/'],
    ['https://shop.example.123/'],
    ['not a URL'],
    ['https://shop.example.com/a\nb'],
    ['https://shop.example.com/\r'],
    ['https://shop.exam\tple.com/'],
    [' https://shop.example.com/'],
    ['https://shop.example.com/\u202E'],
    ['https://shop.example.com/\u001B[31m'],
  ])('no webhook goes to %j, and the refusal gives no reason', async (url) => {
    const answer = await post(await fixture.newCustomer(), '', { url });
    expectError(answer, 'ADDRESS_NOT_ALLOWED');
    expect(answer.body.msg).toBe(
      'The webhook URL is not accepted. Use an https URL with a public host name, on an allowed port, without user and password.',
    );
  });
});

describe('the deliveries', () => {
  it('are every event of the project that the webhook wants, from its creation on', async () => {
    const [customer, other] = [await fixture.newCustomer(), await fixture.newCustomer()];
    await fixture.happen(customer);
    const all = await fixture.newWebhook(customer);
    const frozen = await fixture.newWebhook(customer, { types: ['project.frozen'] });
    await fixture.newWebhook(other);
    await fixture.happen(customer);
    const sent = (await deliveriesOf(customer, all.id)).reverse();
    expect(sent.map(({ type }) => type)).toEqual([
      'webhook.created',
      'webhook.created',
      'project.frozen',
      'project.unfrozen',
    ]);
    expect(sent.map(({ position }) => position)).toEqual([3, 4, 5, 6]);
    expect(sent[0]).toEqual({
      id: expect.any(Number),
      event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      type: 'webhook.created',
      position: 3,
      cause: 'event',
      status: 'pending',
      attempts: 0,
      created_at: expect.any(String),
      next_attempt_at: expect.any(String),
    });
    expect((await deliveriesOf(customer, frozen.id)).map(({ type }) => type)).toEqual(['project.frozen']);
  });

  it('are none while the webhook is disabled, and come by a replay', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer, { types: ['project.frozen', 'project.unfrozen'] });
    await post(customer, `/${id}`, { enabled: false });
    await fixture.happen(customer);
    expect(await deliveriesOf(customer, id)).toEqual([]);
    expectError(await post(customer, `/${id}/replay`, { after: 0 }), 'INVALID_REQUEST');
    await post(customer, `/${id}`, { enabled: true });
    const replay = await post(customer, `/${id}/replay`, { after: 0 });
    expect([replay.status, replay.body]).toEqual([202, { events: 2, last_position: 4 }]);
    expectError(await post(customer, `/${id}/replay`, { after: 0 }), 'LIMIT_REACHED');
    expect((await deliveriesOf(customer, id)).map(({ cause, type }) => [cause, type])).toEqual([
      ['replay', 'project.unfrozen'],
      ['replay', 'project.frozen'],
    ]);
  });

  it('are listed page by page, by status too', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer);
    await fixture.happen(customer);
    await fixture.happen(customer);
    const all = await deliveriesOf(customer, id);
    expect(all).toHaveLength(5);
    const first = (await customer.get(`/v1/webhooks/${id}/deliveries?limit=3`)).body;
    const next = (await customer.get(`/v1/webhooks/${id}/deliveries?limit=3&cursor=${first.next_cursor}`)).body;
    expect([...first.items, ...next.items]).toEqual(all);
    expect(next).not.toHaveProperty('next_cursor');
    expect(await deliveriesOf(customer, id, '?status=delivered')).toEqual([]);
    expectError(await customer.get(`/v1/webhooks/${id}/deliveries?cursor=zz`), 'INVALID_REQUEST');
    // A cursor of another list is refused too.
    const ofDeposits = Buffer.from('d1').toString('base64url');
    expect((await customer.get(`/v1/deposits?cursor=${ofDeposits}`)).status).toBe(200);
    expectError(await customer.get(`/v1/webhooks/${id}/deliveries?cursor=${ofDeposits}`), 'INVALID_REQUEST');
    expectError(await customer.get(`/v1/deposits?cursor=${first.next_cursor as string}`), 'INVALID_REQUEST');
    expectError(await customer.get(`/v1/webhooks/${id}/deliveries?status=lost`), 'INVALID_REQUEST');
  });

  it('include a test at most six times a minute, once each', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer);
    for (let count = 0; count < 6; count += 1) {
      const tested = await customer.request('POST', `/v1/webhooks/${id}/test`);
      expect([tested.status, tested.body.type, tested.body.cause]).toEqual([202, 'webhook.test', 'test']);
      expect(tested.body).not.toHaveProperty('position');
    }
    expectError(await post(customer, `/${id}/test`), 'RATE_LIMITED');
  });

  it('are repeated on request: now if waiting, as a new one if ended', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer, { types: ['project.frozen'] });
    await fixture.happen(customer);
    const [waiting] = await deliveriesOf(customer, id);
    await api.database.query(`UPDATE webhook_delivery SET next_at = now() + interval '1 day' WHERE id = $1`, [
      waiting!['id'],
    ]);
    const now = await post(customer, `/${id}/deliveries/${String(waiting!['id'])}/resend`);
    expect([now.status, now.body.id]).toEqual([202, waiting!['id']]);
    expect(Date.parse(now.body.next_attempt_at as string)).toBeLessThan(Date.now() + 60_000);
    await api.database.query(
      `UPDATE webhook_delivery SET status = 'failed', next_at = NULL, ended_at = now() WHERE id = $1`,
      [waiting!['id']],
    );
    const again = await post(customer, `/${id}/deliveries/${String(waiting!['id'])}/resend`);
    expect(again.body).toMatchObject({ event_id: waiting!['event_id'], cause: 'resend', status: 'pending' });
    expect(again.body.id).not.toBe(waiting!['id']);
    expectError(await post(customer, `/${id}/deliveries/999999/resend`), 'NOT_FOUND');
  });

  it('continue only as events when the project is frozen: tests, replays and repetitions end', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer, { types: ['project.frozen'] });
    await fixture.happen(customer);
    await post(customer, `/${id}/replay`, { after: 0 });
    await post(customer, `/${id}/test`);
    await fixture.freeze(customer);
    await fixture.freeze(customer, false);
    const sent = await deliveriesOf(customer, id);
    expect(sent.map(({ cause, status, last_error }) => [cause, status, last_error])).toEqual([
      ['test', 'dropped', 'PROJECT_FROZEN'],
      ['replay', 'dropped', 'PROJECT_FROZEN'],
      ['event', 'pending', undefined],
    ]);
  });

  it('are created with the position itself: a numberer that dies right after leaves nothing to catch up', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer);
    await fixture.freeze(customer);
    await fixture.freeze(customer, false);
    const mortal = new Database(api.database.source);
    const die = (): never => {
      throw new Error('killed');
    };
    aroundStatements(mortal, ['number_events'], { after: die });
    await expect(new Numberer(mortal, new Metrics(), openLog('silent')).numberBatch()).rejects.toThrow('killed');
    expect((await deliveriesOf(customer, id)).map(({ type }) => type)).toEqual([
      'project.unfrozen',
      'project.frozen',
      'webhook.created',
    ]);
  });

  it('are written in the order of the log, whichever event of a batch was numbered first', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer);
    await fixture.numberAll();
    await fixture.freeze(customer);
    await fixture.freeze(customer, false);
    await api.database.query(
      `UPDATE event e SET position = v.position, payload = json_build_object('id', 'evt_of_' || v.position), snapshot = NULL
         FROM (SELECT id, 1 + row_number() OVER (ORDER BY id) AS position FROM event
                WHERE project_id = $1 AND position IS NULL ORDER BY id DESC) v WHERE e.id = v.id`,
      [customer.merchant],
    );
    expect((await deliveriesOf(customer, id)).map(({ position }) => position)).toEqual([3, 2, 1]);
  });

  it('wait for no row that another transaction holds: events are numbered beside an endless change', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer);
    await fixture.freeze(customer);
    await api.database.transaction(async (tx) => {
      await tx.query(`SELECT FROM webhook_endpoint WHERE id = $1 FOR UPDATE`, [id]);
      await tx.query(`SELECT FROM webhook_state WHERE endpoint_id = $1 FOR UPDATE`, [id]);
      await fixture.numberAll();
    });
    expect(await api.database.query(`SELECT FROM webhook_delivery WHERE endpoint_id = $1`, [id])).toHaveLength(2);
  });
});
