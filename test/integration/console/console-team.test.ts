// Members of projects and operators: invitations, roles, removals and looks, through console and CLI.
import { createHash, randomUUID } from 'node:crypto';
import type { AuditEntry } from '../../../src/platform/database/entities/audit-entry.entity.js';
import {
  restartCodes,
  invitationFor,
  openConsole,
  PASSWORD,
  signInAgain,
  type TestConsole,
} from '../../support/console/console-fixture.js';
import { cliWith, settings, type Cli } from '../../support/cli.js';
import { noteSecret } from '../../setup/canary.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { untilWaiting } from '../../setup/waiting.js';

const LIMIT_MS = 60_000;
let test: TestDatabase;
let merchants: TestConsole;
let operators: TestConsole;
let cli: Cli;
let made = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  merchants = await openConsole(test.url, 'merchant');
  operators = await openConsole(test.url, 'operator');
  cli = cliWith(
    settings(test.url, { CONSOLE_MERCHANT_URL: 'https://shop.example', CONSOLE_OPERATOR_URL: 'http://127.0.0.1:3002' }),
  );
}, LIMIT_MS);

afterAll(async () => {
  await merchants.close();
  await operators.close();
  await test.drop();
});

async function newProject(): Promise<string> {
  const created = await cli('project', 'create', '--name', `Shop ${(made += 1).toString()}`, '--json');
  return (created.json() as { merchant: string }).merchant;
}

const acts = (subject: string): Promise<Pick<AuditEntry, 'action' | 'actor' | 'detail'>[]> =>
  merchants.database.query(`SELECT action, actor, detail FROM audit_log WHERE subject = $1 ORDER BY id`, [subject]);
const read = (token: string, at: TestConsole = merchants) => at.browser().post('/api/invitations/read', { token });
const accept = (token: string, at: TestConsole = merchants) =>
  at.browser().post('/api/invitations/accept', { token, password: PASSWORD });
const tokenIn = (link: string): string => {
  const token = new URL(link).hash.slice(1);
  noteSecret('session token', token);
  return token;
};

