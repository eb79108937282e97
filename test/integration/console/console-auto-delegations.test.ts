// Auto-delegations in the consoles. They use the service of API and CLI, recorded prices, and show the cost first.
// Operators can only read them.
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { cliWith, seedTestCanaries, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_MS = 120_000;
const ADDRESS = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const CAP = 50_000_000;
const TERMS = { keep_energy: 131_000, daily_cap_credits: CAP };

let test: TestDatabase;
let consoles: { merchant: TestConsole; operator: TestConsole };
let [mine, theirs, played]: string[] = [];
let owner: Account;
let member: Account;
let support: Account;

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  consoles = { merchant: await openConsole(test.url, 'merchant'), operator: await openConsole(test.url, 'operator') };
  const cli = cliWith(settings(test.url));
  const made = async (name: string, ...options: string[]): Promise<string> =>
    ((await cli('project', 'create', '--name', name, ...options, '--json')).json() as { merchant: string }).merchant;
  [mine, theirs, played] = [await made('Mine'), await made('Theirs'), await made('Played', '--test')];
  owner = await consoles.merchant.signedIn('owner', mine);
  member = await consoles.merchant.signedIn('member', mine);
  support = await consoles.operator.signedIn('support');
}, LIMIT_MS);

beforeEach(async () => {
  const { database } = consoles.merchant;
  await database.query('DELETE FROM auto_delegation');
  await measured(0);
});

afterAll(async () => {
  await consoles.merchant.close();
  await consoles.operator.close();
  await test.drop();
});

/** Stores chain state and rate as another process measured them `agoSec` seconds ago. */
async function measured(agoSec: number): Promise<void> {
  await consoles.merchant.database.query(
    `INSERT INTO market_state (name, value, measured_at)
     SELECT name, value::jsonb, clock_timestamp() - make_interval(secs => $1) FROM (VALUES
       ('chain', '{"energyFeeSun":"100","transactionFeeSunPerByte":"1000","totalEnergyLimit":"180000000000","totalEnergyWeight":"19000000000"}'),
       ('trx-usd', '{"rate":"0.30"}')) v(name, value)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value, measured_at = excluded.measured_at`,
    [agoSec],
  );
}

const of = (rest = '', project = mine!): string => `/api/projects/${project}/auto-delegations${rest}`;

it('a preview shows the costs in dollars, and creates nothing', async () => {
  const { status, body } = await owner.browser.post(of('/preview'), TERMS);
  expect([status, body]).toEqual([
    200,
    {
      idle_per_day: { credits: 25_545_000, usd: '2.554500' },
      per_refill: { credits: expect.any(Number), usd: expect.stringMatching(/^0\.\d{6}$/) },
      keep_energy: 131_000,
      refill_below: 104_800,
      duration_sec: 86_400,
      daily_cap: { credits: CAP, usd: '5.000000' },
      balance: { credits: 0, usd: '0.000000' },
      days_by_cap: 0,
    },
  ]);
  expect((await owner.browser.get(of())).body.items).toEqual([]);
});

it('an owner creates, changes, pauses, resumes, wakes and removes it, each with a row in the audit log', async () => {
  const made = await owner.browser.post(of(`/${ADDRESS}`), TERMS);
  expect([made.status, made.body]).toMatchObject([
    200,
    {
      address: ADDRESS,
      status: 'active',
      keep_energy: 131_000,
      refill_below: 104_800,
      daily_cap: { usd: '5.000000' },
      spent_today: { credits: 0 },
      key: { id: mine, revoked: false },
      costs: { idle_per_day: { usd: '2.554500' } },
      next: { what: 'use' },
    },
  ]);
  const changed = await owner.browser.post(of(`/${ADDRESS}`), { ...TERMS, keep_energy: 65_000, refill_below: 60_000 });
  expect(changed.body).toMatchObject({ id: made.body.id, keep_energy: 65_000, refill_below: 60_000 });

  const paused = await owner.browser.post(of(`/${ADDRESS}/cap`), { daily_cap_credits: 0 });
  expect(paused.body).toMatchObject({ daily_cap: { credits: 0 }, keep_energy: 65_000, refill_below: 60_000 });
  const resumed = await owner.browser.post(of(`/${ADDRESS}/cap`), { daily_cap_credits: CAP });
  expect(resumed.body).toMatchObject({ daily_cap: { credits: CAP }, keep_energy: 65_000 });

  await consoles.merchant.database.query(`UPDATE auto_delegation SET asleep = true, due_at = NULL`);
  expect((await owner.browser.get(of(`/${ADDRESS}`))).body).toMatchObject({ status: 'asleep', next: { what: 'use' } });
  expect((await owner.browser.post(of(`/${ADDRESS}/wake`), {})).body).toMatchObject({ status: 'active' });

  expect((await owner.browser.post(of(`/${ADDRESS}/delete`), {})).body).toEqual({ done: true });
  expect((await owner.browser.get(of(`/${ADDRESS}`))).status).toBe(404);
  const acts = await consoles.merchant.database.query<{ action: string; actor: string; subject: string }>(
    `SELECT action, actor, subject FROM audit_log WHERE action LIKE 'auto-delegation.%' ORDER BY id`,
  );
  expect(acts).toEqual(
    ['set', 'set', 'cap', 'cap', 'wake', 'delete'].map((act) => ({
      action: `auto-delegation.${act}`,
      actor: owner.email,
      subject: mine,
    })),
  );
});

