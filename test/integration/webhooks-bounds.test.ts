// What a project may do with its webhooks over and over: bounded where it keeps rows for ever, or keeps the sender busy.
import { WEBHOOKS_PER_DAY } from '../../src/webhooks/webhooks.js';
import { expectError } from '../answers.js';
import type { Answer, HmacCustomer } from '../client.js';
import type { TestApi } from '../factory.js';
import { openWebhookWorld, URL_OF_SHOP, type WebhookWorld } from '../webhook-world.js';

let world: WebhookWorld;
let api: TestApi;

beforeAll(async () => {
  world = await openWebhookWorld();
  ({ api } = world);
}, 60_000);

afterAll(() => world.close());

const post = (customer: HmacCustomer, path: string, body: object = {}): Promise<Answer> =>
  customer.post(`/v1/webhooks${path}`, body);
/** As the sender ends what is not sent, or was not taken. */
const end = (id: string, status: 'dropped' | 'failed') =>
  api.database.query(
    `UPDATE webhook_delivery SET status = $2, fault = 'STATUS', next_at = NULL, ended_at = clock_timestamp(), is_fresh = false
      WHERE endpoint_id = $1 AND status = 'pending'`,
    [id, status],
  );
/** As if they had been made a minute before. */
const ageDeliveries = (id: string) =>
  api.database.query(
    `UPDATE webhook_delivery SET created_at = created_at - interval '1 minute' WHERE endpoint_id = $1`,
    [id],
  );

it('a webhook is made a hundred times a day at most, since deleted ones are kept', async () => {
  const customer = await world.newCustomer();
  for (let made = 0; made < WEBHOOKS_PER_DAY; made += 1) {
    const { id } = await world.newWebhook(customer);
    expect((await customer.request('DELETE', `/v1/webhooks/${id}`)).status).toBe(200);
  }
  expectError(await post(customer, '', { url: URL_OF_SHOP }), 'LIMIT_REACHED');
  await api.database.query(
    `UPDATE webhook_endpoint SET created_at = created_at - interval '1 day' WHERE project_id = $1`,
    [customer.merchant],
  );
  expect((await post(customer, '', { url: URL_OF_SHOP })).status).toBe(201);
});

it('a replay is not broken off and begun over and over, which keeps the sender from everybody else’s', async () => {
  const customer = await world.newCustomer();
  const [one, other] = [await world.newWebhook(customer), await world.newWebhook(customer)];
  const replay = (id: string) => post(customer, `/${id}/replay`, { after: 0 });
  await world.happen(customer);
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
  const customer = await world.newCustomer();
  const { id } = await world.newWebhook(customer);
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
