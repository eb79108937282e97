// The operators' freeze of a project, and the audit log: names, filters, looks and CSV.
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { ACT_COLUMNS } from '../../../src/modules/console/audit-list.js';
import type { ProjectLine } from '../../../src/modules/console/operator-shapes.js';
import type { ServiceAct } from '../../../src/modules/console/system-shapes.js';
import { credits } from '../../../src/domain/units.js';
import { openConsole, type Account, type Answer, type TestConsole } from '../../support/console/console-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { seedTestCanaries } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

let store: TestDatabase;
let operators: TestConsole;
let admin: Account;
let support: Account;
let shop: string;
let other: string;

beforeAll(async () => {
  store = await createTestDatabase();
  await seedTestCanaries(store.url);
  operators = await openConsole(store.url, 'operator');
  admin = await operators.signedIn('admin', undefined, 'ada@example.com');
  support = await operators.signedIn('support', undefined, 'bob@example.com');
  [shop, other] = [await makeProject('Shop, west'), await makeProject('Other')];
});

afterAll(async () => {
  await operators.close();
  await store.drop();
});

async function makeProject(name: string): Promise<string> {
  const made = await admin.browser.post('/api/operator/projects', { name, terms: 'prepaid', reason: 'a new customer' });
  return made.body.project.id as string;
}

const setFrozen = (to: 'freeze' | 'unfreeze', body: object, by = admin): Promise<Answer> =>
  by.browser.post(`/api/operator/projects/${shop}/${to}`, body);
const read = async (id: string): Promise<ProjectLine> =>
  (await admin.browser.get(`/api/operator/projects/${id}`)).body as ProjectLine;

async function acts(query = ''): Promise<ServiceAct[]> {
  const answer = await admin.browser.get(`/api/operator/audit?limit=100${query}`);
  expect([query, answer.status]).toEqual([query, 200]);
  return (answer.body as { items: ServiceAct[] }).items;
}

const actionsOf = async (query: string): Promise<string[]> => (await acts(query)).map(({ action }) => action);

describe('a freeze', () => {
  it('needs an admin with a fresh sign-in, and a reason', async () => {
    for (const body of [{}, { reason: '' }, { reason: '  ' }]) {
      expect((await setFrozen('freeze', body)).status).toBe(400);
    }
    expect((await setFrozen('freeze', { reason: 'unpaid' }, support)).status).toBe(403);
    const authenticated = (ago: string) =>
      operators.database.query(
        `UPDATE console_session SET authenticated_at = clock_timestamp() - $2::interval WHERE person_id = $1`,
        [admin.id, ago],
      );
    await authenticated('11 min');
    expect((await setFrozen('freeze', { reason: 'unpaid' })).body.error).toBe('SIGN_IN_AGAIN');
    await authenticated('0');
    expect(await read(shop)).toMatchObject({ frozen: false });
  });

  it('shows its author and reason on the project until it ends, and both acts in the audit log', async () => {
    expect((await setFrozen('freeze', { reason: ' unpaid since May ' })).status).toBe(200);
    const frozen = await read(shop);
    const by = { actor: admin.email, reason: 'unpaid since May', at: expect.any(String) };
    expect([frozen.frozen, frozen.frozen_by]).toEqual([true, by]);
    expect((await read(other)).frozen_by).toBeUndefined();
    await setFrozen('unfreeze', { reason: 'paid' });
    const active = await read(shop);
    expect([active.frozen, active.frozen_by]).toEqual([false, undefined]);
    await setFrozen('freeze', { reason: 'unpaid again' });
    expect((await read(shop)).frozen_by?.reason).toBe('unpaid again');
    await setFrozen('unfreeze', { reason: 'paid again' });
    const found = await acts(`&project=${shop}&kind=project`);
    expect(found.map(({ action, reason, actor, project }) => [action, reason, actor, project])).toEqual(
      [
        ['project.unfreeze', 'paid again'],
        ['project.freeze', 'unpaid again'],
        ['project.unfreeze', 'paid'],
        ['project.freeze', 'unpaid since May'],
        ['project.create', 'a new customer'],
      ].map((each) => [...each, admin.email, { id: shop, name: 'Shop, west' }]),
    );
  });
});