it('shows the reason of a pause and the next attempt, and filters by it', async () => {
  await owner.browser.post(of(`/${ADDRESS}`), TERMS);
  await consoles.merchant.database.query(
    `UPDATE auto_delegation SET pause_reason = 'INSUFFICIENT_CREDITS', paused_at = clock_timestamp(), due_at = NULL,
       check_at = '2026-11-24T12:00:00Z'`,
  );
  const list = async (query: string) => (await owner.browser.get(of(query))).body.items;
  expect(await list('?status=paused')).toMatchObject([
    {
      status: 'paused',
      pause: { reason: 'INSUFFICIENT_CREDITS' },
      next: { what: 'tries_again', at: '2026-11-24T12:00:00.000Z' },
    },
  ]);
  expect(await list('?status=active')).toEqual([]);
});

it('a refusal leaves nothing: invalid terms, not worth renting, an unread chain, a test project', async () => {
  const refused = async (terms: object, path = of(`/${ADDRESS}`)) => {
    const { status, body } = await owner.browser.post(path, terms);
    return [status, body.error];
  };
  expect(await refused({ ...TERMS, refill_below: 131_001 })).toEqual([400, 'INVALID_REQUEST']);
  expect(await refused({ ...TERMS, keep_energy: 0 })).toEqual([400, 'INVALID_REQUEST']);
  expect(await refused({ ...TERMS, duration_sec: 31_536_000 })).toEqual([400, 'INVALID_REQUEST']);
  expect(await refused({ ...TERMS, until: '2020-01-01T00:00:00Z' })).toEqual([400, 'INVALID_REQUEST']);
  expect(await refused(TERMS, of('/Tnobody'))).toEqual([400, 'INVALID_REQUEST']);
  await consoles.merchant.database.query(
    `UPDATE market_state SET value = jsonb_set(value, '{energyFeeSun}', '"30"') WHERE name = 'chain'`,
  );
  expect(await refused(TERMS)).toEqual([409, 'NOT_WORTH_RENTING']);
  await measured(3600);
  expect(await refused(TERMS)).toEqual([503, 'CHAIN_UNAVAILABLE']);
  await measured(0);
  const ofTest = await consoles.merchant.signedIn('owner', played);
  expect((await ofTest.browser.post(of(`/${ADDRESS}`, played), TERMS)).body.error).toBe('RECEIVER_NOT_SUPPORTED');
  expect(await consoles.merchant.database.query('SELECT FROM auto_delegation')).toEqual([]);
});

it('the paying key stays while it may order, and then the primary key pays', async () => {
  await owner.browser.post(of(`/${ADDRESS}`), TERMS);
  const key = await owner.browser.post(`/api/projects/${mine!}/keys`, { name: 'payouts', scopes: ['order'] });
  const id = key.body.key.id as string;
  await consoles.merchant.database.query(`UPDATE auto_delegation SET api_key_id = $1`, [id]);
  expect((await owner.browser.post(of(`/${ADDRESS}`), TERMS)).body.key).toEqual({
    id,
    name: 'payouts',
    revoked: false,
  });
  await owner.browser.post(`/api/projects/${mine!}/keys/${id}/revoke`, {});
  expect((await owner.browser.get(of(`/${ADDRESS}`))).body.key).toMatchObject({ id, revoked: true });
  expect((await owner.browser.post(of(`/${ADDRESS}`), TERMS)).body.key).toMatchObject({ id: mine, revoked: false });
});

it('a member and operators read it and change nothing, and another project has none of it', async () => {
  await owner.browser.post(of(`/${ADDRESS}`), TERMS);
  expect((await member.browser.get(of(`/${ADDRESS}`))).body).toMatchObject({ address: ADDRESS });
  expect((await member.browser.post(of(`/${ADDRESS}/cap`), { daily_cap_credits: 0 })).status).toBe(403);
  expect((await support.browser.get(of())).body.items).toMatchObject([{ address: ADDRESS }]);
  expect((await support.browser.get(of(`/${ADDRESS}`))).body).toMatchObject({ key: { id: mine } });
  expect((await support.browser.post(of(`/${ADDRESS}/cap`), { daily_cap_credits: 0 })).status).toBe(404);
  const other = await consoles.merchant.signedIn('owner', theirs);
  expect((await other.browser.get(of(`/${ADDRESS}`, theirs))).status).toBe(404);
  expect((await other.browser.post(of(`/${ADDRESS}/cap`, theirs), { daily_cap_credits: 0 })).status).toBe(404);
  expect((await other.browser.get(of(`/${ADDRESS}`))).status).toBe(404);
});
