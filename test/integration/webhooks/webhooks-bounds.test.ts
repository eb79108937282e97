// Repeated webhook acts of a project: bounded where rows are kept forever or the sender is kept busy.
import { EndpointWatch } from '../../../src/modules/sender/endpoint-watch.js';
import { Sealers } from '../../../src/platform/support/sealers.js';
import { ACTS_PER_DAY } from '../../../src/modules/webhooks/webhook-acts.js';
import { WEBHOOKS_PER_DAY } from '../../../src/modules/webhooks/webhooks.js';
import { expectError } from '../../support/api/answers.js';
import type { Answer, HmacCustomer } from '../../support/api/client.js';
import type { TestApi } from '../../support/api/factory.js';
import { openSender } from '../../support/webhooks/sender.js';
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
/** Ends pending deliveries as the sender does. */
const end = (id: string, status: 'dropped' | 'failed') =>
  api.database.query(
    `UPDATE webhook_delivery SET status = $2, fault = 'STATUS', next_at = NULL, ended_at = clock_timestamp(), is_fresh = false
      WHERE endpoint_id = $1 AND status = 'pending'`,
    [id, status],
  );
/** Dates the deliveries a minute back. */
const ageDeliveries = (id: string) =>
  api.database.query(
    `UPDATE webhook_delivery SET created_at = created_at - interval '1 minute' WHERE endpoint_id = $1`,
    [id],
  );

it('creates a webhook at most a hundred times a day, because deleted ones are kept', async () => {
  const customer = await fixture.newCustomer();
  for (let made = 0; made < WEBHOOKS_PER_DAY; made += 1) {
    const { id } = await fixture.newWebhook(customer);
    expect((await customer.request('DELETE', `/v1/webhooks/${id}`)).status).toBe(200);
  }
  expectError(await post(customer, '', { url: URL_OF_SHOP }), 'LIMIT_REACHED');
  await api.database.query(
    `UPDATE webhook_endpoint SET created_at = created_at - interval '1 day' WHERE project_id = $1`,
    [customer.merchant],
  );
  expect((await post(customer, '', { url: URL_OF_SHOP })).status).toBe(201);
});

it('a replay is not aborted and restarted repeatedly, which would keep the sender from all others', async () => {
  const customer = await fixture.newCustomer();
  const [one, other] = [await fixture.newWebhook(customer), await fixture.newWebhook(customer)];
  const replay = (id: string) => post(customer, `/${id}/replay`, { after: 0 });
  await fixture.happen(customer);
  expect((await replay(one.id)).body.events).toBeGreaterThan(0);
  await customer.request('DELETE', `/v1/webhooks/${one.id}`);
  const refused = await replay(other.id);
  expectError(refused, 'RATE_LIMITED');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  await api.database.query(
    `UPDATE webhook_endpoint SET deleted_at = deleted_at - interval '1 minute' WHERE project_id = $1`,
    [customer.merchant],
  );
  expect((await replay(other.id)).status).toBe(202);
  await end(other.id, 'dropped');
  expectError(await replay(other.id), 'RATE_LIMITED');
  await ageDeliveries(other.id);
  expect((await replay(other.id)).status).toBe(202);
});

it('a test that is sent again is a test', async () => {
  const customer = await fixture.newCustomer();
  const { id } = await fixture.newWebhook(customer);
  const test = () => customer.request('POST', `/v1/webhooks/${id}/test`);
  const tested = await test();
  const resend = () => customer.request('POST', `/v1/webhooks/${id}/deliveries/${String(tested.body.id)}/resend`);
  await end(id, 'failed');
  for (let count = 0; count < 5; count += 1) expect((await resend()).status).toBe(202);
  expectError(await resend(), 'RATE_LIMITED');
  expectError(await test(), 'RATE_LIMITED');
  await ageDeliveries(id);
  expect([(await resend()).status, (await test()).status]).toEqual([202, 202]);
});

/** Dates the project's acts back, by default by a day. */
const ageActs = (customer: HmacCustomer, time = '1 day') =>
  api.database.query(`UPDATE webhook_act SET created_at = created_at - $2::interval WHERE project_id = $1`, [
    customer.merchant,
    time,
  ]);

const eventsOf = async (customer: HmacCustomer): Promise<string[]> => {
  const rows = await api.database.query<{ type: string }>(
    `SELECT type FROM event WHERE project_id = $1 AND type LIKE 'webhook.%' ORDER BY id`,
    [customer.merchant],
  );
  return rows.map(({ type }) => type);
};

