// Invitations and their e-mail addresses: recipients of the link, the proof it gives, mail limits and expiry.
import { MailTokens } from '../../../src/modules/notifications/mail-tokens.js';
import { openMailServer, type MailServer, type TakenMail } from '../../support/console/mail-server.js';
import {
  enrol,
  invitationFor,
  openConsole,
  PASSWORD,
  signInAgain,
  type TestConsole,
} from '../../support/console/console-fixture.js';
import { cliWith, settings, type Cli } from '../../support/cli.js';
import { noteSecret } from '../../setup/canary.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_MS = 120_000;
const OWNERS_PASSWORD = 'the words of the true owner';
let test: TestDatabase;
let server: MailServer;
/** A console without a mail server and one with it, on the same database. */
let plain: TestConsole;
let mailing: TestConsole;
let operators: TestConsole;
let cli: Cli;
let made = 0;

beforeAll(async () => {
  [test, server] = [await createTestDatabase(), await openMailServer()];
  const mail = { SMTP_URL: server.url, MAIL_FROM: 'energy@shop.example' };
  plain = await openConsole(test.url, 'merchant');
  mailing = await openConsole(test.url, 'merchant', mail);
  operators = await openConsole(test.url, 'operator', mail);
  cli = cliWith(settings(test.url, { CONSOLE_MERCHANT_URL: 'http://localhost:3001' }));
}, LIMIT_MS);

beforeEach(() => {
  server.mood = 'takes';
});

afterAll(async () => {
  await Promise.all([plain.close(), mailing.close(), operators.close()]);
  await server.close();
  await test.drop();
}, LIMIT_MS);

async function newProject(name = `Shop ${(made += 1).toString()}`): Promise<string> {
  const created = await cli('project', 'create', '--name', name, '--json');
  return (created.json() as { merchant: string }).merchant;
}

const address = (): string => `person-${(made += 1).toString()}@outsider.example`;
const mailsTo = (email: string): TakenMail[] => server.mails.filter(({ to }) => to.includes(email));

function tokenOf(text: string): string {
  const token = /\/invitation#([A-Za-z0-9_-]{43})/.exec(text)?.[1] ?? '';
  noteSecret('session token', token);
  return token;
}

/** Creates a project with an owner who is signed in at `at`. */
async function ownerAt(at: TestConsole, name?: string) {
  const project = await newProject(name);
  const owner = await at.signedIn('owner', project);
  const invite = (email: string, role = 'member') =>
    owner.browser.post(`/api/projects/${project}/team/invitations`, { email, role });
  return { project, owner, invite };
}

const read = (at: TestConsole, token: string) => at.browser().post('/api/invitations/read', { token });
const accept = (at: TestConsole, token: string, password = PASSWORD, browser = at.browser()) =>
  browser.post('/api/invitations/accept', { token, password });

async function provenAt(email: string): Promise<Date | null | undefined> {
  const [row] = await plain.database.query<{ address_proven_at: Date | null }>(
    `SELECT address_proven_at FROM person WHERE audience = 'merchant' AND email = $1`,
    [email],
  );
  return row?.address_proven_at;
}