describe('the audit log', () => {
  it('names projects and people, also of orders and deposits', async () => {
    await operators.database.query(`INSERT INTO deposit_account (account, first_address) VALUES (0, 'TFirst')`);
    await operators.database.query(
      `INSERT INTO deposit_address (address, project_id, account, place) VALUES ('TOurs', $1, 0, 0)`,
      [other],
    );
    const [deposit] = await operators.database.query<{ id: bigint }>(
      `INSERT INTO deposit (txid, kind, place, project_id, address, from_address, asset, amount, block_number, block_id, block_at, status, reason)
       VALUES (decode(repeat('ab', 32), 'hex'), 'native', 0, $1, 'TOurs', 'TTheirs', 'TRX', 5, 1, decode(repeat('cd', 32), 'hex'), now(), 'held', 'amount')
       RETURNING id`,
      [other],
    );
    const id = deposit!.id.toString();
    await operators.database.query(
      `INSERT INTO audit_log (actor, action, subject, reason, detail)
       VALUES ('cli', 'deposits.look-at', $1, 'one', NULL), ('cli', 'orders.compensate', '999999', 'two', json_build_object('projectId', $2::text)::jsonb),
              ('cli', 'orders.requeue', '999998', 'three', NULL)`,
      [id, other],
    );
    const named = { id: other, name: 'Other' };
    expect(await acts('&by=cli')).toMatchObject([
      { action: 'orders.requeue', subject: '999998' },
      { action: 'orders.compensate', subject: '999999', project: named },
      { action: 'deposits.look-at', subject: id, project: named },
    ]);
    const [signIn] = await acts(`&subject=${support.id}`);
    expect(signIn).toMatchObject({ subject: support.id, person: 'bob@example.com' });
    expect(signIn?.project).toBeUndefined();
  });

  it('is filtered by person, kind, project and time', async () => {
    await operators.app.get(Ledger).topUp(shop, credits(5), 'bank-1', AUTHOR);
    expect(new Set((await acts('&by=ADA@')).map(({ actor }) => actor))).toEqual(new Set(['ada@example.com']));
    expect(new Set(await actionsOf('&kind=credits'))).toEqual(new Set(['credits.topup', 'credits.account']));
    const ofKey = await actionsOf('&kind=key');
    expect(ofKey.filter((action) => !action.startsWith('key.'))).toEqual([]);
    expect(await actionsOf('&project=shop,%20W&kind=credits')).toEqual(['credits.topup', 'credits.account']);
    expect(await actionsOf('&project=no%20such')).toEqual([]);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    expect(await actionsOf(`&from=${tomorrow}`)).toEqual([]);
    expect(await actionsOf('&to=2020-01-01')).toEqual([]);
    expect(await actionsOf(`&from=2020-01-01&to=${tomorrow}`)).toEqual(await actionsOf(''));
    for (const wrong of ['from=0000-01-01', 'kind=nonsense', 'looks=maybe', `project=${'x'.repeat(101)}`]) {
      expect([wrong, (await admin.browser.get(`/api/operator/audit?${wrong}`)).status]).toEqual([wrong, 400]);
    }
  });

  it('hides acts that only say that a person looked, unless they are wanted', async () => {
    await support.browser.get(`/api/projects/${shop}/balance`);
    expect(await actionsOf('')).not.toContain('console.look');
    expect(await actionsOf(`&project=${shop}`)).not.toContain('console.look');
    const shown = await acts(`&project=${shop}&looks=true`);
    expect(shown[0]).toMatchObject({
      action: 'console.look',
      actor: 'bob@example.com',
      project: { name: 'Shop, west' },
    });
    expect(await actionsOf('&action=console.look')).toContain('console.look');
  });

  it('names the project of the path that was read, whatever the query says', async () => {
    const looks = async () => {
      const found = await Promise.all([other, shop].map((id) => acts(`&project=${id}&by=bob@&action=console.look`)));
      return found.map(({ length }) => length);
    };
    const [ofOther = 0, ofShop] = await looks();
    await support.browser.get(`/api/operator/projects/${other}?id=${shop}`);
    expect(await looks()).toEqual([ofOther + 1, ofShop]);
    expect((await support.browser.get('/api/projects/no-id/balance')).status).toBe(404);
  });

  it('is exported as CSV of the same filter, without formulas', async () => {
    await setFrozen('freeze', { reason: '=HYPERLINK("http://x"), "quoted"' });
    await setFrozen('unfreeze', { reason: 'over' });
    const { status, headers, text } = await admin.browser.get(`/api/operator/audit.csv?project=${shop}&kind=project`);
    expect([status, headers['content-disposition']]).toEqual([200, 'attachment; filename="audit.csv"']);
    const lines = text.trimEnd().split('\r\n');
    expect(lines[0]).toBe(`\ufeff${ACT_COLUMNS.join(',')}`);
    expect(lines).toHaveLength((await acts(`&project=${shop}&kind=project`)).length + 1);
    expect(lines[2]).toContain(
      `ada@example.com,project.freeze,${shop},"Shop, west",${shop},,"'=HYPERLINK(""http://x""), ""quoted""",`,
    );
    expect(text).not.toContain('console.look');
    expect((await support.browser.get('/api/operator/audit.csv?kind=nonsense')).status).toBe(400);
  });

  it('is read page by page over more entries than one stretch', async () => {
    await operators.database.query(
      `INSERT INTO audit_log (actor, action, subject, reason) SELECT 'filler', 'pool.resume', 'T' || g, 'x' FROM generate_series(1, 20050) g`,
    );
    const first = await admin.browser.get(`/api/operator/audit?project=${shop}&kind=project&limit=2`);
    expect([first.body.items, typeof first.body.next_cursor]).toEqual([[], 'string']);
    const next = await admin.browser.get(
      `/api/operator/audit?project=${shop}&kind=project&limit=2&cursor=${first.body.next_cursor as string}`,
    );
    expect((next.body.items as ServiceAct[]).map(({ action }) => action)).toEqual([
      'project.unfreeze',
      'project.freeze',
    ]);
    const { text } = await admin.browser.get(`/api/operator/audit.csv?project=${shop}&kind=project`);
    expect(text.trimEnd().split('\r\n')).toHaveLength((await allActs()) + 1);
  });
});

const allActs = async (): Promise<number> =>
  (await operators.database.query(`SELECT FROM audit_log WHERE subject = $1 AND action LIKE 'project.%'`, [shop]))
    .length;
