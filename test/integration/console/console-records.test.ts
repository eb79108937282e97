// Further console pages over HTTP: home, ledger, statements, webhooks, events, refused requests, audit log, and the
// operators' view of the whole service.
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { credits } from '../../../src/domain/units.js';
import { isBox } from '../../../src/platform/support/sealed-box.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { seedTestCanaries } from '../../support/cli.js';
import { noteWebhookSecret } from '../../setup/canary.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const USD = 10_000_000;

let store: TestDatabase;
let operators: TestConsole;
let merchants: TestConsole;
let admin: Account;
let owner: Account;
let member: Account;
let project: string;
let other: string;

beforeAll(async () => {
  store = await createTestDatabase();
  await seedTestCanaries(store.url);
  operators = await openConsole(store.url, 'operator');
  merchants = await openConsole(store.url, 'merchant');
  admin = await operators.signedIn('admin');
  [project, other] = [await makeProject('Shop'), await makeProject('Other')];
  owner = await merchants.signedIn('owner', project);
  member = await merchants.signedIn('member', project);
  const ledger = operators.app.get(Ledger);
  for (const count of [1, 2, 3]) await ledger.topUp(project, credits(count * USD), `bank-${count.toString()}`, AUTHOR);
  await ledger.topUp(other, credits(9 * USD), 'bank-other', AUTHOR);
});

afterAll(async () => {
  await merchants.close();
  await operators.close();
  await store.drop();
});

async function makeProject(name: string): Promise<string> {
  const made = await admin.browser.post('/api/operator/projects', { name, terms: 'prepaid', reason: 'a new customer' });
  return made.body.project.id as string;
}

const of = (rest: string, id = project): string => `/api/projects/${id}${rest}`;

it('the home of a project shows its balance, its sums, open tasks and first steps', async () => {
  const { status, body } = await owner.browser.get(of('/home'));
  expect([status, body]).toEqual([
    200,
    {
      checked_at: expect.any(String),
      balance: { credits: 6 * USD, usd: '6.000000' },
      needs_you: [],
      running: [],
      running_more: false,
      last_30_days: expect.objectContaining({ orders: 0 }),
      last_orders: [],
      first_steps: { topped_up: true, key_used: false, webhook_made: false, order_delivered: false },
    },
  ]);
  const empty = await makeProject('Empty');
  const account = await merchants.signedIn('owner', empty);
  const needs = (await account.browser.get(of('/home', empty))).body.needs_you as { kind: string }[];
  expect(needs.map(({ kind }) => kind)).toEqual(['balance_out']);
});

it('the ledger is read page by page and as CSV of the same filter, with its own entries only', async () => {
  const first = await owner.browser.get(of('/ledger?limit=2'));
  expect(first.body.items).toMatchObject([
    { kind: 'topup', amount: { usd: '3.000000' }, reference: 'bank-3' },
    { kind: 'topup', reference: 'bank-2' },
  ]);
  const rest = await owner.browser.get(of(`/ledger?limit=2&cursor=${first.body.next_cursor as string}`));
  expect(rest.body.items).toMatchObject([{ reference: 'bank-1' }]);
  const csv = await owner.browser.get(of('/ledger.csv'));
  expect(csv.text.trim().split('\r\n')).toHaveLength(4);
  expect(csv.text).not.toContain('bank-other');
  expect((await owner.browser.get(of('/ledger.csv?to=2020-01-01'))).text.trim().split('\r\n')).toHaveLength(1);
  expect((await owner.browser.get(of('/ledger', other))).status).toBe(404);
});

it('reads projects page by page from the newest, filtered by name and state', async () => {
  const filtered = async (filter: string): Promise<string[]> => {
    const names: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { body } = await admin.browser.get(
        `/api/operator/projects?limit=2${filter}${cursor && `&cursor=${cursor}`}`,
      );
      const items = body.items as { name: string }[];
      expect(items.length).toBeLessThanOrEqual(2);
      names.push(...items.map(({ name }) => name));
      cursor = body.next_cursor as string | undefined;
    }
    return names;
  };
  const made = ['Paged one', 'Paged two', 'Paged three', 'paged four', 'Paged_five'];
  const ids: string[] = [];
  for (const name of made) ids.push(await makeProject(name));
  expect((await filtered('')).slice(0, 5)).toEqual([...made].reverse());
  expect(await filtered('&name=PAGED%20')).toEqual(['paged four', 'Paged three', 'Paged two', 'Paged one']);
  expect(await filtered('&name=%25')).toEqual([]);
  await admin.browser.post(`/api/operator/projects/${ids[1]!}/freeze`, { reason: 'asked by its owner' });
  expect(await filtered('&name=paged&state=frozen')).toEqual(['Paged two']);
  expect(await filtered('&name=paged&state=live')).not.toContain('Paged two');
  await admin.browser.post(`/api/operator/projects/${ids[1]!}/unfreeze`, { reason: 'asked by its owner' });
  expect(await filtered('&name=paged&state=frozen')).toEqual([]);
  expect(await filtered('&name=paged&state=test')).toEqual([]);
  for (const wrong of ['cursor=nothing', 'state=sold', 'limit=101']) {
    const { status, body } = await admin.browser.get(`/api/operator/projects?${wrong}`);
    expect([status, body.error]).toEqual([400, 'INVALID_REQUEST']);
  }
});