describe('with a mail server', () => {
  it('sends the link only to the invited address, in our words, and proves the address', async () => {
    const { project, owner, invite } = await ownerAt(mailing, 'Win money: https://evil.example');
    const email = address();
    const invited = await invite(email);
    expect([invited.status, invited.body.link, invited.body.mailed]).toEqual([201, undefined, true]);
    const [mail] = mailsTo(email);
    const token = tokenOf(mail!.text);
    expect(mail!.text).toContain(`http://localhost:3001/invitation#${token}`);
    expect(invited.text).not.toContain(token);
    expect(mail!.headers + mail!.subject).not.toContain('evil.example');
    expect(mail!.headers + mail!.subject).not.toContain('Win money');
    expect(mail!.text).not.toContain('evil.example');
    expect(mail!.headers).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/m);
    expect((await read(mailing, token)).body).toMatchObject({ project: { id: project }, has_account: false });
    expect((await accept(mailing, token)).status).toBe(200);
    expect(await provenAt(email)).toBeInstanceOf(Date);
    const { members } = (await owner.browser.get(`/api/projects/${project}/team`)).body;
    expect(members).toContainEqual(expect.objectContaining({ email, is_address_proven: true }));
  });

  it('gives the address to its true owner, whoever made an account in its name before', async () => {
    const squatted = address();
    const attacker = await ownerAt(plain);
    const taken = await accept(plain, tokenOf((await attacker.invite(squatted, 'owner')).body.link));
    expect([taken.status, await provenAt(squatted)]).toEqual([200, null]);
    const squatter = plain.browser();
    await squatter.post('/api/sign-in', { email: squatted, password: PASSWORD });
    await enrol(squatter);
    // The mailbox's owner, invited elsewhere, chooses a password. The squatter's password and session then stop
    // working.
    const honest = await ownerAt(mailing);
    expect((await honest.invite(squatted)).status).toBe(201);
    const token = tokenOf(mailsTo(squatted)[0]!.text);
    expect((await read(mailing, token)).body.has_account).toBe(false);
    const browser = mailing.browser();
    const owned = await accept(mailing, token, OWNERS_PASSWORD, browser);
    expect([owned.status, owned.body.stage]).toEqual([200, 'enrol']);
    expect(await provenAt(squatted)).toBeInstanceOf(Date);
    expect((await squatter.get('/api/session')).status).toBe(401);
    expect((await plain.browser().post('/api/sign-in', { email: squatted, password: PASSWORD })).status).toBe(401);
    const factor = await enrol(browser);
    await signInAgain(browser, squatted, factor.code);
  });

  it('withdraws an invitation that the mail server rejects, and says so', async () => {
    const { project, owner, invite } = await ownerAt(mailing);
    server.mood = 'refuses';
    const refused = await invite(address());
    expect([refused.status, refused.body.error]).toEqual([409, 'CONFLICT']);
    expect(refused.body.msg).toMatch(/mail server/);
    expect((await owner.browser.get(`/api/projects/${project}/team`)).body.invitations).toEqual([]);
  });

  it('mails one address a few times a day, whatever projects ask for it', async () => {
    const email = address();
    const statuses: number[] = [];
    for (let time = 0; time < 8; time += 1) statuses.push((await (await ownerAt(mailing)).invite(email)).status);
    expect(mailsTo(email)).toHaveLength(3);
    expect(statuses.slice(3).every((status) => status === 429)).toBe(true);
  });

  it('mails nothing more to an address after one click that refuses mails', async () => {
    const email = address();
    await (await ownerAt(mailing)).invite(email);
    const [, end = ''] = /^List-Unsubscribe: <([^>]+)>/m.exec(mailsTo(email)[0]!.headers) ?? [];
    const { pathname, search, origin } = new URL(end);
    expect([origin, (await mailing.browser().get(pathname + search)).status]).toEqual(['http://localhost:3001', 200]);
    // A mail service sends the click without cookie and Origin.
    const click = (query: string) =>
      mailing.browser().send('POST', `${pathname}${query}`, 'List-Unsubscribe=One-Click', {
        'Content-Type': 'application/x-www-form-urlencoded',
      });
    expect((await click(`${search}x`)).status).toBe(404);
    expect((await click(search)).status).toBe(200);
    const again = await (await ownerAt(mailing)).invite(email);
    expect([again.status, again.body.error, mailsTo(email).length]).toEqual([409, 'CONFLICT', 1]);
  });

  it('mails a bounded number of addresses a day for one project', async () => {
    const { invite } = await ownerAt(mailing);
    let mailed = 0;
    for (let time = 0; time < 24; time += 1) if ((await invite(address())).status === 201) mailed += 1;
    expect(mailed).toBe(20);
  });

  it('ends the notifications of one project by one click, without a sign-in', async () => {
    const { project, owner } = await ownerAt(mailing);
    const chosen = await owner.browser.post('/api/notifications', { project_id: project, kinds: ['keys'] });
    expect(chosen.status).toBe(200);
    const [row] = await plain.database.query<{ id: bigint }>(
      `SELECT m.id FROM membership m WHERE m.project_id = $1 AND m.person_id = $2`,
      [project, owner.id],
    );
    const token = mailing.app.get(MailTokens).endNotifications(row!.id);
    const ended = await mailing.browser().send('POST', `/unsubscribe?t=${token}`, 'List-Unsubscribe=One-Click', {});
    expect(ended.status).toBe(200);
    const { choices } = (await owner.browser.get('/api/notifications')).body;
    expect(choices).toContainEqual(expect.objectContaining({ project_id: project, kinds: [] }));
  });
});