it('webhooks of a project accept at most a hundred changes in 24 hours, and can be disabled and deleted after them', async () => {
  const customer = await fixture.newCustomer();
  const [one, other] = [await fixture.newWebhook(customer), await fixture.newWebhook(customer)];
  for (let made = 0; made < ACTS_PER_DAY.change; made += 1) {
    const { id } = made % 2 === 0 ? one : other;
    expect((await post(customer, `/${id}`, { description: `change ${made.toString()}` })).status).toBe(200);
  }
  const refused = await post(customer, `/${one.id}`, { description: 'one more' });
  expectError(refused, 'LIMIT_REACHED');
  expect(refused.body.msg).toMatch(/100 times in 24 hours/);
  // An update without a difference is no change.
  expect((await post(customer, `/${one.id}`, { description: 'change 98' })).status).toBe(200);
  expect((await post(customer, `/${one.id}`, { enabled: false })).status).toBe(200);
  expectError(await post(customer, `/${one.id}`, { enabled: true }), 'LIMIT_REACHED');
  expect((await customer.request('DELETE', `/v1/webhooks/${other.id}`)).status).toBe(200);
  await ageActs(customer);
  expect((await post(customer, `/${one.id}`, { enabled: true })).status).toBe(200);
  const kept = await api.database.query(`SELECT act FROM webhook_act WHERE project_id = $1`, [customer.merchant]);
  expect(kept).toEqual([{ act: 'change' }]);
});

it.each(['rotate', 'resend', 'replay'] as const)('bounds the acts of a project in 24 hours: %s', async (act) => {
  const customer = await fixture.newCustomer();
  const { id } = await fixture.newWebhook(customer);
  await fixture.happen(customer);
  const [{ id: delivery } = { id: 0n }] = await api.database.query<{ id: bigint }>(
    `SELECT id FROM webhook_delivery WHERE endpoint_id = $1 LIMIT 1`,
    [id],
  );
  const path = { rotate: 'rotate', resend: `deliveries/${delivery.toString()}/resend`, replay: 'replay' }[act];
  // An overlap would refuse the next rotation.
  const body = { rotate: { expire_old_after_sec: 0 }, resend: undefined, replay: { after: 0 } }[act];
  const ask = () =>
    body === undefined
      ? customer.request('POST', `/v1/webhooks/${id}/${path}`)
      : post(customer, `/${id}/${path}`, body);
  await api.database.query(`INSERT INTO webhook_act (project_id, act, count) VALUES ($1, $2, $3)`, [
    ...[customer.merchant, act, ACTS_PER_DAY[act] - 1],
  ]);
  const last = await ask();
  expect(last.status).toBeLessThan(300);
  // A replay stops at the day's remaining limit.
  if (act === 'replay') expect(last.body.events).toBe(1);
  await end(id, 'failed');
  expectError(await ask(), 'LIMIT_REACHED');
  await ageActs(customer);
  expect((await ask()).status).toBeLessThan(300);
});

