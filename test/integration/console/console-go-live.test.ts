// The go-live checklist: each step is done exactly when the project's records show it.
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { credits } from '../../../src/domain/units.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { noteWebhookSecret } from '../../setup/canary.js';
import { asAdmin } from '../../setup/admin.js';
import { cliWith, seedTestCanaries, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const USD = 10_000_000;
const LIVE = [
  ...['key_used', 'requests_limited', 'webhook_accepts', 'can_pay', 'low_balance', 'daily_cap'],
  ...['people', 'order_delivered'],
];

let test: TestDatabase;
let merchants: TestConsole;
let operators: TestConsole;
let owner: Account;
let [project, other, rehearsal] = ['', '', ''];

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  const cli = cliWith(settings(test.url));
  const made = async (...options: string[]): Promise<string> =>
    ((await cli('project', 'create', ...options, '--json')).json() as { merchant: string }).merchant;
  project = await made('--name', 'Mine');
  other = await made('--name', 'Theirs', '--postpaid', '--unlimited', '--yes');
  rehearsal = await made('--name', 'Rehearsal', '--test');
  merchants = await openConsole(test.url, 'merchant');
  operators = await openConsole(test.url, 'operator');
  owner = await merchants.signedIn('owner', project);
});

afterAll(async () => {
  await operators.close();
  await merchants.close();
  await test.drop();
});

interface Steps {
  readonly is_test: boolean;
  readonly steps: readonly { readonly step: string; readonly is_done: boolean }[];
}

const of = (rest: string): string => `/api/projects/${project}${rest}`;
const read = async (id = project, by = owner): Promise<Steps> =>
  (await by.browser.get(`/api/projects/${id}/go-live`)).body as Steps;
const done = async (): Promise<string[]> => (await read()).steps.filter((step) => step.is_done).map(({ step }) => step);
const isDone = async (step: string): Promise<boolean> => (await done()).includes(step);

/** Writes rows of a later state, with triggers off. */
const write = (text: string, params: readonly unknown[] = [project]): Promise<unknown> =>
  asAdmin(test.url, async (client) => {
    await client.query('SET session_replication_role = replica');
    return client.query(text, [...params]);
  });
const change = async (settingsChanged: object): Promise<void> => {
  expect((await owner.browser.post(of('/settings'), settingsChanged)).status).toBe(200);
};

it('a new project has every step open', async () => {
  const { steps, is_test: isTest } = await read();
  expect([steps.map(({ step }) => step), isTest]).toEqual([LIVE, false]);
  expect(await done()).toEqual([]);
});

it('a key counts once it has signed a request, until it is revoked', async () => {
  const made = await owner.browser.post(of('/keys'), { name: 'shop', scopes: ['read', 'order'] });
  expect(made.status).toBe(201);
  expect(await isDone('key_used')).toBe(false);
  const { id } = made.body.key as { id: string };
  await write(`UPDATE api_key SET last_used_at = now() WHERE id = $1`, [id]);
  expect(await isDone('key_used')).toBe(true);
  await write(`UPDATE api_key SET revoked_at = now() WHERE id = $1`, [id]);
  expect(await isDone('key_used')).toBe(false);
  await write(`UPDATE api_key SET last_used_at = now() WHERE id = $1`);
  expect(await isDone('key_used')).toBe(true);
});

it('requests are limited by HMAC alone, or by addresses of the project or of each working key', async () => {
  await change({ signature_schemes: 'hmac' });
  expect(await isDone('requests_limited')).toBe(true);
  await change({ signature_schemes: 'either' });
  expect(await isDone('requests_limited')).toBe(false);
  await write(`UPDATE project SET allowed_sources = '{192.0.2.1}' WHERE id = $1`);
  expect(await isDone('requests_limited')).toBe(true);
  await write(`UPDATE project SET allowed_sources = '{}' WHERE id = $1`);
  await write(`UPDATE api_key SET allowed_sources = '{192.0.2.1}' WHERE project_id = $1 AND revoked_at IS NULL`);
  expect(await isDone('requests_limited')).toBe(true);
  await write(`UPDATE api_key SET revoked_at = now() WHERE project_id = $1`);
  expect(await isDone('requests_limited')).toBe(false);
  await write(`UPDATE api_key SET revoked_at = NULL, allowed_sources = '{}' WHERE id = $1`);
});

