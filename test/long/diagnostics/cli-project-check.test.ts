// `project check` on a real database: every line is ok for a ready project, and each defect is reported by exactly one
// line.
import { ReadyProjects, type Ready } from '../docs/ready-project.js';
import { asAdmin } from '../../setup/admin.js';

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly says: string;
  readonly todo?: string;
}

let projects: ReadyProjects;

beforeAll(async () => {
  projects = await ReadyProjects.open();
});

afterAll(async () => {
  await projects.fixture.close();
});

const run = (...args: string[]): Promise<string> => projects.run(...args);

async function check({ merchant }: Ready): Promise<{ code: number; findings: readonly Finding[] }> {
  const result = await projects.cli('project', 'check', merchant, '--json');
  const { ok, findings } = result.json() as { ok: boolean; findings: Finding[] };
  expect(ok).toBe(result.code === 0);
  expect(ok).toBe(findings.every(({ state }) => state !== 'missing'));
  return { code: result.code, findings };
}

const LINES = [
  'state',
  'signatures',
  'key primary',
  'idempotency',
  'webhook shop.example.com',
  'events',
  'deposits',
  'balance',
  'low balance',
  'spend cap',
  'requests',
  'retries',
];

it('a project that is ready has every line ok, with its facts, and the command ends with 0', async () => {
  const { code, findings } = await check(await projects.create());
  expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
  expect([code, findings.map((finding) => finding.check)]).toEqual([0, LINES]);
  const says = Object.fromEntries(findings.map((finding) => [finding.check, finding.says]));
  expect(says['key primary']).toMatch(
    /^Scopes read, quote, order, manage; no cap; from any address; last used today; created today\.$/,
  );
  expect(says['deposits']).toMatch(/^1 deposits were credited; the address is T\w{33}\.$/);
  expect(says['balance']).toMatch(/^\d[\d ]+ credits \(\$[\d.]+\): \d+ days at the spending of 7 days\.$/);
  expect(says['spend cap']).toMatch(/^500 000 000 credits \(\$50\.00\) a day, of which \d[\d ]+ credits/);
});

it('shows from where a key may be used: from the addresses on its own list and on that of the project', async () => {
  const ready = await projects.create();
  await run('project', 'options', ready.merchant, '--allow-source', '127.0.0.0/8');
  const says = async (): Promise<string | undefined> =>
    (await check(ready)).findings.find(({ check: name }) => name === 'key primary')?.says;
  expect(await says()).toContain('; from 127.0.0.0/8;');
  await run('keys', 'options', ready.merchant, '--allow-source', '127.0.0.1');
  expect(await says()).toContain('; from 127.0.0.1, if also allowed by the project: 127.0.0.0/8;');
});

it('a check writes nothing', async () => {
  const ready = await projects.create();
  const states = async (): Promise<unknown> =>
    asAdmin(projects.fixture.env['DATABASE_URL']!, async (client) => {
      const { rows } = await client.query(
        `SELECT (SELECT count(*) FROM audit_log) AS acts, (SELECT count(*) FROM event) AS events,
                (SELECT updated_at FROM project WHERE id = $1) AS project`,
        [ready.merchant],
      );
      return rows;
    });
  const before = await states();
  await check(ready);
  expect(await states()).toEqual(before);
});

type Change = (ready: Ready) => Promise<unknown>;
type Case = readonly [
  what: string,
  change: Change,
  check: string,
  state: 'look' | 'missing',
  says: RegExp,
  todo: RegExp,
];

const options =
  (...args: string[]): Change =>
  ({ merchant }) =>
    run('project', 'options', merchant, ...args);
const ofProject =
  (text: string): Change =>
  ({ merchant }) =>
    projects.sql(text, [merchant]);
const ofWebhook =
  (text: string): Change =>
  ({ webhook }) =>
    projects.sql(text, [webhook]);

const refused = (count: number, error: string, status: number): Change =>
  ofProject(
    `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
   SELECT $1, clock_timestamp(), 'r', 'GET', '/v1/orders', ${status.toString()}, '${error}', 'The path is signed encoded.', '203.0.113.7'
     FROM generate_series(1, ${count.toString()})`,
  );

