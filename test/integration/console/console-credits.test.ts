// Credits that operators book: immediate up to a limit, above it with a second admin's approval, and only once.
import { randomUUID } from 'node:crypto';
import type { BookedCredits, CreditRequestList } from '../../../src/modules/console/operator-shapes.js';
import { openConsole, type Account, type Answer, type TestConsole } from '../../support/console/console-fixture.js';
import { cliWith, seedTestCanaries, settings, type Cli } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_MS = 60_000;
const LIMIT_CREDITS = 1_000_000;
const ABOVE = LIMIT_CREDITS + 1;
let test: TestDatabase;
let operators: TestConsole;
let cli: Cli;
let asker: Account;
let second: Account;
let third: Account;
let made = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  operators = await openConsole(test.url, 'operator', { APPROVAL_CREDITS: LIMIT_CREDITS.toString() });
  cli = cliWith(settings(test.url));
  asker = await operators.signedIn('admin', undefined, 'asker@example.com');
  second = await operators.signedIn('admin', undefined, 'second@example.com');
  third = await operators.signedIn('admin', undefined, 'third@example.com');
}, LIMIT_MS);

afterAll(async () => {
  await operators.close();
  await test.drop();
});

async function newProject(): Promise<string> {
  const created = await cli('project', 'create', '--name', `Payer ${(made += 1).toString()}`, '--json');
  return (created.json() as { merchant: string }).merchant;
}

interface Booked extends Answer {
  readonly body: BookedCredits & { error?: string; msg?: string };
}

const book = (project: string, body: object, by: Account = asker): Promise<Booked> =>
  by.browser.post(`/api/operator/projects/${project}/credits`, {
    ...{ id: randomUUID(), kind: 'topup', reason: 'a bank transfer came' },
    ...body,
  });
const decide = (id: string, act: 'approve' | 'reject', by: Account): Promise<Booked> =>
  by.browser.post(`/api/operator/credit-requests/${id}/${act}`, { reason: 'seen on the bank statement' });
const requests = async (): Promise<CreditRequestList> =>
  (await asker.browser.get('/api/operator/credit-requests')).body as CreditRequestList;
const inboxOf = async (id: string): Promise<unknown> => {
  const { items } = (await second.browser.get('/api/operator/inbox')).body as { items: { subject?: { id: string } }[] };
  return items.find(({ subject }) => subject?.id === id);
};
const entries = (project: string) =>
  operators.database.query<{ entry_key: string; credits: bigint; actor: string; reason: string }>(
    `SELECT entry_key, credits, actor, reason FROM credit_entry WHERE project_id = $1 ORDER BY id`,
    [project],
  );
const balanceOf = async (project: string): Promise<bigint | undefined> =>
  (
    await operators.database.query<{ b: bigint }>(
      `SELECT balance_credits AS b FROM credit_account WHERE project_id = $1`,
      [project],
    )
  )[0]?.b;
const acts = async (project: string): Promise<string[][]> =>
  (
    await operators.database.query<{ action: string; actor: string }>(
      `SELECT action, actor FROM audit_log WHERE subject = $1 AND action LIKE 'credits.%' ORDER BY id`,
      [project],
    )
  )
    .filter(({ action }) => action !== 'credits.account')
    .map(({ action, actor }) => [action, actor]);

describe('credits up to the limit', () => {
  it('are booked immediately in ledger and audit log, and once however often they are sent', async () => {
    const project = await newProject();
    const id = randomUUID();
    const first = await book(project, { id, credits: LIMIT_CREDITS });
    expect([first.status, first.body]).toEqual([
      200,
      { booked: { is_new: true, balance: { credits: LIMIT_CREDITS, usd: '0.100000' } } },
    ]);
    expect((await book(project, { id, credits: LIMIT_CREDITS })).body.booked?.is_new).toBe(false);
    expect(await entries(project)).toEqual([
      { entry_key: `topup:${id}`, credits: 1_000_000n, actor: asker.email, reason: 'a bank transfer came' },
    ]);
    expect(await acts(project)).toEqual([['credits.topup', asker.email]]);
  });

  it('are removed by an adjustment, as far as the balance goes', async () => {
    const project = await newProject();
    await book(project, { credits: 500 });
    const taken = await book(project, { kind: 'adjustment', takes_off: true, credits: 200, reference: 'BILL 7' });
    expect(taken.body.booked?.balance.credits).toBe(300);
    const tooMany = await book(project, { kind: 'adjustment', takes_off: true, credits: 301 });
    expect([tooMany.status, tooMany.body.error]).toEqual([402, 'INSUFFICIENT_CREDITS']);
    expect((await book(project, { takes_off: true, credits: 1 })).status).toBe(400);
    expect((await entries(project)).map(({ entry_key: key }) => key)).toContain('adjustment:BILL 7');
    expect(await balanceOf(project)).toBe(300n);
  });
});

