// Console sessions and passwords from the viewpoint of people and attackers, over HTTP in the console's own role.
import { createHash } from 'node:crypto';
import type { Database } from '../../../src/platform/database/database.js';
import { Database as DatabaseToken } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import {
  restartCodes,
  invitationFor,
  openConsole,
  PASSWORD,
  type Browser,
  type Account,
  type TestConsole,
} from '../../support/console/console-fixture.js';
import { keepSaid } from '../../setup/canary.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { cliWith, settings } from '../../support/cli.js';

const LIMIT_MS = 60_000;
let test: TestDatabase;
let merchants: TestConsole;
let operators: TestConsole;
let project: string;
let from = 0;

/** Returns a browser with an unused client address. */
const outsider = (at: TestConsole = merchants): Browser => at.browser(`198.51.100.${(from += 1).toString()}`);

beforeAll(async () => {
  test = await createTestDatabase();
  merchants = await openConsole(test.url, 'merchant');
  operators = await openConsole(test.url, 'operator');
  const cli = cliWith(settings(test.url));
  const made = await cli('project', 'create', '--name', 'Shop', '--json', '--reason', 'test');
  project = (made.json() as { merchant: string }).merchant;
}, LIMIT_MS);

afterAll(async () => {
  await merchants.close();
  await operators.close();
  await test.drop();
});

const signIn = (browser: Browser, email: string, password = PASSWORD) =>
  browser.post('/api/sign-in', { email, password });
const owner = (email?: string): Promise<Account> => merchants.signedIn('owner', project, email);
const tokenOf = (browser: Browser): string => browser.cookies.get('merchant-session') ?? '';