describe('without a mail server', () => {
  it('shows the link to the inviter, and reveals no account and proves no address', async () => {
    const known = await ownerAt(plain);
    const { invite } = await ownerAt(plain);
    const fresh = address();
    const [toKnown, toFresh] = [await invite(known.owner.email), await invite(fresh)];
    const answers = [toKnown, toFresh].map(({ body }) => tokenOf(body.link as string));
    const [ofKnown, ofFresh] = await Promise.all(answers.map((token) => read(plain, token)));
    expect([ofKnown!.body.has_account, ofFresh!.body.has_account]).toEqual([false, false]);
    expect(Object.keys(ofKnown!.body as object)).toEqual(Object.keys(ofFresh!.body as object));
    // The existing account opens only with its own password.
    expect((await accept(plain, answers[0]!, OWNERS_PASSWORD)).status).toBe(401);
    expect((await accept(plain, answers[1]!)).status).toBe(200);
    expect(await provenAt(fresh)).toBeNull();
  });

  it('never opens an account with memberships by a new password, proven or not', async () => {
    const email = address();
    const first = await ownerAt(plain);
    expect((await accept(plain, tokenOf((await first.invite(email)).body.link))).status).toBe(200);
    const second = await ownerAt(plain);
    const token = tokenOf((await second.invite(email)).body.link);
    expect((await accept(plain, token, OWNERS_PASSWORD)).body).toMatchObject({ error: 'WRONG_CREDENTIALS' });
    expect((await accept(plain, token)).status).toBe(200);
  });

  it('lets a person without memberships choose a new password, without the earlier second factor', async () => {
    const { project, owner, invite } = await ownerAt(plain);
    const gone = await plain.signedIn('owner', project);
    expect((await owner.browser.post(`/api/projects/${project}/team/${gone.id}/remove`, {})).status).toBe(200);
    const token = tokenOf((await invite(gone.email)).body.link);
    const again = await accept(plain, token, OWNERS_PASSWORD);
    expect([again.status, again.body.stage, await provenAt(gone.email)]).toEqual([200, 'signed_in', null]);
    expect(await plain.database.query(`SELECT FROM recovery_code WHERE person_id = $1`, [gone.id])).toEqual([]);
  });

  it('creates a bounded number of invitations of a project a day, withdrawn ones included', async () => {
    const { project, owner, invite } = await ownerAt(plain);
    const statuses: number[] = [];
    for (let time = 0; time < 55; time += 1) {
      const { status, body } = await invite(address());
      statuses.push(status);
      if (status !== 201) break;
      const { id } = body.invitation as { id: string };
      await owner.browser.post(`/api/projects/${project}/team/invitations/${id}/revoke`, {});
    }
    expect(statuses.at(-1)).toBe(409);
    expect(statuses.length).toBeLessThanOrEqual(51);
  });
});

describe('a person whose address is not proven', () => {
  it('gets no mail until they open the link sent there', async () => {
    const { project, invite } = await ownerAt(plain);
    const email = address();
    const browser = mailing.browser();
    await accept(mailing, tokenOf((await invite(email)).body.link), PASSWORD, browser);
    const chosen = await browser.post('/api/notifications', { project_id: project, kinds: ['keys'] });
    expect([chosen.status, chosen.body.error]).toEqual([422, 'NOT_ALLOWED_HERE']);
    expect((await browser.get('/api/notifications')).body.must_prove_address).toBe(true);

    expect((await browser.post('/api/security/address/send', {})).body).toEqual({ done: true });
    const token = /#([A-Za-z0-9_.-]+)/.exec(mailsTo(email)[0]!.text)?.[1] ?? '';
    // The token proves the address only together with this person's session.
    const other = await mailing.signedIn('member', project);
    expect((await other.browser.post('/api/security/address/prove', { token })).status).toBe(404);
    expect((await mailing.browser().post('/api/security/address/prove', { token })).status).toBe(401);
    expect((await browser.post('/api/security/address/prove', { token: `${token}x` })).status).toBe(404);
    expect(await provenAt(email)).toBeNull();
    expect((await browser.post('/api/security/address/prove', { token })).status).toBe(200);
    expect(await provenAt(email)).toBeInstanceOf(Date);
    expect((await browser.post('/api/notifications', { project_id: project, kinds: ['keys'] })).status).toBe(200);
  });

  it('is skipped by the mailing loop, even if the choice was made before', async () => {
    const { project, owner } = await ownerAt(mailing);
    await owner.browser.post('/api/notifications', { project_id: project, kinds: ['keys'] });
    const { database } = plain;
    await database.query(`UPDATE person SET address_proven_at = NULL WHERE id = $1`, [owner.id]);
    await database.query(`UPDATE event_position SET position = position + 1 WHERE project_id = $1`, [project]);
    await database.query(
      `UPDATE notification SET due_at = clock_timestamp() WHERE membership_id IN
      (SELECT id FROM membership WHERE person_id = $1)`,
      [owner.id],
    );
    expect(
      await database.query(
        `SELECT FROM notifications_due(1000) d JOIN membership m ON m.id = d.membership_id WHERE m.person_id = $1`,
        [owner.id],
      ),
    ).toEqual([]);
  });
});

describe('an operator', () => {
  it('vouches for an address by the command line, whose link proves it', async () => {
    const project = await newProject();
    const email = address();
    expect((await accept(plain, await invitationFor(plain, 'member', project, email))).status).toBe(200);
    expect(await provenAt(email)).toBeInstanceOf(Date);
  });

  it('invites by the console with a mail to the address, and sees no link', async () => {
    const admin = await operators.signedIn('admin');
    const email = address();
    const invited = await admin.browser.post('/api/people/invitations', { email, role: 'support' });
    expect([invited.status, invited.body.link]).toEqual([201, undefined]);
    const token = tokenOf(mailsTo(email)[0]!.text);
    expect(mailsTo(email)[0]!.text).toContain('http://localhost:3002/invitation#');
    expect((await read(operators, token)).body).toMatchObject({ audience: 'operator', role: 'support' });
  });
});