describe('credits above the limit', () => {
  it('wait in the inbox, are approved by another admin and booked once, with an audit row for each step', async () => {
    const project = await newProject();
    const id = randomUUID();
    const asked = await book(project, { id, credits: ABOVE, reference: 'WIRE-1' });
    expect([asked.status, asked.body.booked, asked.body.request]).toMatchObject([
      200,
      undefined,
      { id, status: 'pending', reference: 'WIRE-1', asked_by: { email: asker.email } },
    ]);
    expect([await balanceOf(project), await entries(project)]).toEqual([0n, []]);
    expect(await inboxOf(id)).toMatchObject({
      severity: 'warning',
      says: expect.stringMatching(/^Top-up of 0\.10 USD for Payer \d+, requested by asker@/),
      subject: { kind: 'approval', id },
    });
    const approved = await decide(id, 'approve', second);
    expect([approved.status, approved.body]).toMatchObject([
      200,
      {
        booked: { is_new: true, balance: { credits: ABOVE } },
        request: { status: 'approved', decided_by: second.email },
      },
    ]);
    expect(await entries(project)).toEqual([
      {
        entry_key: 'topup:WIRE-1',
        credits: BigInt(ABOVE),
        actor: second.email,
        reason: `a bank transfer came (requested by ${asker.email})`,
      },
    ]);
    expect(await acts(project)).toEqual([
      ['credits.ask', asker.email],
      ['credits.approve', second.email],
      ['credits.topup', second.email],
    ]);
    expect(await inboxOf(id)).toBeUndefined();
    expect((await requests()).items.find((each) => each.id === id)).toMatchObject({ status: 'approved' });
  });

  it('without a reference are booked under the id of their request', async () => {
    const project = await newProject();
    const id = randomUUID();
    await book(project, { id, credits: ABOVE });
    await decide(id, 'approve', second);
    expect((await entries(project)).map(({ entry_key: key }) => key)).toEqual([`topup:${id}`]);
  });

  it('are never decided by the admin who requested them, in either way', async () => {
    const project = await newProject();
    const id = randomUUID();
    await book(project, { id, credits: ABOVE });
    for (const act of ['approve', 'reject'] as const) {
      const { status, body } = await decide(id, act, asker);
      expect([act, status, body.error]).toEqual([act, 403, 'FORBIDDEN']);
    }
    const itself = operators.database.query(
      `UPDATE credit_request SET status = 'approved', decided_by = asked_by, decided_by_email = asked_by_email, decided_at = now() WHERE id = $1`,
      [id],
    );
    await expect(itself).rejects.toThrow('credit_request_second_person');
    expect([await balanceOf(project), (await acts(project)).length]).toEqual([0n, 1]);
  });

  it('that are rejected are never booked, and may be requested again', async () => {
    const project = await newProject();
    const id = randomUUID();
    await book(project, { id, credits: ABOVE, reference: 'WIRE-2' });
    expect((await decide(id, 'reject', second)).body.request).toMatchObject({
      status: 'rejected',
      decision_reason: 'seen on the bank statement',
    });
    for (const act of ['approve', 'reject'] as const) expect((await decide(id, act, third)).status).toBe(409);
    expect([await balanceOf(project), await entries(project)]).toEqual([0n, []]);
    expect(await acts(project)).toEqual([
      ['credits.ask', asker.email],
      ['credits.reject', second.email],
    ]);
    const anew = await book(project, { credits: ABOVE, reference: 'WIRE-2' });
    expect(anew.body.request?.status).toBe('pending');
  });

  it('are booked once after many concurrent approvals and rejections', async () => {
    const project = await newProject();
    const rounds = 8;
    let booked = 0n;
    for (let round = 0; round < rounds; round += 1) {
      const id = randomUUID();
      await book(project, { id, credits: ABOVE });
      const answers = await Promise.all([
        ...[second, third, second, third].map((by) => decide(id, 'approve', by)),
        ...[second, third].map((by) => decide(id, 'reject', by)),
      ]);
      const taken = answers.filter(({ status }) => status === 200);
      expect([taken.length, answers.filter(({ status }) => status === 409).length]).toEqual([1, 5]);
      if (taken[0]?.body.booked !== undefined) booked += BigInt(ABOVE);
    }
    expect(await balanceOf(project)).toBe(booked);
    const sums = await entries(project);
    expect(sums.reduce((sum, { credits }) => sum + credits, 0n)).toBe(booked);
  });

  it('requested twice with one id concurrently are one request, and a different amount under it is rejected', async () => {
    const project = await newProject();
    const id = randomUUID();
    const asked = await Promise.all([1, 2, 3, 4].map(() => book(project, { id, credits: ABOVE })));
    expect(asked.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await acts(project)).length).toBe(1);
    expect((await book(project, { id, credits: ABOVE + 1 })).status).toBe(409);
    expect((await book(project, { id, credits: ABOVE }, second)).status).toBe(409);
  });

  it('for one payment are requested once, and not also booked by the command line', async () => {
    const project = await newProject();
    const id = randomUUID();
    await book(project, { id, credits: ABOVE, reference: 'WIRE-3' });
    expect((await book(project, { credits: ABOVE, reference: 'WIRE-3' }, third)).status).toBe(409);
    await cli('credits', 'topup', project, '--credits', ABOVE.toString(), '--ref', 'WIRE-3');
    const late = await decide(id, 'approve', second);
    expect([late.status, late.body.msg]).toEqual([409, expect.stringContaining('already booked in the ledger')]);
    expect(await balanceOf(project)).toBe(BigInt(ABOVE));
    expect((await requests()).items.find((each) => each.id === id)?.status).toBe('pending');
    expect((await book(project, { credits: ABOVE, reference: 'WIRE-3' })).status).toBe(409);
    expect((await decide(id, 'reject', second)).status).toBe(200);
    expect((await book(project, { credits: ABOVE, reference: 'WIRE-3' })).status).toBe(409);
  });

  it('to be removed also wait, and stay waiting while the balance does not cover them', async () => {
    const project = await newProject();
    const id = randomUUID();
    await book(project, { id, kind: 'adjustment', takes_off: true, credits: ABOVE });
    expect((await decide(id, 'approve', second)).body.error).toBe('INSUFFICIENT_CREDITS');
    expect((await requests()).items.find((each) => each.id === id)?.status).toBe('pending');
    await cli('credits', 'topup', project, '--credits', (ABOVE + 5).toString());
    expect((await decide(id, 'approve', second)).body.booked?.balance.credits).toBe(5);
  });

  it('are requested and decided only with a fresh sign-in', async () => {
    const project = await newProject();
    const id = randomUUID();
    await book(project, { id, credits: ABOVE });
    await operators.database.query(
      `UPDATE console_session SET authenticated_at = clock_timestamp() - interval '11 min' WHERE person_id = $1`,
      [third.id],
    );
    for (const answer of [await decide(id, 'approve', third), await book(project, { credits: 1 }, third)]) {
      expect([answer.status, answer.body.error]).toEqual([403, 'SIGN_IN_AGAIN']);
    }
    expect(await balanceOf(project)).toBe(0n);
  });
});