describe('a session', () => {
  it('gets a new token at sign-in, at the second factor and at a new password, and the earlier one is void', async () => {
    const account = await owner();
    const browser = outsider();
    browser.cookies.set('merchant-session', 'planted-by-account-else-who-waits-for-it-43');
    await signIn(browser, account.email);
    const tokens = [tokenOf(browser)];
    const code = await restartCodes(merchants, account);
    await browser.post('/api/sign-in/second-factor', { code: code() });
    tokens.push(tokenOf(browser));
    const changed = await browser.post('/api/security/password', {
      current_password: PASSWORD,
      new_password: `${PASSWORD}, twice`,
    });
    expect(changed.status).toBe(200);
    tokens.push(tokenOf(browser));
    expect(new Set(['planted-by-account-else-who-waits-for-it-43', ...tokens]).size).toBe(4);
    const thief = outsider();
    for (const token of tokens.slice(0, 2)) {
      thief.cookies.set('merchant-session', token);
      expect((await thief.get('/api/session')).status).toBe(401);
    }
    expect((await browser.get('/api/session')).status).toBe(200);
  });

  it('that begins over another one ends it', async () => {
    const { email, browser } = await merchants.signedIn('member', project);
    const before = tokenOf(browser);
    await signIn(browser, email);
    const thief = outsider();
    thief.cookies.set('merchant-session', before);
    expect((await thief.get('/api/session')).status).toBe(401);
  });

  it('ends with the sign-out, for everyone with its cookie', async () => {
    const { browser } = await owner();
    const thief = outsider();
    thief.cookies.set('merchant-session', tokenOf(browser));
    expect((await thief.get('/api/session')).status).toBe(200);
    expect((await browser.post('/api/sign-out', {})).body).toEqual({ done: true });
    expect(browser.cookies.has('merchant-session')).toBe(false);
    expect((await thief.get('/api/session')).status).toBe(401);
  });

  it('says for each project of its person if it is a test project', async () => {
    const cli = cliWith(settings(test.url));
    const made = await cli('project', 'create', '--test', '--name', 'Till', '--json', '--reason', 'test');
    const played = (made.json() as { merchant: string }).merchant;
    const { browser, id } = await merchants.signedIn('member', played);
    await merchants.database.query(
      `INSERT INTO membership (person_id, audience, project_id, role) VALUES ($1, 'merchant', $2, 'member')`,
      [id, project],
    );
    expect((await browser.get('/api/session')).body.projects).toEqual([
      { id: project, name: 'Shop', role: 'member' },
      { id: played, name: 'Till', role: 'member', test: true },
    ]);
  });

  it('is stored only as a hash', async () => {
    const hexOf = (bytes: Buffer): string => bytes.toString('hex');
    const { browser } = await owner();
    const rows = await merchants.database.query<{ text: string }>(`SELECT s::text AS text FROM console_session s`);
    const token = tokenOf(browser);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(rows.some(({ text }) => text.includes(hexOf(createHash('sha256').update(token).digest())))).toBe(true);
    for (const clear of [token, hexOf(Buffer.from(token)), hexOf(Buffer.from(token, 'base64url'))]) {
      expect(rows.some(({ text }) => text.includes(clear))).toBe(false);
    }
  });

  it.each([
    ['it was unused for twelve hours', `seen_at = clock_timestamp() - interval '12 hours 1 second'`],
    ['it is seven days old', `created_at = clock_timestamp() - interval '7 days 1 second'`],
  ])('ends when %s', async (_what, set) => {
    const { browser, id } = await owner();
    await merchants.database.query(`UPDATE console_session SET ${set} WHERE person_id = $1`, [id]);
    expect((await browser.get('/api/session')).body.error).toBe('SIGN_IN');
  });

  it('that waits for its second factor ends after fifteen minutes, whatever the code', async () => {
    const account = await owner();
    const [late, inTime] = [outsider(), outsider()];
    for (const browser of [late, inTime]) await signIn(browser, account.email);
    const age = `UPDATE console_session SET created_at = clock_timestamp() - $2::interval WHERE token_hash = sha256($1::text::bytea)`;
    await merchants.database.query(age, [tokenOf(late), '15 minutes 1 second']);
    await merchants.database.query(age, [tokenOf(inTime), '14 minutes']);
    const code = (await restartCodes(merchants, account))();
    const use = async (browser: Browser) => (await browser.post('/api/sign-in/second-factor', { code })).body;
    expect(await use(late)).toMatchObject({ error: 'SIGN_IN' });
    expect(await use(inTime)).toMatchObject({ stage: 'signed_in' });
  });

  it('is not signed in to by the recovery code of another person', async () => {
    const [one, other] = [await owner(), await owner()];
    const [code = ''] = other.recoveryCodes;
    const use = async ({ email }: Account) => {
      const browser = outsider();
      await signIn(browser, email);
      return (await browser.post('/api/sign-in/second-factor', { recovery_code: code })).body;
    };
    expect(await use(one)).toMatchObject({ error: 'WRONG_CODE' });
    expect(await use(other)).toMatchObject({ stage: 'signed_in' });
  });

  it('is kept alive by a person’s requests, not by those that a page makes itself', async () => {
    const { browser, id } = await owner();
    const seen = async (): Promise<boolean> => {
      const rows = await merchants.database.query<{ old: boolean }>(
        `SELECT seen_at < clock_timestamp() - interval '1 hour' AS old FROM console_session WHERE person_id = $1`,
        [id],
      );
      return rows[0]?.old === false;
    };
    await merchants.database.query(
      `UPDATE console_session SET seen_at = seen_at - interval '2 hours' WHERE person_id = $1`,
      [id],
    );
    await browser.get('/api/session', { 'X-Background': '1' });
    expect(await seen()).toBe(false);
    await browser.get('/api/session');
    expect(await seen()).toBe(true);
  });

  it('shows its end twelve hours after the last request of the person, whatever a page requests itself', async () => {
    const { browser, id } = await owner();
    const endsAfterSeen = async (headers: Readonly<Record<string, string>>): Promise<number> => {
      const { body } = await browser.get('/api/session', headers);
      const [row] = await merchants.database.query<{ seen_at: Date }>(
        `SELECT seen_at FROM console_session WHERE person_id = $1`,
        [id],
      );
      return Date.parse(body.idle_until as string) - row!.seen_at.getTime();
    };
    const idleMs = 12 * 3_600_000;
    await merchants.database.query(
      `UPDATE console_session SET seen_at = date_trunc('milliseconds', seen_at - interval '11 hours') WHERE person_id = $1`,
      [id],
    );
    expect(await endsAfterSeen({ 'X-Background': '1' })).toBe(idleMs);
    expect(await endsAfterSeen({})).toBe(idleMs);
  });

  it('that ends while a body is arriving does nothing more', async () => {
    const { browser, id } = await merchants.signedIn('owner', project);
    const database = merchants.app.get<Database>(DatabaseToken);
    const found = new Promise<void>((resolve) => {
      aroundStatements(database, ['find_session'], { after: resolve });
    });
    const end = async (): Promise<void> => {
      await found;
      await merchants.database.query(`DELETE FROM console_session WHERE person_id = $1`, [id]);
    };
    const keys = () => merchants.database.query(`SELECT FROM api_key WHERE project_id = $1`, [project]);
    const before = (await keys()).length;
    const body = JSON.stringify({ name: 'late', scopes: ['read'] });
    const { status } = await browser.post(`/api/projects/${project}/keys`, body, {}, end);
    expect(status).toBe(401);
    expect(await keys()).toHaveLength(before);
  });

  it('requires the password again after ten minutes, for routes that say so', async () => {
    const account = await owner();
    const { browser, id } = account;
    await merchants.database.query(
      `UPDATE console_session SET authenticated_at = clock_timestamp() - interval '10 minutes 1 second' WHERE person_id = $1`,
      [id],
    );
    const act = () => browser.post('/api/security/recovery-codes', {});
    expect((await act()).body).toMatchObject({ error: 'SIGN_IN_AGAIN' });
    const code = await restartCodes(merchants, account);
    expect((await browser.post('/api/re-authenticate', { password: 'a wrong one' })).body.error).toBe(
      'WRONG_CREDENTIALS',
    );
    expect((await browser.post('/api/re-authenticate', { password: PASSWORD })).body.error).toBe('WRONG_CODE');
    const before = tokenOf(browser);
    const again = await browser.post('/api/re-authenticate', { password: PASSWORD, code: code() });
    expect([again.status, again.body.reauthenticated_until]).toEqual([200, expect.any(String)]);
    expect(tokenOf(browser)).not.toBe(before);
    expect((await act()).status).toBe(200);
  });

  it('is listed with the others, which can be ended singly or together', async () => {
    const account = await merchants.signedIn('member', project);
    const others = [outsider(), outsider(), outsider()];
    for (const browser of others) await signIn(browser, account.email);
    const { sessions } = (await account.browser.get('/api/security')).body as {
      sessions: { id: string; is_current: boolean }[];
    };
    expect(sessions.filter(({ is_current: isCurrent }) => isCurrent)).toHaveLength(1);
    const [one] = sessions.filter(({ is_current: isCurrent }) => !isCurrent);
    expect((await account.browser.post(`/api/security/sessions/${one?.id ?? ''}/end`, {})).status).toBe(200);
    expect((await account.browser.post(`/api/security/sessions/${one?.id ?? ''}/end`, {})).status).toBe(404);
    const alive = async (): Promise<number> =>
      (await Promise.all(others.map((browser) => browser.get('/api/session')))).filter(({ status }) => status === 200)
        .length;
    expect(await alive()).toBe(2);
    await account.browser.post('/api/security/sessions/end-others', {});
    expect([await alive(), (await account.browser.get('/api/session')).status]).toEqual([0, 200]);
  });

  it('of a person without memberships is none, even if it remains', async () => {
    const { browser, id } = await merchants.signedIn('member', project);
    await merchants.database.query(`DELETE FROM membership WHERE person_id = $1`, [id]);
    for (const answer of [
      await browser.get('/api/session'),
      await browser.post('/api/security/sessions/end-others', {}),
    ])
      expect([answer.status, answer.body.error]).toEqual([401, 'SIGN_IN']);
    const left = await merchants.database.query(`SELECT FROM console_session WHERE person_id = $1`, [id]);
    expect(left).toHaveLength(1);
  });

  it('of another person cannot be ended', async () => {
    const [one, other] = [await merchants.signedIn('member', project), await merchants.signedIn('member', project)];
    const [session] = (await other.browser.get('/api/security')).body.sessions as { id: string }[];
    expect((await one.browser.post(`/api/security/sessions/${session?.id ?? ''}/end`, {})).status).toBe(404);
    expect((await other.browser.get('/api/session')).status).toBe(200);
  });

  it('ends its streams immediately, even if another process ends it', async () => {
    const account = await merchants.signedIn('member', project);
    const second = await openConsole(test.url, 'merchant');
    try {
      const stream = await account.browser.open('GET', '/api/session/stream', undefined, {
        'Sec-Fetch-Site': 'same-origin',
      });
      const said: string[] = [];
      const ended = new Promise<void>((resolve) =>
        stream.on('data', (chunk: Buffer) => said.push(chunk.toString())).once('end', resolve),
      );
      const elsewhere = second.browser();
      elsewhere.cookies.set('merchant-session', tokenOf(account.browser));
      expect((await elsewhere.post('/api/sign-out', {})).status).toBe(200);
      await ended;
      expect(said.join('')).toContain('"type":"open"');
      expect(said.join('')).toContain('"type":"ended"');
      keepSaid('stream of a console', said.join(''));
    } finally {
      await second.close();
    }
  });

  it('evicts others: a person has at most twenty', async () => {
    const { email, browser, id } = await merchants.signedIn('member', project);
    await signIn(browser, email);
    for (let time = 1; time <= 21; time += 1) await signIn(merchants.browser(`203.0.113.${time.toString()}`), email);
    const rows = await merchants.database.query(`SELECT id FROM console_session WHERE person_id = $1`, [id]);
    expect(rows).toHaveLength(20);
    expect((await browser.get('/api/session')).status).toBe(401);
  });
});