const CASES: readonly Case[] = [
  [
    'is frozen',
    ({ merchant }) => run('project', 'freeze', merchant, '--yes'),
    'state',
    'missing',
    /every request is refused/,
    /project unfreeze/,
  ],
  ['takes MD5', options('--signatures', 'either'), 'signatures', 'look', /neither path nor time/, /--signatures hmac/],
  [
    'takes MD5 alone',
    options('--signatures', 'md5'),
    'signatures',
    'look',
    /no events, webhooks or deposits/,
    /--signatures hmac/,
  ],
  [
    'takes MD5 within limits',
    options('--signatures', 'either', '--require-quote', 'on', '--allow-source', '127.0.0.1'),
    'signatures',
    'look',
    /required quotes, allowed addresses and a cap limit this/,
    /--signatures hmac/,
  ],
  [
    'has a key that was never used',
    ofProject(`UPDATE api_key SET last_used_at = NULL WHERE project_id = $1`),
    'key primary',
    'look',
    /never used/,
    /signed with it/,
  ],
  [
    'has a key that nobody uses any more',
    ofProject(`UPDATE api_key SET last_used_at = clock_timestamp() - interval '100 days' WHERE project_id = $1`),
    'key primary',
    'look',
    /last used 100 days ago/,
    /keys revoke/,
  ],
  [
    'has an old key',
    ofProject(`UPDATE api_key SET created_at = clock_timestamp() - interval '400 days' WHERE project_id = $1`),
    'key primary',
    'look',
    /created 400 days ago/,
    /project rotate-key/,
  ],
  [
    'demands no key, though all had one',
    options('--require-idempotency-key', 'off'),
    'idempotency',
    'look',
    /all 1 orders of 7 days had a key/,
    /--require-idempotency-key on/,
  ],
  [
    'demands no key and bought nothing',
    async (ready) => {
      await options('--require-idempotency-key', 'off')(ready);
      await projects.sql(`UPDATE orders SET created_at = created_at - interval '8 days' WHERE project_id = $1`, [
        ready.merchant,
      ]);
    },
    'idempotency',
    'missing',
    /no purchases yet/,
    /--require-idempotency-key on/,
  ],
  [
    'has a webhook that took nothing',
    ofWebhook(
      `UPDATE webhook_delivery SET ended_at = clock_timestamp() - interval '8 days', cause = 'test' WHERE endpoint_id = $1`,
    ),
    'webhook shop.example.com',
    'missing',
    /No delivery succeeded in 7 days/,
    /webhooks test/,
  ],
  [
    'has a webhook that fails',
    ofWebhook(`UPDATE webhook_state SET failing_since = clock_timestamp() WHERE endpoint_id = $1`),
    'webhook shop.example.com',
    'missing',
    /have failed since \d{4}-/,
    /webhooks deliveries/,
  ],
  [
    'has a webhook that was disabled',
    ofWebhook(`UPDATE webhook_endpoint SET disabled_at = clock_timestamp(), disabled_reason = 'gone' WHERE id = $1`),
    'webhook shop.example.com',
    'missing',
    /its server answered 410/,
    /webhooks change .* --enabled on/,
  ],
  [
    'has a webhook that its owner disabled',
    ({ webhook }) => run('webhooks', 'change', webhook, '--enabled', 'off'),
    'webhook shop.example.com',
    'look',
    /An owner has disabled/,
    /webhooks delete/,
  ],
  [
    'took no event but a test',
    ofWebhook(`UPDATE webhook_delivery SET cause = 'test' WHERE endpoint_id = $1`),
    'events',
    'look',
    /No webhook delivery/,
    /last position/,
  ],
  [
    'has no webhook',
    ({ webhook }) => run('webhooks', 'delete', webhook, '--yes'),
    'webhooks',
    'look',
    /read from the log/,
    /webhooks create/,
  ],
  [
    'has no address to pay to',
    ofProject(`DELETE FROM deposit_address WHERE project_id = $1`),
    'deposits',
    'look',
    /no deposit address/,
    /credits topup/,
  ],
  [
    'never paid in',
    ofProject(`DELETE FROM deposit WHERE project_id = $1`),
    'deposits',
    'look',
    /No deposit to T/,
    /small deposit/,
  ],
  [
    'has spent its balance',
    ofProject(`UPDATE credit_account SET balance_credits = 0, low_balance_credits = 0 WHERE project_id = $1`),
    'balance',
    'missing',
    /too low for any purchase/,
    /credits topup/,
  ],
  [
    'has a balance for less than a day',
    ofProject(`UPDATE credit_account SET balance_credits = 5000000, low_balance_credits = 0 WHERE project_id = $1`),
    'balance',
    'missing',
    /less than a day/,
    /credits topup/,
  ],
  [
    'has a balance for some days',
    ofProject(`UPDATE credit_account SET balance_credits = 27000000, low_balance_credits = 0 WHERE project_id = $1`),
    'balance',
    'look',
    /: 3 days at/,
    /credits topup/,
  ],
  [
    'has no threshold',
    options('--low-balance-off'),
    'low balance',
    'missing',
    /there is no warning/,
    /--low-balance N/,
  ],
  [
    'is below its threshold',
    ofProject(`UPDATE credit_account SET low_balance_credits = 2000000000 WHERE project_id = $1`),
    'low balance',
    'look',
    /below the threshold of 2 000 000 000/,
    /credits topup/,
  ],
  [
    'is near its cap',
    options('--daily-cap', '10000000'),
    'spend cap',
    'look',
    /of which 8 775 000 credits/,
    /--daily-cap N/,
  ],
  [
    'was refused something',
    refused(1, 'INVALID_REQUEST', 400),
    'requests',
    'look',
    /^1 requests were refused .*compared with 1 orders\. 100 % 400 INVALID_REQUEST, mostly: The path is signed encoded\.$/,
    /project requests/,
  ],
  [
    'was refused nearly everything',
    refused(20, 'INVALID_SIGNATURE', 401),
    'requests',
    'missing',
    /^20 requests were refused .*100 % 401/,
    /project requests/,
  ],
];

