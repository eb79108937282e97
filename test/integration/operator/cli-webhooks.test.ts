// The operator's webhook commands: secrets shown once, audit entries, resealing of secrets.
import { randomBytes } from 'node:crypto';
import { until } from '../../../packages/local/src/wait.js';
import { WebhookDeliveries } from '../../../src/modules/webhooks/webhook-deliveries.js';
import { cliWith } from '../../support/cli.js';
import { openWebhookFixture, URL_OF_SHOP, type WebhookFixture } from '../../support/webhooks/webhook-fixture.js';

let fixture: WebhookFixture;

beforeAll(async () => {
  fixture = await openWebhookFixture();
});

afterAll(() => fixture.close());

it('creates, lists, changes, rotates, tests, replays and deletes, with the operator in the audit log', async () => {
  const cli = cliWith(fixture.env);
  const { merchant } = await fixture.newCustomer();
  const created = await cli('webhooks', 'create', merchant, '--url', URL_OF_SHOP, '--type', 'project.frozen', '--json');
  const made = created.json();
  expect(made).toMatchObject({ merchant, url: 'https://shop.example.com/…', types: ['project.frozen'] });
  expect(made.secret).toMatch(/^whsec_/);
  expect((await cli('webhooks', 'change', made.webhook, '--all-types', '--json')).json().types).toBeNull();
  expect((await cli('webhooks', 'rotate', made.webhook, '--yes', '--json')).json().secret).not.toBe(made.secret);
  const repeated = await cli('webhooks', 'rotate', made.webhook, '--yes');
  expect([repeated.code, repeated.err]).toEqual([1, expect.stringMatching(/rotate without an overlap/)]);
  expect((await cli('webhooks', 'test', made.webhook)).code).toBe(0);
  expect((await cli('webhooks', 'replay', made.webhook, '--after', '0')).code).toBe(0);
  const { deliveries } = (await cli('webhooks', 'deliveries', made.webhook, '--json')).json();
  expect(deliveries).toHaveLength(1);
  expect((await cli('webhooks', 'resend', made.webhook, String(deliveries[0].id))).code).toBe(0);
  const listed = await cli('webhooks', 'list', merchant);
  expect(listed.out).toContain(made.webhook);
  expect(listed.out).not.toContain('token=abc');
  expect((await cli('webhooks', 'delete', made.webhook, '--yes')).code).toBe(0);
  expect((await cli('webhooks', 'delete', made.webhook, '--yes')).err).toContain('no webhook with this ID');
  const acts = await fixture.api.database.query<{ action: string }>(
    `SELECT action FROM audit_log WHERE subject = $1 AND action LIKE 'webhook.%' ORDER BY id`,
    [merchant],
  );
  expect(acts.map(({ action }) => action)).toEqual([
    ...['webhook.create', 'webhook.change', 'webhook.rotate', 'webhook.test', 'webhook.replay', 'webhook.resend'],
    'webhook.delete',
  ]);
  const [{ detail }] = (await fixture.api.database.query(
    `SELECT detail::text FROM audit_log WHERE action = 'webhook.create' AND subject = $1`,
    [merchant],
  )) as [{ detail: string }];
  expect(detail).not.toContain('token');
});

it('tests, replays and resends nothing for a frozen project, whose events still go out', async () => {
  const cli = cliWith(fixture.env);
  const customer = await fixture.newCustomer();
  const { id } = await fixture.newWebhook(customer, { types: ['project.frozen'] });
  await fixture.happen(customer);
  await fixture.freeze(customer);
  await fixture.numberAll();
  const deliveries = async (): Promise<{ id: number; cause: string; status: string }[]> =>
    (await cli('webhooks', 'deliveries', id, '--json')).json().deliveries;
  const before = await deliveries();
  expect(before.map(({ cause, status }) => [cause, status])).toEqual([
    ['event', 'pending'],
    ['event', 'pending'],
  ]);
  for (const act of [
    ['test', id],
    ['replay', id, '--after', '0'],
    ['resend', id, String(before[0]!.id)],
  ]) {
    const { code, err } = await cli('webhooks', ...act);
    expect([act[0], code === 0, err]).toEqual([act[0], false, expect.stringContaining('This project is frozen')]);
  }
  expect(await deliveries()).toEqual(before);
  await fixture.freeze(customer, false);
  expect((await cli('webhooks', 'test', id)).code).toBe(0);
});

it('ends a test that was requested while the project was being frozen', async () => {
  const customer = await fixture.newCustomer();
  const { id } = await fixture.newWebhook(customer, { types: ['project.frozen'] });
  let freezing: Promise<void> | undefined;
  const freezeNow = async (): Promise<void> => {
    let isFrozen = false;
    freezing = fixture.freeze(customer).finally(() => (isFrozen = true));
    await until(
      async () => {
        const waiting = await fixture.api.database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return isFrozen || waiting.length > 0 ? true : undefined;
      },
      20_000,
      'the project being frozen, or waiting for the test',
      20,
    );
  };
  await fixture.api.app.get(WebhookDeliveries).test(customer.merchant, id, freezeNow);
  await freezing;
  const left = await fixture.api.database.query(
    `SELECT cause, status, fault FROM webhook_delivery WHERE endpoint_id = $1`,
    [id],
  );
  expect(left).toEqual([{ cause: 'test', status: 'dropped', fault: 'PROJECT_FROZEN' }]);
});

it('reseals the secrets under the newest key', async () => {
  const customer = await fixture.newCustomer();
  const { id } = await fixture.newWebhook(customer);
  await customer.request('POST', `/v1/webhooks/${id}/rotate`);
  const next = {
    ...fixture.env,
    MASTER_KEY: randomBytes(32).toString('base64'),
    MASTER_KEY_PREVIOUS: fixture.env['MASTER_KEY']!,
  };
  const sealed = () =>
    fixture.api.database.query<{ both: Buffer[] }>(
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