describe('an invitation', () => {
  it('of an owner creates one member of this project with this role, with an audit entry', async () => {
    const project = await newProject();
    const owner = await merchants.signedIn('owner', project);
    const path = `/api/projects/${project}/team`;
    const invited = await owner.browser.post(`${path}/invitations`, {
      email: 'New.Person@Example.com',
      role: 'member',
    });
    expect([invited.status, invited.body.invitation.email]).toEqual([201, 'new.person@example.com']);
    expect(invited.body.link).toMatch(/^http:\/\/localhost:3001\/invitation#[A-Za-z0-9_-]{43}$/);
    const token = tokenIn(invited.body.link);
    const kept = await merchants.database.query<{ text: string }>(`SELECT i::text AS text FROM invitation i`);
    expect(kept.some(({ text }) => text.includes(createHash('sha256').update(token).digest('hex')))).toBe(true);
    for (const clear of [
      token,
      ...(['utf8', 'base64url'] as const).map((from) => Buffer.from(token, from).toString('hex')),
    ]) {
      expect(kept.some(({ text }) => text.includes(clear))).toBe(false);
    }
    expect((await owner.browser.get(path)).body.invitations).toMatchObject([
      { role: 'member', invited_by: owner.email },
    ]);

    expect((await read(token)).body).toMatchObject({ role: 'member', project: { id: project }, has_account: false });
    const taken = await accept(token);
    expect([taken.status, taken.body.stage]).toEqual([200, 'signed_in']);
    expect([(await read(token)).status, (await accept(token)).status]).toEqual([404, 404]);
    expect((await owner.browser.get(path)).body).toMatchObject({
      members: [
        { email: owner.email, role: 'owner', is_me: true },
        { email: 'new.person@example.com', role: 'member' },
      ],
      invitations: [],
    });
    const noted = (await acts(project)).filter(({ action }) => action.startsWith('team.'));
    expect(noted.map(({ action, actor }) => [action, actor])).toEqual([
      ['team.invite', 'test'],
      ['team.join', owner.email],
      ['team.invite', owner.email],
      ['team.join', 'new.person@example.com'],
    ]);
  });

  it('is void after a day, after its withdrawal, after a newer one, or at the other console', async () => {
    const project = await newProject();
    const owner = await merchants.signedIn('owner', project);
    const old = await invitationFor(merchants, 'member', project, 'late@example.com');
    await merchants.database.query(
      `UPDATE invitation SET expires_at = clock_timestamp() WHERE email = 'late@example.com'`,
    );
    const first = await invitationFor(merchants, 'owner', project, 'twice@example.com');
    const second = await invitationFor(merchants, 'member', project, 'twice@example.com');
    const back = await owner.browser.post(`/api/projects/${project}/team/invitations`, {
      email: 'back@example.com',
      role: 'owner',
    });
    const { id } = back.body.invitation as { id: string };
    expect((await owner.browser.post(`/api/projects/${project}/team/invitations/${id}/revoke`, {})).status).toBe(200);
    const admin = await invitationFor(operators, 'admin', undefined, 'other@example.com');
    const unknown = await read('x'.repeat(43));
    expect(unknown.body).toMatchObject({ error: 'INVITATION_NOT_FOUND' });
    for (const token of [old, first, tokenIn(back.body.link), admin, 'short', '']) {
      const [asked, taken] = [await read(token), await accept(token)];
      expect([asked.status, taken.status].every((status) => status === (token === '' ? 400 : 404))).toBe(true);
      if (token !== '') expect([asked.body, taken.body]).toEqual([unknown.body, unknown.body]);
    }
    expect((await read(second)).status).toBe(200);
  });

  it('accepted twice concurrently creates one member', async () => {
    const project = await newProject();
    const token = await invitationFor(merchants, 'member', project, 'raced@example.com');
    const answers = await Promise.all(Array.from({ length: 6 }, () => accept(token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await merchants.database.query(`SELECT FROM membership WHERE project_id = $1`, [project])).toHaveLength(1);
  });

  it('is a person’s only open one, after any number of concurrent ones', async () => {
    const project = await newProject();
    const asked = Array.from({ length: 8 }, () => invitationFor(merchants, 'member', project, 'asked@example.com'));
    const tokens = await Promise.all(asked);
    const answers = await Promise.all(tokens.map((token) => read(token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('is not created for a person who accepts another one meanwhile, because it would undo the role', async () => {
    const project = await newProject();
    const email = 'twice@example.com';
    const { database } = merchants;
    const token = await invitationFor(merchants, 'owner', project, email);
    const [taken, made] = await database.transaction(async (tx) => {
      await tx.query(`SELECT FROM invitation WHERE email = $1 FOR UPDATE`, [email]);
      const taking = accept(token);
      await untilWaiting(database, 1);
      const making = invitationFor(merchants, 'member', project, email).catch((error: unknown) => error);
      await untilWaiting(database, 2);
      return [taking, making];
    });
    expect((await taken).status).toBe(200);
    expect(await made).toMatchObject({ code: 'ALREADY_A_MEMBER' });
  });

  it('to a person with an account requires its password, and ends the other sessions', async () => {
    const [one, other] = [await newProject(), await newProject()];
    const account = await merchants.signedIn('member', one);
    const token = await invitationFor(merchants, 'member', other, account.email);
    expect((await read(token)).body).toMatchObject({ has_account: true });
    const wrong = await merchants
      .browser()
      .post('/api/invitations/accept', { token, password: 'not that of the account' });
    expect(wrong.body).toMatchObject({ error: 'WRONG_CREDENTIALS' });
    const taken = await accept(token);
    expect(taken.body.projects.map(({ id }: { id: string }) => id).sort()).toEqual([one, other].sort());
    expect((await account.browser.get('/api/session')).status).toBe(401);
  });

  it('limits guesses at the password of an account', async () => {
    const [one, other] = [await newProject(), await newProject()];
    const { email } = await merchants.signedIn('member', one);
    const token = await invitationFor(merchants, 'member', other, email);
    const statuses: number[] = [];
    for (let guess = 1; guess <= 12; guess += 1) {
      const body = { token, password: `guess number ${guess.toString()}` };
      statuses.push((await merchants.browser('192.0.2.77').post('/api/invitations/accept', body)).status);
    }
    expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401));
    expect(statuses.slice(10)).toEqual([429, 429]);
  });

  it('is rejected for a role of the other audience, a present member, and an invalid e-mail', async () => {
    const project = await newProject();
    const owner = await merchants.signedIn('owner', project);
    const invite = (email: string, role: string) =>
      owner.browser.post(`/api/projects/${project}/team/invitations`, { email, role });
    expect((await invite('a@example.com', 'admin')).body).toMatchObject({ error: 'NOT_ALLOWED_HERE' });
    expect((await invite(owner.email, 'member')).body).toMatchObject({ error: 'ALREADY_A_MEMBER' });
    expect((await invite('no address', 'member')).body).toMatchObject({ error: 'INVALID_REQUEST' });
    expect((await invite('a@example.com', 'king')).body).toMatchObject({ error: 'INVALID_REQUEST' });
  });
});

describe('a role', () => {
  it('that changes ends the person’s sessions and streams, with an audit entry', async () => {
    const project = await newProject();
    const [owner, member] = [await merchants.signedIn('owner', project), await merchants.signedIn('member', project)];
    const stream = await member.browser.open('GET', '/api/session/stream', undefined, {
      'Sec-Fetch-Site': 'same-origin',
    });
    const ended = new Promise((resolve) => stream.on('data', () => undefined).once('end', resolve));
    const before = member.browser.cookies.get('merchant-session');
    const changed = await owner.browser.post(`/api/projects/${project}/team/${member.id}/role`, { role: 'owner' });
    expect(changed.body).toEqual({ done: true });
    await ended;
    expect((await member.browser.get('/api/session')).status).toBe(401);
    // An owner needs a second factor, which the member did not have.
    expect((await member.browser.post('/api/sign-in', { email: member.email, password: PASSWORD })).body.stage).toBe(
      'enrol',
    );
    expect(member.browser.cookies.get('merchant-session')).not.toBe(before);
    const detail = { email: member.email, from: 'member', to: 'owner' };
    expect((await acts(project)).at(-1)).toMatchObject({ action: 'team.role', actor: owner.email, detail });
  });

  it('that is removed leaves nothing to sign in to', async () => {
    const project = await newProject();
    const [owner, member] = [await merchants.signedIn('owner', project), await merchants.signedIn('member', project)];
    expect((await owner.browser.post(`/api/projects/${project}/team/${member.id}/remove`, {})).status).toBe(200);
    expect((await member.browser.get('/api/session')).status).toBe(401);
    expect((await merchants.browser().post('/api/sign-in', { email: member.email, password: PASSWORD })).status).toBe(
      401,
    );
    expect((await owner.browser.post(`/api/projects/${project}/team/${member.id}/remove`, {})).status).toBe(404);
  });

  it('of the last owner stays, even if two owners remove each other concurrently', async () => {
    const project = await newProject();
    const [one, other] = [await merchants.signedIn('owner', project), await merchants.signedIn('owner', project)];
    const remove = (by: typeof one, who: typeof one) =>
      by.browser.post(`/api/projects/${project}/team/${who.id}/remove`, {});
    const answers = await Promise.all([remove(one, other), remove(other, one)]);
    const left = await merchants.database.query(`SELECT FROM membership WHERE project_id = $1 AND role = 'owner'`, [
      project,
    ]);
    expect([left.length, answers.filter(({ status }) => status === 200).length]).toEqual([1, 1]);
    const [last, gone] = answers[0].status === 200 ? [one, other] : [other, one];
    // Members manage nothing, so that they do not replace an owner.
    await merchants.signedIn('member', project);
    expect((await remove(last, last)).body).toMatchObject({ error: 'LAST_OWNER' });
    const demoted = await last.browser.post(`/api/projects/${project}/team/${last.id}/role`, { role: 'member' });
    expect(demoted.body).toMatchObject({ error: 'LAST_OWNER' });
    expect((await gone.browser.get('/api/session')).status).toBe(401);
    expect((await last.browser.get(`/api/projects/${project}/team`)).status).toBe(200);
  });

  it('of another project’s person cannot be changed from here', async () => {
    const [mine, theirs] = [await newProject(), await newProject()];
    const [owner, other] = [await merchants.signedIn('owner', mine), await merchants.signedIn('owner', theirs)];
    expect((await owner.browser.post(`/api/projects/${mine}/team/${other.id}/remove`, {})).status).toBe(404);
    expect((await owner.browser.post(`/api/projects/${theirs}/team/${other.id}/remove`, {})).status).toBe(404);
    expect((await other.browser.get(`/api/projects/${theirs}/team`)).status).toBe(200);
  });
});

describe('an operator', () => {
  it('who opens a project leaves one row per kind and period, visible to its owner', async () => {
    const project = await newProject();
    const owner = await merchants.signedIn('owner', project);
    const support = await operators.signedIn('support');
    for (let time = 1; time <= 3; time += 1) {
      expect((await support.browser.get(`/api/projects/${project}/team`)).status).toBe(200);
    }
    const { looks } = (await owner.browser.get(`/api/projects/${project}/looks`)).body as { looks: object[] };
    expect(looks).toEqual([{ at: expect.any(String), by: support.email, what: '/api/projects/:project_id/team' }]);
    const others = await merchants.signedIn('owner', await newProject());
    expect((await others.browser.get(`/api/projects/${project}/looks`)).status).toBe(404);
    // Any method leaves a row.
    await support.browser.post(`/api/projects/${project}/playground/simulation`, {});
    const [last] = (await owner.browser.get(`/api/projects/${project}/looks`)).body.looks as object[];
    expect(last).toMatchObject({ by: support.email, what: '/api/projects/:project_id/playground/simulation' });
  });

  it('who filters the lists of the service by a project leaves a row, visible to its owner', async () => {
    const project = await newProject();
    const owner = await merchants.signedIn('owner', project);
    const support = await operators.signedIn('support');
    const paths = [`projects/${project}`, `orders?project=${project}`, `deposits?project=${project}`];
    for (const path of [...paths, ...paths, 'projects', 'orders', 'deposits']) {
      expect([path, (await support.browser.get(`/api/operator/${path}`)).status]).toEqual([path, 200]);
    }
    for (const path of ['projects/x', 'orders?project=x', `orders?project=${project}&project=${project}`]) {
      expect((await support.browser.get(`/api/operator/${path}`)).status).toBeGreaterThanOrEqual(400);
    }
    const { looks } = (await owner.browser.get(`/api/projects/${project}/looks`)).body as { looks: object[] };
    expect(looks).toEqual(
      ['deposits', 'orders', 'projects/:id'].map((what) => ({
        ...{ at: expect.any(String), by: support.email },
        what: `/api/operator/${what}`,
      })),
    );
  });

  it('of support changes nothing, and an admin invites people, ends sessions and resets a second factor', async () => {
    const project = await newProject();
    const [admin, support] = [await operators.signedIn('admin'), await operators.signedIn('support')];
    const invite = { email: 'asked@example.com', role: 'owner' };
    expect((await support.browser.post(`/api/projects/${project}/team/invitations`, invite)).status).toBe(403);
    expect(
      (await support.browser.post('/api/people/invitations', { email: 'x@example.com', role: 'admin' })).status,
    ).toBe(403);
    const asked = await admin.browser.post(`/api/projects/${project}/team/invitations`, invite);
    expect(asked.body.link).toMatch(/^http:\/\/localhost:3001\/invitation#/);
    expect((await accept(tokenIn(asked.body.link))).body).toMatchObject({ stage: 'enrol' });
    const colleague = await admin.browser.post('/api/people/invitations', {
      email: 'colleague@example.com',
      role: 'support',
    });
    expect(colleague.body.link).toMatch(/^http:\/\/localhost:3002\/invitation#/);
    expect((await read(tokenIn(colleague.body.link), operators)).body).toMatchObject({
      audience: 'operator',
      role: 'support',
    });

    expect((await admin.browser.post(`/api/people/${support.id}/end-sessions`, {})).status).toBe(200);
    expect((await support.browser.get('/api/session')).status).toBe(401);
    await signInAgain(support.browser, support.email, await restartCodes(operators, support));
    expect((await admin.browser.post(`/api/people/${support.id}/reset-second-factor`, {})).status).toBe(200);
    expect((await support.browser.get('/api/session')).status).toBe(401);
    expect((await support.browser.post('/api/sign-in', { email: support.email, password: PASSWORD })).body.stage).toBe(
      'enrol',
    );
    expect((await acts(support.id)).map(({ action }) => action)).toEqual(
      expect.arrayContaining(['console.end-sessions', 'console.reset-second-factor']),
    );
    const nobody = randomUUID();
    for (const act of ['end-sessions', 'reset-second-factor'])
      expect((await admin.browser.post(`/api/people/${nobody}/${act}`, {})).status).toBe(404);
    expect(await acts(nobody)).toEqual([]);
  });
});

describe('the command line', () => {
  it('invites operators and people of a project, with a link that is printed once', async () => {
    const project = await newProject();
    const admin = await cli('console', 'invite', '--email', 'First@Example.com', '--role', 'admin');
    const [link = ''] = admin.out.split('\n');
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:3002\/invitation#[A-Za-z0-9_-]{43}$/);
    expect((await read(tokenIn(link), operators)).body).toMatchObject({ email: 'first@example.com', role: 'admin' });
    const owner = await cli(
      '--json',
      'console',
      'invite',
      '--email',
      'o@example.com',
      '--role',
      'owner',
      '--project',
      project,
    );
    const json = owner.json() as { link: string };
    expect(json.link).toMatch(/^https:\/\/shop\.example\/invitation#/);
    expect((await read(tokenIn(json.link))).body).toMatchObject({ role: 'owner', project: { id: project } });
    expect((await acts('operators')).at(-1)).toMatchObject({ action: 'team.invite', actor: 'tester' });
  });

  it.each([
    ['a role of the other audience', ['--email', 'a@example.com', '--role', 'owner'], /admin or support/],
    ['no role', ['--email', 'a@example.com'], /--role/],
    ['an invalid e-mail', ['--email', 'nothing', '--role', 'admin'], /e-mail address/],
    [
      'an unknown project',
      ['--email', 'a@example.com', '--role', 'owner', '--project', '00000000-0000-4000-8000-000000000000'],
      /00000000/,
    ],
    [
      'an invalid address of the console',
      ['--email', 'a@example.com', '--role', 'admin', '--url', 'http://example.com'],
      /origin/,
    ],
  ])('refuses %s', async (_what, args, says) => {
    const { code, err } = await cli('console', 'invite', ...args);
    expect([code > 0, err]).toEqual([true, expect.stringMatching(says)]);
  });

  it('lists people, ends their sessions and resets a second factor', async () => {
    const project = await newProject();
    const account = await merchants.signedIn('owner', project, 'listed@example.com');
    const { people } = (await cli('--json', 'console', 'people')).json() as { people: { email: string }[] };
    expect(people.find(({ email }) => email === account.email)).toMatchObject({
      audience: 'merchant',
      has_second_factor: true,
    });
    expect((await cli('console', 'people')).out).toContain(`owner of ${project}`);
    expect((await cli('console', 'end-sessions', 'Listed@example.com')).out).toMatch(/^1 sessions/);
    expect((await account.browser.get('/api/session')).status).toBe(401);
    expect((await cli('console', 'reset-factor', account.email)).code).toBe(2);
    expect((await cli('--yes', 'console', 'reset-factor', account.email)).code).toBe(0);
    expect((await account.browser.post('/api/sign-in', { email: account.email, password: PASSWORD })).body.stage).toBe(
      'enrol',
    );
    expect((await cli('console', 'end-sessions', 'nobody@example.com')).err).toMatch(/No person has this e-mail/);
    expect((await acts(account.id)).map(({ action, actor }) => [action, actor])).toEqual(
      expect.arrayContaining([
        ['console.end-sessions', 'tester'],
        ['console.reset-second-factor', 'tester'],
      ]),
    );
  });

  it('asks for the console if both know the e-mail', async () => {
    const email = 'both@example.com';
    await merchants.signedIn('member', await newProject(), email);
    await operators.signedIn('support', undefined, email);
    expect((await cli('console', 'end-sessions', email)).err).toMatch(/--console/);
    expect((await cli('console', 'end-sessions', email, '--console', 'merchant')).code).toBe(0);
  });
});