it.each(CASES)('a project that %s', async (_what, change, line, state, says, todo) => {
  const ready = await projects.create();
  await change(ready);
  const { findings } = await check(ready);
  const found = findings.filter((finding) => finding.check === line);
  expect(found).toEqual([{ check: line, state, says: expect.stringMatching(says), todo: expect.stringMatching(todo) }]);
  // A consequence may appear in a related line, but no other line may complain.
  const related: Readonly<Record<string, readonly string[]>> = {
    'webhook shop.example.com': ['events'],
    webhooks: ['events'],
  };
  const others = findings.filter((finding) => finding.state !== 'ok' && finding.check !== line);
  expect(others.map((finding) => finding.check)).toEqual(others.length === 0 ? [] : (related[line] ?? []));
});

it('a project without a cap is limited by its balance, or by nothing, and so each key that may buy is asked about', async () => {
  const ready = await projects.create();
  await run('project', 'options', ready.merchant, '--daily-cap-off');
  const capOf = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await check(ready)).findings.map((finding) => [finding.check, finding.state]));
  expect(await capOf()).toMatchObject({ 'spend cap': 'look', 'key primary': 'look' });
  await run('project', 'terms', ready.merchant, '--postpaid', '--unlimited', '--yes');
  expect(await capOf()).toMatchObject({ 'spend cap': 'missing', balance: 'ok' });
  await run('keys', 'options', ready.merchant, '--daily-cap', '500000000');
  expect(await capOf()).toMatchObject({ 'spend cap': 'ok', 'key primary': 'ok' });
});

it('orders without a key of their own are counted, and those that were sent again as new ones', async () => {
  const ready = await projects.create();
  await run('project', 'options', ready.merchant, '--require-idempotency-key', 'off');
  await projects.buy(ready);
  const linesOf = async (): Promise<Record<string, Finding>> =>
    Object.fromEntries((await check(ready)).findings.map((finding) => [finding.check, finding]));
  const once = await linesOf();
  expect(once['idempotency']).toMatchObject({
    state: 'missing',
    says: expect.stringMatching(/^1 of 2 orders of 7 days/),
  });
  expect(once['retries']).toMatchObject({ state: 'ok' });
  await projects.buy(ready);
  const twice = await linesOf();
  expect(twice['retries']).toMatchObject({
    state: 'missing',
    says: expect.stringMatching(/^1 orders .* each was charged/),
  });
});

it('a repeated nonce is a retry that was not signed again', async () => {
  const ready = await projects.create();
  await refused(2, 'SIGNATURE_REPLAYED', 401)(ready);
  const { findings } = await check(ready);
  expect(findings.find((finding) => finding.check === 'retries')).toMatchObject({
    state: 'look',
    says: '2 requests repeated a nonce.',
  });
});

it('a project whose keys may not buy', async () => {
  const ready = await projects.create();
  await run('keys', 'create', ready.merchant, '--name', 'reader', '--scope', 'read');
  await run('keys', 'revoke', ready.merchant);
  const { findings } = await check(ready);
  expect(findings.map(({ check, state }) => `${check} ${state}`)).toEqual(
    expect.arrayContaining(['key reader look', 'keys missing']),
  );
});

it('people read marks, sentences and commands, in 80 columns', async () => {
  const ready = await projects.create();
  await run('project', 'options', ready.merchant, '--signatures', 'either', '--low-balance-off');
  const { code, out, err } = await projects.cli('project', 'check', ready.merchant);
  expect([code, err]).toEqual([1, '1 to fix.\n']);
  expect(out).toMatch(/^ok {6}state +The project is active\.$/m);
  expect(out).toMatch(/^look {4}signatures +The project also accepts MD5/m);
  expect(out).toMatch(/^missing low balance +No threshold[^→]*\n +→ Set some days’ spending: `project options/m);
  expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
  const unknown = await projects.cli('project', 'check', '00000000-0000-4000-8000-000000000000');
  expect([unknown.code, unknown.out]).toEqual([1, '']);
});