it.each([
  [LIMIT_CREDITS, 201],
  [ABOVE, 400],
])('one admin gives a debt of %d credits, which is also credit, only up to the limit: %d', async (limit, status) => {
  const name = `Debtor ${limit.toString()}`;
  const terms = { name, terms: 'postpaid', debt_limit_credits: limit, reason: 'a new customer' };
  const made = await asker.browser.post('/api/operator/projects', terms);
  expect(made.status).toBe(status);
  const rows = await operators.database.query(`SELECT 1 AS one FROM project WHERE name = $1`, [name]);
  expect(rows).toHaveLength(status === 201 ? 1 : 0);
});

it('keeps credit requests: deletes no row, and changes no decided one and no waiting amount', async () => {
  const project = await newProject();
  const id = randomUUID();
  await book(project, { id, credits: ABOVE });
  const change = (text: string) => operators.database.query(text, [id]);
  await expect(change(`UPDATE credit_request SET credits = credits * 2 WHERE id = $1`)).rejects.toThrow('append-only');
  await expect(change(`DELETE FROM credit_request WHERE id = $1`)).rejects.toThrow('append-only');
  await decide(id, 'reject', second);
  await expect(change(`UPDATE credit_request SET reason = 'another' WHERE id = $1`)).rejects.toThrow('append-only');
});