it('a webhook counts once it has accepted a delivery, while it is enabled', async () => {
  const made = await owner.browser.post(of('/webhooks'), { url: 'https://hooks.example.com/energy' });
  noteWebhookSecret(made.body.secret as string);
  const { id } = made.body.webhook as { id: string };
  expect(await isDone('webhook_accepts')).toBe(false);
  await write(`UPDATE webhook_state SET taken_at = now() WHERE endpoint_id = $1`, [id]);
  expect(await isDone('webhook_accepts')).toBe(true);
  await owner.browser.post(of(`/webhooks/${id}`), { enabled: false });
  expect(await isDone('webhook_accepts')).toBe(false);
  await write(`UPDATE webhook_endpoint SET disabled_at = NULL, disabled_reason = NULL WHERE id = $1`, [id]);
  await write(`UPDATE webhook_state SET taken_at = now() WHERE endpoint_id = $1`, [id]);
  await owner.browser.post(of(`/webhooks/${id}/delete`), {});
  expect(await isDone('webhook_accepts')).toBe(false);
});

it('credits count while the project is not frozen, and terms without a limit need no threshold', async () => {
  await operators.app.get(Ledger).topUp(project, credits(USD), 'bank', AUTHOR);
  expect(await isDone('can_pay')).toBe(true);
  await write(`UPDATE credit_account SET frozen = true WHERE project_id = $1`);
  expect(await isDone('can_pay')).toBe(false);
  await write(`UPDATE credit_account SET frozen = false WHERE project_id = $1`);
  const unlimited = await merchants.signedIn('owner', other);
  const { steps } = await read(other, unlimited);
  expect(steps.map(({ step }) => step)).toEqual(LIVE.filter((step) => step !== 'low_balance'));
  expect(steps.find(({ step }) => step === 'can_pay')).toMatchObject({ is_done: true });
});

it('a threshold and a cap count where they are set, and caps of all keys that buy count as one', async () => {
  await change({ low_balance_credits: USD, daily_cap_credits: USD });
  expect(await done()).toEqual(expect.arrayContaining(['low_balance', 'daily_cap']));
  await change({ no_low_balance: true, no_daily_cap: true });
  expect(await done()).not.toContain('low_balance');
  expect(await done()).not.toContain('daily_cap');
  await write(`UPDATE api_key SET daily_cap_credits = 1 WHERE id = $1`);
  expect(await isDone('daily_cap')).toBe(true);
  const made = await owner.browser.post(of('/keys'), { name: 'uncapped', scopes: ['read', 'order'] });
  expect([made.status, await isDone('daily_cap')]).toEqual([201, false]);
});

it('two people count once each has a second factor', async () => {
  await merchants.signedIn('owner', project);
  expect(await isDone('people')).toBe(true);
  await merchants.signedIn('member', project);
  expect(await isDone('people')).toBe(false);
});

it('an order counts once it is delivered', async () => {
  const insert = `INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun,
      credits, trx_usd_e8, created_at) VALUES ($1, 'first', sha256(''), 'rental', 'placed', 'T', 1, 1, 1, 1, 1, now())`;
  await write(insert);
  expect(await isDone('order_delivered')).toBe(false);
  await write(`UPDATE orders SET status = 'delivered' WHERE project_id = $1`);
  expect(await isDone('order_delivered')).toBe(true);
});

it('a test project has the steps that rehearse, and no stranger reads a project', async () => {
  const tester = await merchants.signedIn('owner', rehearsal);
  const { steps, is_test: isTest } = await read(rehearsal, tester);
  expect([steps.map(({ step }) => step), isTest]).toEqual([['key_used', 'webhook_accepts', 'order_delivered'], true]);
  expect((await tester.browser.get(of('/go-live'))).status).toBe(404);
  const admin = await operators.signedIn('admin');
  expect((await read(project, admin)).steps).toHaveLength(LIVE.length);
});
