// The operator's commands on webhooks: what is shown once, what is audited, and how secrets are sealed anew.
import { randomBytes } from 'node:crypto';
import { cliWith } from '../operator.js';
import { openWebhookWorld, URL_OF_SHOP, type WebhookWorld } from '../webhook-world.js';

let world: WebhookWorld;

beforeAll(async () => {
  world = await openWebhookWorld();
}, 60_000);

afterAll(() => world.close());

it('makes, lists, changes, rotates, tests, replays and deletes, with the operator in the audit log', async () => {
  const cli = cliWith(world.env);
  const { merchant } = await world.newCustomer();
  const created = await cli('webhooks', 'create', merchant, '--url', URL_OF_SHOP, '--type', 'project.frozen', '--json');
  const made = created.json();
  expect(made).toMatchObject({ merchant, url: 'https://shop.example.com/energy', types: ['project.frozen'] });
  expect(made.secret).toMatch(/^whsec_/);
  expect((await cli('webhooks', 'change', made.webhook, '--all-types', '--json')).json().types).toBeNull();
  expect((await cli('webhooks', 'rotate', made.webhook, '--yes', '--json')).json().secret).not.toBe(made.secret);
  expect((await cli('webhooks', 'test', made.webhook)).code).toBe(0);
  expect((await cli('webhooks', 'replay', made.webhook, '--after', '0')).code).toBe(0);
  const { deliveries } = (await cli('webhooks', 'deliveries', made.webhook, '--json')).json();
  expect(deliveries).toHaveLength(1);
  expect((await cli('webhooks', 'resend', made.webhook, String(deliveries[0].id))).code).toBe(0);
  const listed = await cli('webhooks', 'list', merchant);
  expect(listed.out).toContain(made.webhook);
  expect(listed.out).not.toContain('token=abc');
  expect((await cli('webhooks', 'delete', made.webhook, '--yes')).code).toBe(0);
  expect((await cli('webhooks', 'delete', made.webhook, '--yes')).err).toContain('no webhook with this id');
  const acts = await world.api.database.query<{ action: string }>(
    `SELECT action FROM audit_log WHERE subject = $1 AND action LIKE 'webhook.%' ORDER BY id`,
    [merchant],
  );
  expect(acts.map(({ action }) => action)).toEqual([
    ...['webhook.create', 'webhook.change', 'webhook.rotate', 'webhook.test', 'webhook.replay', 'webhook.resend'],
    'webhook.delete',
  ]);
  const [{ detail }] = (await world.api.database.query(
    `SELECT detail::text FROM audit_log WHERE action = 'webhook.create' AND subject = $1`,
    [merchant],
  )) as [{ detail: string }];
  expect(detail).not.toContain('token');
});

it('seals the secrets anew under the newest key', async () => {
  const customer = await world.newCustomer();
  const { id } = await world.newWebhook(customer);
  await customer.request('POST', `/v1/webhooks/${id}/rotate`);
  const next = {
    ...world.env,
    MASTER_KEY: randomBytes(32).toString('base64'),
    MASTER_KEY_PREVIOUS: world.env['MASTER_KEY']!,
  };
  const sealed = () =>
    world.api.database.query<{ both: Buffer[] }>(
      `SELECT ARRAY[secret_sealed, previous_secret_sealed] AS both FROM webhook_endpoint WHERE id = $1`,
      [id],
    );
  const [before] = await sealed();
  const { rewrap } = (await cliWith(next)('keys', 'rewrap', '--yes', '--json')).json();
  const count = (rewrap as { what: string; rewrapped: number; failed: [] }[]).find(({ what }) =>
    what.includes('webhook'),
  );
  expect(count).toMatchObject({ rewrapped: expect.any(Number), failed: [] });
  const [after] = await sealed();
  expect(after!.both.map((each, index) => each.equals(before!.both[index]!))).toEqual([false, false]);
});