it('a second factor that is reset makes known browsers unknown, in case one of them was the reason', async () => {
  const account = await owner();
  const cli = cliWith(settings(test.url));
  expect((await cli('--yes', 'console', 'reset-factor', account.email)).code).toBe(0);
  for (let guess = 1; guess <= 10; guess += 1) await signIn(outsider(), account.email, 'a wrong one');
  expect((await signIn(account.browser, account.email)).status).toBe(429);
});

describe('a new password', () => {
  it('ends all other sessions, and a known browser becomes an unknown one', async () => {
    const account = await merchants.signedIn('member', project);
    const other = outsider();
    await signIn(other, account.email);
    const next = 'another sentence altogether';
    const changed = await account.browser.post('/api/security/password', {
      current_password: PASSWORD,
      new_password: next,
    });
    expect(changed.status).toBe(200);
    expect((await other.get('/api/session')).status).toBe(401);
    expect((await signIn(outsider(), account.email)).status).toBe(401);
    for (let guess = 1; guess <= 9; guess += 1) await signIn(outsider(), account.email, 'a wrong one');
    // The cookie from before the change no longer marks a known device.
    expect((await signIn(other, account.email, next)).status).toBe(429);
  });

  it.each([
    ['short', 'too short', /at least 12/],
    ['of few characters', 'abababababababab', /too few/],
    ['made of the e-mail', 'fit-person@example.com!', /e-mail/],
  ])('that is %s is rejected', async (_what, password, says) => {
    const token = await invitationFor(merchants, 'member', project, 'fit-person@example.com');
    const { status, body } = await outsider().post('/api/invitations/accept', { token, password });
    expect([status, body.error, body.details[0].field]).toEqual([422, 'PASSWORD_NOT_FIT', 'password']);
    expect(body.msg).toMatch(says);
  });

  it('requires the present one', async () => {
    const { browser } = await merchants.signedIn('member', project);
    const refused = await browser.post('/api/security/password', {
      current_password: 'not it at all',
      new_password: `${PASSWORD}!`,
    });
    expect(refused.body.error).toBe('WRONG_CREDENTIALS');
  });
});