it('creates a webhook with a secret shown once and sealed, and changes, rotates, tests and deletes it', async () => {
  const made = await owner.browser.post(of('/webhooks'), {
    url: 'https://hooks.example.com/energy?token=secret',
    description: 'till',
  });
  expect([made.status, made.body.secret]).toEqual([201, expect.stringMatching(/^whsec_/)]);
  noteWebhookSecret(made.body.secret as string);
  const { id } = made.body.webhook as { id: string };
  const [row] = await merchants.database.query<{ secret_sealed: Buffer }>(
    'SELECT secret_sealed FROM webhook_endpoint WHERE id = $1',
    [id],
  );
  expect(isBox(row!.secret_sealed)).toBe(true);
  const list = await owner.browser.get(of('/webhooks'));
  expect(list.body.items).toMatchObject([{ id, enabled: true, description: 'till' }]);
  expect(list.text).not.toContain('whsec_');
  const rotated = await owner.browser.post(of(`/webhooks/${id}/rotate`), { expire_old_after_sec: 60 });
  expect([rotated.status, rotated.body.webhook.previous_secret_until]).toEqual([200, expect.any(String)]);
  noteWebhookSecret(rotated.body.secret as string);
  expect((await member.browser.post(of(`/webhooks/${id}/test`), {})).status).toBe(403);
  const tested = await owner.browser.post(of(`/webhooks/${id}/test`), {});
  expect([tested.status, tested.body.cause]).toEqual([200, 'test']);
  const sent = await owner.browser.get(of(`/webhooks/${id}/deliveries`));
  expect(sent.body.items).toMatchObject([{ id: tested.body.id, status: 'pending' }]);
  const again = await owner.browser.post(
    of(`/webhooks/${id}/deliveries/${(tested.body.id as number).toString()}/resend`),
    {},
  );
  expect(again.status).toBe(200);
  const setFrozen = async (to: 'freeze' | 'unfreeze') =>
    admin.browser.post(`/api/operator/projects/${project}/${to}`, { reason: 'asked by its owner' });
  expect((await setFrozen('freeze')).status).toBe(200);
  for (const [path, body] of [
    ['test', {}],
    ['replay', { after: 0 }],
    [`deliveries/${(tested.body.id as number).toString()}/resend`, {}],
  ] as const) {
    const refused = await owner.browser.post(of(`/webhooks/${id}/${path}`), body);
    expect([path, refused.status, refused.body.error]).toEqual([path, 403, 'PROJECT_FROZEN']);
  }
  expect((await setFrozen('unfreeze')).status).toBe(200);
  const support = await operators.signedIn('support');
  expect((await support.browser.get(of(`/webhooks/${id}`))).body.url).toBe('https://hooks.example.com/…');
  const off = await owner.browser.post(of(`/webhooks/${id}`), { enabled: false });
  expect(off.body).toMatchObject({ enabled: false, disabled_reason: 'owner' });
  expect((await owner.browser.post(of('/webhooks'), { url: 'http://127.0.0.1/x' })).body.error).toBe(
    'ADDRESS_NOT_ALLOWED',
  );
  expect((await owner.browser.get(of(`/webhooks/${id}`, other))).status).toBe(404);
  expect((await member.browser.post(of(`/webhooks/${id}/delete`), {})).status).toBe(403);
  expect((await owner.browser.post(of(`/webhooks/${id}/delete`), {})).status).toBe(200);
  expect((await owner.browser.get(of('/webhooks'))).body.items).toEqual([]);
});