it('a webhook refuses another rotation with an overlap while one runs, and ends both secrets without one', async () => {
  const customer = await fixture.newCustomer();
  const { id, secret } = await fixture.newWebhook(customer);
  const rotate = async (body: object) => post(customer, `/${id}/rotate`, body);
  const kept = async (): Promise<string | undefined> => {
    const [row] = await api.database.query<{ previous: Buffer | null }>(
      `SELECT previous_secret_sealed AS previous FROM webhook_endpoint WHERE id = $1`,
      [id],
    );
    return row?.previous ? api.app.get(Sealers).webhookSecret.open(row.previous, id)?.toString() : undefined;
  };
  const both = await Promise.all([rotate({}), rotate({ expire_old_after_sec: 3600 })]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  const before = await api.database.query(`SELECT count FROM webhook_act WHERE project_id = $1`, [customer.merchant]);
  for (const body of [{}, { expire_old_after_sec: 60 }]) {
    const refused = await rotate(body);
    expectError(refused, 'LIMIT_REACHED');
    expect(refused.body.msg).toMatch(/still signs, until .* or rotate without an overlap \(expire_old_after_sec 0\)/);
  }
  expect(await kept()).toBe(secret);
  expect(await api.database.query(`SELECT count FROM webhook_act WHERE project_id = $1`, [customer.merchant])).toEqual(
    before,
  );
  expect((await rotate({ expire_old_after_sec: 0 })).status).toBe(200);
  expect(await kept()).toBeUndefined();
  expect((await rotate({})).status).toBe(200);
  await api.database.transaction(async (tx) => {
    // With triggers off: a trigger would treat this as another rotation.
    await tx.query('SET LOCAL session_replication_role = replica');
    await tx.query(`UPDATE webhook_endpoint SET previous_until = clock_timestamp() WHERE id = $1`, [id]);
  });
  expect((await rotate({})).status).toBe(200);
});

it('changes in quick succession are a few events, and the last one shows the final state', async () => {
  const customer = await fixture.newCustomer();
  const { id } = await fixture.newWebhook(customer);
  for (let made = 0; made < 20; made += 1) await post(customer, `/${id}`, { description: `change ${made.toString()}` });
  expect(await eventsOf(customer)).toEqual(['webhook.created', ...Array<string>(5).fill('webhook.changed')]);
  const sender = await openSender(fixture.env);
  const watch = sender.app.get(EndpointWatch);
  await watch.runTasks();
  expect(await eventsOf(customer)).toHaveLength(6);
  await api.database.query(
    `UPDATE webhook_endpoint SET change_reported_at = change_reported_at - interval '20 seconds', changed_at = changed_at - interval '19 seconds'
      WHERE id = $1`,
    [id],
  );
  const before = (await eventsOf(customer)).length;
  await watch.runTasks();
  await watch.runTasks();
  expect(await eventsOf(customer)).toHaveLength(before + 1);
  const [said] = await api.database.query<{ snapshot: { webhook: { description: string } } }>(
    `SELECT snapshot FROM event WHERE project_id = $1 ORDER BY id DESC LIMIT 1`,
    [customer.merchant],
  );
  expect(said!.snapshot.webhook.description).toBe('change 19');
  await sender.app.close();
});

it('the first change of a webhook is one event, though other webhooks of its project changed in quick succession', async () => {
  const customer = await fixture.newCustomer();
  const { id } = await fixture.newWebhook(customer);
  const late = await fixture.newWebhook(customer);
  for (let made = 0; made < 6; made += 1) await post(customer, `/${id}`, { description: `change ${made.toString()}` });
  await post(customer, `/${late.id}`, { description: 'late' });
  await api.database.query(
    `UPDATE webhook_endpoint SET change_reported_at = change_reported_at - interval '20 seconds', changed_at = changed_at - interval '19 seconds'
      WHERE id = $1`,
    [late.id],
  );
  const sender = await openSender(fixture.env);
  await sender.app.get(EndpointWatch).runTasks();
  await sender.app.close();
  const events = await api.database.query<{ type: string }>(
    `SELECT type FROM event WHERE project_id = $1 AND snapshot #>> '{webhook,id}' = $2 ORDER BY id`,
    [customer.merchant, late.id],
  );
  // Ageing the mark above wrote one more: the trigger reports each change of it.
  expect(events.map(({ type }) => type)).toEqual(['webhook.created', 'webhook.changed', 'webhook.changed']);
});

describe('an act of a clock that was a day ahead does not bar', () => {
  const datedAhead = (table: string, column: string, where: string, params: unknown[]) =>
    api.database.query(`UPDATE ${table} SET ${column} = ${column} + interval '1 day' WHERE ${where}`, params);

  it('a replay, by a webhook that was deleted then', async () => {
    const customer = await fixture.newCustomer();
    const [one, other] = [await fixture.newWebhook(customer), await fixture.newWebhook(customer)];
    await customer.request('DELETE', `/v1/webhooks/${one.id}`);
    await datedAhead('webhook_endpoint', 'deleted_at', 'id = $1', [one.id]);
    expect((await post(customer, `/${other.id}/replay`, { after: 0 })).status).toBe(202);
  });

  it('a test, by six tests then', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer);
    const test = () => customer.request('POST', `/v1/webhooks/${id}/test`);
    for (let count = 0; count < 6; count += 1) expect((await test()).status).toBe(202);
    await datedAhead('webhook_delivery', 'created_at', 'endpoint_id = $1', [id]);
    expect((await test()).status).toBe(202);
  });

  it('a change, by a day’s changes then', async () => {
    const customer = await fixture.newCustomer();
    const { id } = await fixture.newWebhook(customer);
    await api.database.query(
      `INSERT INTO webhook_act (project_id, act, count, created_at) VALUES ($1, 'change', $2, clock_timestamp() + interval '1 day')`,
      [customer.merchant, ACTS_PER_DAY.change],
    );
    expect((await post(customer, `/${id}`, { description: 'changed' })).status).toBe(200);
  });

  it('a new webhook, by a day’s webhooks then', async () => {
    const customer = await fixture.newCustomer();
    await api.database.query(
      `INSERT INTO webhook_endpoint (id, project_id, url, created_at, deleted_at)
       SELECT gen_random_uuid(), $1, $2, clock_timestamp() + interval '1 day', clock_timestamp() FROM generate_series(1, $3::int)`,
      [customer.merchant, URL_OF_SHOP, WEBHOOKS_PER_DAY],
    );
    expect((await post(customer, '', { url: URL_OF_SHOP })).status).toBe(201);
  });
});