it('its owner sees acts on the project and operators’ looks at it, and nothing of another project', async () => {
  await admin.browser.get(of('/balance'));
  const acts = (await owner.browser.get(of('/audit?limit=100'))).body.items as { action: string; actor: string }[];
  expect(acts.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['project.create', 'credits.topup', 'console.look', 'webhook.create']),
  );
  expect(JSON.stringify(acts)).not.toContain('bank-other');
  expect((await member.browser.get(of('/audit'))).status).toBe(403);
});

it('rejects a text with U+0000 by its member, and has nothing at a path with it', async () => {
  const asked: (readonly [who: Account, path: string])[] = [
    ...['/orders?receiver=%00', '/orders?cursor=%00', '/orders/new?since=a%00', '/orders.csv?receiver=T%00'].map(
      (rest) => of(rest),
    ),
    ...['/search?q=%00', '/ledger?cursor=%00', '/requests?cursor=%00', '/events?types=%00'].map((rest) => of(rest)),
  ].map((path) => [owner, path]);
  asked.push([admin, '/api/operator/orders?receiver=%00'], [admin, '/api/operator/search?q=a%00']);
  for (const [{ browser }, path] of asked) {
    const { status, body } = await browser.get(path);
    expect([path, status, body.error, body.details]).toEqual([
      path,
      400,
      'INVALID_REQUEST',
      [{ field: expect.any(String), msg: 'must not contain the character U+0000' }],
    ]);
  }
  const places = ['/orders/%00', '/orders/a%00b', '/auto-delegations/%00', '/webhooks/%00', '/statements/%00'];
  for (const path of [...places, '/keys/%00/made'].map((rest) => of(rest))) {
    expect([path, (await owner.browser.get(path)).status]).toEqual([path, 404]);
  }
  expect((await owner.browser.post(of('/auto-delegations/%00/cap'), { daily_cap_credits: 1 })).status).toBe(404);
  for (const [{ browser }, path, body, field] of [
    [owner, of('/keys'), { name: 'a\u0000b', scopes: ['read'] }, 'name'],
    [owner, of('/keys'), { name: 'a', scopes: ['read', '\u0000'] }, 'scopes'],
    [owner, of('/team/invitations'), { email: 'a\u0000@b.example', role: 'member' }, 'email'],
    [admin, '/api/operator/projects', { name: 'Sh\u0000op', terms: 'prepaid', reason: 'x' }, 'name'],
    [admin, '/api/operator/projects', { name: 'Shop', terms: 'prepaid', reason: '\u0000' }, 'reason'],
  ] as const) {
    const answer = await browser.post(path, body);
    expect([path, answer.status, answer.body.details?.[0].field]).toEqual([path, 400, field]);
  }
});

it('rejects the year 0 in a list, a file or a report', async () => {
  for (const list of ['orders', 'ledger', 'deposits', 'requests', 'orders.csv', 'ledger.csv']) {
    for (const query of ['from=0000-01-01', 'to=0000-12-31T00:00:00Z']) {
      const { status } = await owner.browser.get(of(`/${list}?${query}`));
      expect([list, query, status]).toEqual([list, query, 400]);
    }
  }
  for (const path of ['orders?from=0000-01-01', 'deposits?from=0000-01-01', 'report?from=0000-01-01&to=0000-01-05']) {
    expect([path, (await admin.browser.get(`/api/operator/${path}`)).status]).toEqual([path, 400]);
  }
});

it('rejects a time filter for deposits instead of ignoring it', async () => {
  for (const query of ['deposits?from=2026-11-01', 'deposits.csv?to=2026-11-30']) {
    expect([query, (await owner.browser.get(of(`/${query}`))).status]).toEqual([query, 400]);
  }
  expect((await admin.browser.get('/api/operator/deposits?from=2026-11-01')).status).toBe(400);
});

it('events, refused requests, statements and auto-delegations have separate lists', async () => {
  await merchants.database.query(
    `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address)
     VALUES ($1, now(), 'r1', 'GET', '/v1/orders', 401, 'INVALID_SIGNATURE', 'the body is not what was signed', '192.0.2.9'),
            ($2, now(), 'r2', 'GET', '/v1/orders', 401, 'INVALID_SIGNATURE', 'x', '192.0.2.9')`,
    [project, other],
  );
  expect((await owner.browser.get(of('/requests'))).body.items).toMatchObject([
    { request_id: 'r1', reason: 'the body is not what was signed' },
  ]);
  await merchants.database.query(
    `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec)
     VALUES ($1, 'TKept', $1, 130000, 65000, 3600, 10000000, 86400)`,
    [project],
  );
  expect((await owner.browser.get(of('/auto-delegations'))).body.items).toMatchObject([
    { address: 'TKept', status: 'active', daily_cap: { usd: '1.000000' } },
  ]);
  expect((await owner.browser.get(of('/auto-delegations?status=paused'))).body.items).toEqual([]);
  for (const list of ['/events', '/events?types=key.created', '/statements']) {
    expect([list, (await owner.browser.get(of(list))).body]).toEqual([
      list,
      expect.objectContaining({ items: expect.any(Array) }),
    ]);
  }
  expect((await owner.browser.get(of('/statements/1.csv'))).status).toBe(404);
});

it('operators see the whole service: home, inbox with remedies, pool, orders, deposits and reports', async () => {
  await operators.database.query(`INSERT INTO sales_stop (reason, findings) VALUES ('a rule is broken', '[]')`);
  const inbox = await admin.browser.get('/api/operator/inbox');
  expect(inbox.body.items).toMatchObject([
    {
      severity: 'fault',
      says: expect.stringMatching(/^Nothing is being sold: a rule is broken since .* UTC\. Check /),
      command: 'npm run -s cli -- verify',
    },
  ]);
  const home = await admin.browser.get('/api/operator/home');
  expect([home.status, home.body]).toEqual([
    200,
    expect.objectContaining({
      owed: { credits: 15 * USD, usd: '15.000000' },
      verify: { stopped: true, reason: 'a rule is broken' },
    }),
  ]);
  const days = await admin.browser.get('/api/operator/days');
  expect(days.body.today.day).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  expect((await admin.browser.get('/api/operator/pool')).body.forecast).toHaveLength(25);
  for (const path of ['orders', 'orders?attention=true', 'orders?due=true', 'deposits', 'deposits?status=held']) {
    expect([path, (await admin.browser.get(`/api/operator/${path}`)).status]).toEqual([path, 200]);
  }
  const day = days.body.today.day as string;
  const report = await admin.browser.get(`/api/operator/report?from=${day}&to=${day}&by=project`);
  expect(report.body).toMatchObject({
    by: 'project',
    total: { topups: { usd: '15.000000' } },
    owed: { usd: '15.000000' },
  });
  expect((await admin.browser.get(`/api/operator/report.csv?from=${day}&to=${day}`)).text).toContain('revenue_credits');
  for (const query of [`from=${day}&to=2020-01-01`, `from=x&to=${day}`, `from=2020-01-01&to=${day}`]) {
    expect([query, (await admin.browser.get(`/api/operator/report?${query}`)).status]).toEqual([query, 400]);
  }
  const system = await admin.browser.get('/api/operator/system');
  expect([system.status, system.body]).toEqual([
    200,
    {
      checked_at: expect.any(String),
      nodes: [],
      sends_counted: 0,
      chain: { unsearched_blocks: 0 },
      work: expect.arrayContaining([{ what: 'orders', waiting: 0, late: false }]),
      findings: expect.arrayContaining([expect.objectContaining({ check: 'worker', state: 'ok' })]),
      verify: { stop: { reason: 'a rule is broken', since: expect.any(String), findings: [] }, explained: [] },
    },
  ]);
  const acts = await admin.browser.get('/api/operator/audit?limit=1');
  expect(acts.body.items).toMatchObject([{ role: expect.any(String), actor: expect.any(String) }]);
  expect(acts.body.next_cursor).toEqual(expect.any(String));
  const made = await admin.browser.get(
    `/api/operator/audit?action=project.create&subject=${project}&by=${admin.email}`,
  );
  expect(made.body.items).toMatchObject([{ action: 'project.create', subject: project, reason: 'a new customer' }]);
  expect((await admin.browser.get('/api/operator/audit?by=nobody')).body.items).toEqual([]);
  for (const path of ['home', 'days', 'inbox', 'pool', 'orders', 'deposits', 'report', 'projects', 'system', 'audit']) {
    expect([path, (await owner.browser.get(`/api/operator/${path}`)).status]).toEqual([path, 404]);
  }
});

describe('the settings of a project', () => {
  const changed = async (id: string): Promise<string[]> =>
    (
      await operators.database.query<{ action: string }>(
        `SELECT action FROM audit_log WHERE subject = $1 AND actor = $2 ORDER BY id`,
        [id, owner.email],
      )
    ).map(({ action }) => action);

  it('its people read them, and its owner changes them with an audit row of each kind', async () => {
    const before = (await member.browser.get(of('/settings'))).body;
    expect(before).toMatchObject({ name: 'Shop', signature_schemes: 'either', require_quote: false });
    expect([before.daily_cap, before.low_balance]).toEqual([undefined, undefined]);
    const acts = (await changed(project)).length;
    const wanted = {
      signature_schemes: 'hmac',
      require_quote: true,
      daily_cap_credits: 0,
      low_balance_credits: 5 * USD,
    };
    const { status, body } = await owner.browser.post(of('/settings'), wanted);
    expect([status, body]).toMatchObject([
      200,
      { signature_schemes: 'hmac', require_quote: true, daily_cap: { credits: 0 }, low_balance: { usd: '5.000000' } },
    ]);
    expect((await changed(project)).slice(acts)).toEqual([
      'project.options',
      'credits.daily-cap',
      'credits.low-balance',
    ]);
    const lifted = await owner.browser.post(of('/settings'), { no_daily_cap: true, no_low_balance: true });
    expect([lifted.body.daily_cap, lifted.body.low_balance, lifted.body.signature_schemes]).toEqual([
      undefined,
      undefined,
      'hmac',
    ]);
    await owner.browser.post(of('/settings'), { signature_schemes: 'either', require_quote: false });
  });

  it.each([
    ['an unknown scheme', { signature_schemes: 'rsa' }],
    ['a cap together with no cap', { daily_cap_credits: 1, no_daily_cap: true }],
    ['the terms, which are the operator’s', { debt_limit_credits: 1 }],
  ])('are not changed by %s', async (_what, wanted) => {
    const before = (await owner.browser.get(of('/settings'))).body;
    expect((await owner.browser.post(of('/settings'), wanted)).status).toBe(400);
    expect((await owner.browser.get(of('/settings'))).body).toEqual(before);
  });

  it('stay as they are when the last of several changes fails', async () => {
    const before = (await owner.browser.get(of('/settings'))).body;
    const acts = (await changed(project)).length;
    const alter = (change: string) =>
      asAdmin(store.url, (client) => client.query(`ALTER TABLE credit_account ${change}`));
    await alter('ADD CONSTRAINT fails_last CHECK (low_balance_credits <> 77)');
    const wanted = { name: 'Half', require_quote: true, daily_cap_credits: 5, low_balance_credits: 77 };
    expect((await owner.browser.post(of('/settings'), wanted)).status).toBe(500);
    await alter('DROP CONSTRAINT fails_last');
    expect((await owner.browser.get(of('/settings'))).body).toEqual(before);
    expect(await changed(project)).toHaveLength(acts);
  });

  it('of another project do not exist', async () => {
    expect((await owner.browser.get(of('/settings', other))).status).toBe(404);
    expect((await owner.browser.post(of('/settings', other), { require_quote: true })).status).toBe(404);
    const [row] = await operators.database.query<{ require_quote: boolean }>(
      `SELECT require_quote FROM project WHERE id = $1`,
      [other],
    );
    expect(row?.require_quote).toBe(false);
  });
});

describe('a project’s name', () => {
  const nameAs = async (account: Account): Promise<string> =>
    (await account.browser.get(of('/settings'))).body.name as string;
  const acts = () =>
    merchants.database.query<{ actor: string; detail: unknown }>(
      `SELECT actor, detail FROM audit_log WHERE subject = $1 AND action = 'project.rename' ORDER BY id`,
      [project],
    );

  it('is changed by its owner and by an admin, immediately, with an audit entry that has the earlier one', async () => {
    const renamed = await owner.browser.post(of('/settings'), { name: '  Shop & Söhne ' });
    expect([renamed.status, renamed.body.name]).toEqual([200, 'Shop & Söhne']);
    const session = await owner.browser.get('/api/session');
    expect(session.body.projects).toMatchObject([{ id: project, name: 'Shop & Söhne' }]);
    expect((await admin.browser.post(of('/settings'), { name: 'Shop' })).status).toBe(200);
    expect(await nameAs(member)).toBe('Shop');
    // Setting the current name again is no change.
    expect((await owner.browser.post(of('/settings'), { name: 'Shop' })).status).toBe(200);
    expect(await acts()).toEqual([
      { actor: owner.email, detail: { name: 'Shop & Söhne', before: 'Shop' } },
      { actor: admin.email, detail: { name: 'Shop', before: 'Shop & Söhne' } },
    ]);
  });

  it.each([['   '], ['two\nlines'], ['x'.repeat(201)], [7]])('is never %j', async (name) => {
    const refused = await owner.browser.post(of('/settings'), { name });
    expect([refused.status, refused.body.error, refused.text.includes('name')]).toEqual([400, 'INVALID_REQUEST', true]);
    expect(await nameAs(owner)).toBe('Shop');
  });
});
