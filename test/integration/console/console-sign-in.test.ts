// Console sign-in from the viewpoint of people and attackers, over HTTP in the console's own role.
import { createHash } from 'node:crypto';
import { generateSync } from 'otplib';
import { until } from '../../../packages/local/src/wait.js';
import type { Database, Statement } from '../../../src/platform/database/database.js';
import { Database as DatabaseToken } from '../../../src/platform/database/database.js';
import {
  restartCodes,
  enrol,
  invitationFor,
  openConsole,
  PASSWORD,
  signInAgain,
  type Browser,
  type Account,
  type TestConsole,
} from '../../support/console/console-fixture.js';
import { asAdmin } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { untilWaiting } from '../../setup/waiting.js';
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
const guessesKept = async (): Promise<number | undefined> =>
  (await merchants.database.query<{ count: number }>('SELECT count(*)::int AS count FROM sign_in_guess'))[0]?.count;
const tokenOf = (browser: Browser): string => browser.cookies.get('merchant-session') ?? '';

describe('a password', () => {
  it('that is wrong, unknown, or of a removed person gets the same answer by the same statements', async () => {
    const [member, removed] = [
      await merchants.signedIn('member', project),
      await merchants.signedIn('member', project),
    ];
    await merchants.database.query(`DELETE FROM membership WHERE person_id = $1`, [removed.id]);
    const asked = async (email: string): Promise<unknown> => {
      const names: string[] = [];
      const stop = listen(merchants.app.get<Database>(DatabaseToken), names);
      const { status, text, headers } = await signIn(outsider(), email, 'something else altogether');
      stop();
      return { status, text, names, headers: Object.keys(headers).sort() };
    };
    const wrong = await asked(member.email);
    expect(wrong).toMatchObject({ status: 401, names: ['find_person', 'take_guess', 'take_guess'] });
    expect(await asked('nobody@example.com')).toEqual(wrong);
    expect(await asked(removed.email)).toEqual(wrong);
    expect(await asked('no address at all')).toEqual(wrong);
    expect((await signIn(outsider(), removed.email)).status).toBe(401);
  });

  it('accepts capitals in the e-mail, and opens a complete session for a member', async () => {
    const { email } = await merchants.signedIn('member', project);
    const { status, body } = await signIn(outsider(), ` ${email.toUpperCase()} `);
    expect([status, body]).toEqual([200, expect.objectContaining({ stage: 'signed_in', audience: 'merchant' })]);
    expect(body.projects).toEqual([{ id: project, name: 'Shop', role: 'member' }]);
  });

  it('opens nothing once it is being replaced, whenever it was checked', async () => {
    const { id, email } = await merchants.signedIn('member', project);
    await asAdmin(test.url, async (client) => {
      await client.query('BEGIN');
      await client.query('UPDATE person SET credentials = credentials + 1 WHERE id = $1', [id]);
      let isAnswered = false;
      const answer = signIn(outsider(), email).finally(() => (isAnswered = true));
      await untilWaiting(merchants.database, 1, () => isAnswered);
      await client.query('COMMIT');
      expect((await answer).status).toBe(401);
    });
    expect((await signIn(outsider(), email)).status).toBe(200);
  });

  it('opens nothing of the other audience', async () => {
    const { email, browser } = await merchants.signedIn('member', project);
    expect((await signIn(outsider(operators), email)).status).toBe(401);
    const there = outsider(operators);
    there.cookies.set('operator-session', tokenOf(browser));
    expect((await there.get('/api/session')).body).toMatchObject({ error: 'SIGN_IN' });
  });
});

describe('guesses', () => {
  it('from unknown devices share one budget of an account, and lock out no known browser', async () => {
    const { email, browser } = await merchants.signedIn('member', project);
    await signIn(browser, email);
    for (let guess = 1; guess <= 10; guess += 1) {
      expect((await signIn(outsider(), email, `guess number ${guess.toString()}`)).status).toBe(401);
    }
    const spent = await signIn(outsider(), email);
    expect([spent.status, spent.body.error]).toEqual([429, 'TOO_MANY_GUESSES']);
    expect(Number(spent.headers['retry-after'])).toBeGreaterThan(3000);
    expect((await signIn(browser, email)).body).toMatchObject({ stage: 'signed_in' });
    // An unknown account is refused after the same number of guesses.
    for (let guess = 1; guess <= 10; guess += 1) await signIn(outsider(), 'nobody-at-all@example.com', 'guess');
    const ofUnknownAddress = await signIn(outsider(), 'nobody-at-all@example.com');
    expect(ofUnknownAddress.body).toEqual(spent.body);
  });

  it('of a known browser have a separate budget', async () => {
    const { email, browser } = await merchants.signedIn('member', project);
    await signIn(browser, email);
    for (let guess = 1; guess <= 10; guess += 1) await signIn(browser, email, 'a wrong one');
    expect((await signIn(browser, email)).status).toBe(429);
    expect((await signIn(outsider(), email)).status).toBe(200);
  });

  it('of a forged cookie, or of another account’s, count as those of an unknown device', async () => {
    const [one, other] = [await merchants.signedIn('member', project), await merchants.signedIn('member', project)];
    await signIn(other.browser, other.email);
    const cookie = other.browser.cookies.get('merchant-device') ?? '';
    for (const value of [
      cookie,
      cookie.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A')),
      `${'a'.repeat(22)}.${'b'.repeat(43)}`,
    ]) {
      const thief = outsider();
      thief.cookies.set('merchant-device', value);
      for (let guess = 1; guess <= 4; guess += 1) {
        thief.cookies.delete('merchant-session');
        await signIn(thief, one.email, 'a wrong one');
      }
    }
    expect((await signIn(outsider(), one.email)).status).toBe(429);
  });

  it(
    'of one address are bounded, whatever the accounts',
    async () => {
      const crowd = merchants.browser('203.0.113.9');
      for (let guess = 1; guess <= 60; guess += 1)
        await signIn(crowd, `person-${guess.toString()}@example.org`, 'guess');
      expect((await signIn(crowd, 'one-more@example.org', 'guess')).status).toBe(429);
      const before = await guessesKept();
      for (const name of ['a', 'b', 'c']) {
        expect((await signIn(crowd, `${name}-more@example.org`, 'guess')).status).toBe(429);
      }
      // A guess that is refused for its client address leaves no trace on the account it named.
      expect(await guessesKept()).toBe(before);
    },
    LIMIT_MS,
  );

  it(
    'of one address are not forgotten for a code that another address’s sign-in waited for',
    async () => {
      const account = await owner();
      const [crowd, elsewhere] = [merchants.browser('203.0.113.10'), outsider()];
      for (let guess = 1; guess <= 60; guess += 1) await signIn(crowd, `of-${guess.toString()}@example.org`, 'guess');
      await signIn(elsewhere, account.email);
      crowd.cookies.set('merchant-session', tokenOf(elsewhere));
      const code = (await restartCodes(merchants, account))();
      const { body } = await crowd.post('/api/sign-in/second-factor', { code });
      expect(body).toMatchObject({ stage: 'signed_in' });
      expect((await signIn(merchants.browser('203.0.113.10'), 'more@example.org', 'guess')).status).toBe(429);
    },
    LIMIT_MS,
  );

  it(
    'are forgotten after their window, however many there are',
    async () => {
      await merchants.database.query(`INSERT INTO sign_in_guess (key, guesses, window_ends)
        SELECT sha256(n::text::bytea), 1, clock_timestamp() - interval '1 second' FROM generate_series(1, 25000) n`);
      const past = `SELECT count(*)::int AS count FROM sign_in_guess WHERE window_ends < clock_timestamp()`;
      const another = await openConsole(test.url, 'merchant');
      try {
        await until(
          async () => (await merchants.database.query<{ count: number }>(past))[0]?.count === 0 || undefined,
          LIMIT_MS / 2,
          'the end of past guesses',
        );
      } finally {
        await another.close();
      }
    },
    LIMIT_MS,
  );

  it(
    'of one IPv6 network count together',
    async () => {
      for (let guess = 1; guess <= 60; guess += 1) {
        const address = `2001:db8:1:2::${guess.toString(16)}`;
        await signIn(merchants.browser(address), `v6-${guess.toString()}@example.org`, 'guess');
      }
      expect((await signIn(merchants.browser('2001:db8:1:2:3::1'), 'more@example.org', 'guess')).status).toBe(429);
      expect((await signIn(merchants.browser('2001:db8:1:3::1'), 'more@example.org', 'guess')).status).toBe(401);
    },
    LIMIT_MS,
  );

  it(
    'of one IPv6 /56 count together, whatever their /64',
    async () => {
      const statuses: number[] = [];
      for (let guess = 0; guess <= 120; guess += 1) {
        const address = `2001:db8:7:${(0x1200 + guess).toString(16)}::1`;
        statuses.push(
          (await signIn(merchants.browser(address), `of56-${guess.toString()}@example.org`, 'guess')).status,
        );
      }
      expect([statuses.slice(0, 120).every((status) => status === 401), statuses.at(-1)]).toEqual([true, 429]);
      expect((await signIn(merchants.browser('2001:db8:7:1300::1'), 'other56@example.org', 'guess')).status).toBe(401);
    },
    LIMIT_MS,
  );

  it('that were right are not counted', async () => {
    const { email } = await merchants.signedIn('member', project);
    for (let time = 1; time <= 15; time += 1) expect((await signIn(outsider(), email)).status).toBe(200);
  });
});

describe('the second factor', () => {
  it('is required before anything else, and a session that waits for it can set up no other', async () => {
    const { email } = await owner();
    const browser = outsider();
    expect((await signIn(browser, email)).body).toMatchObject({ stage: 'second_factor' });
    expect((await browser.get('/api/session')).body.projects).toBeUndefined();
    const refused = [
      await browser.get('/api/security'),
      await browser.get(`/api/projects/${project}/team`),
      await browser.post('/api/security/second-factor/begin', {}),
      await browser.post('/api/re-authenticate', { password: PASSWORD, code: '000000' }),
    ];
    expect(refused.map(({ status, body }) => [status, body.error])).toEqual(refused.map(() => [403, 'SECOND_FACTOR']));
    expect(browser.cookies.has('merchant-device')).toBe(false);
  });

  it('accepts a step once: the same code signs no one in again', async () => {
    const account = await owner();
    const [first, second] = [outsider(), outsider()];
    await signIn(first, account.email);
    await signIn(second, account.email);
    const code = (await restartCodes(merchants, account))();
    expect((await first.post('/api/sign-in/second-factor', { code })).body).toMatchObject({ stage: 'signed_in' });
    expect((await second.post('/api/sign-in/second-factor', { code })).body).toMatchObject({ error: 'WRONG_CODE' });
  });

  it('accepts one of two concurrent codes', async () => {
    const account = await owner();
    const browsers = [outsider(), outsider(), outsider(), outsider()];
    for (const browser of browsers) await signIn(browser, account.email);
    const code = (await restartCodes(merchants, account))();
    const answers = await Promise.all(browsers.map((browser) => browser.post('/api/sign-in/second-factor', { code })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('accepts no code of a step long past, nor of one far ahead', async () => {
    const { email, secret } = await owner();
    const browser = outsider();
    await signIn(browser, email);
    for (const off of [-120, 120]) {
      const code = generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + off });
      expect((await browser.post('/api/sign-in/second-factor', { code })).body).toMatchObject({ error: 'WRONG_CODE' });
    }
  });

  it('ends the attempt at the fifth wrong code, after which the right one is too late', async () => {
    const account = await owner();
    const browser = outsider();
    await signIn(browser, account.email);
    const code = (await restartCodes(merchants, account))();
    const wrong = code === '000000' ? '000001' : '000000';
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      expect((await browser.post('/api/sign-in/second-factor', { code: wrong })).body.error).toBe('WRONG_CODE');
    }
    expect((await browser.post('/api/sign-in/second-factor', { code: wrong })).body.error).toBe('SIGN_IN');
    expect((await browser.post('/api/sign-in/second-factor', { code })).body.error).toBe('SIGN_IN');
  });

  it('cannot be guessed with a known password, while the owner’s own browser still signs in', async () => {
    const account = await owner();
    const wrong = { code: '123456' };
    let refused = 0;
    for (let attempt = 1; attempt <= 11; attempt += 1) {
      const thief = outsider();
      if ((await signIn(thief, account.email)).status === 429) refused += 1;
      else for (let guess = 1; guess <= 5; guess += 1) await thief.post('/api/sign-in/second-factor', wrong);
    }
    expect(refused).toBeGreaterThan(0);
    const counted = await merchants.database.query<{ most: number }>(`SELECT max(guesses) AS most FROM sign_in_guess`);
    expect(counted[0]?.most).toBeGreaterThan(20);
    const again = await signInAgain(account.browser, account.email, await restartCodes(merchants, account));
    expect(again.body).toMatchObject({ stage: 'signed_in' });
  });

  it('has ten recovery codes, each valid once, and new ones replace the old', async () => {
    const account = await owner();
    const [first = '', second = ''] = account.recoveryCodes;
    expect(new Set(account.recoveryCodes).size).toBe(10);
    const use = async (code: string): Promise<number> => {
      const browser = outsider();
      await signIn(browser, account.email);
      return (await browser.post('/api/sign-in/second-factor', { recovery_code: code })).status;
    };
    expect(await use(first.toUpperCase().replaceAll('-', ' '))).toBe(200);
    expect(await use(first)).toBe(401);
    const anew = await account.browser.post('/api/security/recovery-codes', {});
    expect(anew.body.recovery_codes).toHaveLength(10);
    expect(await use(second)).toBe(401);
    const kept = await merchants.database.query<{ text: string }>(`SELECT r::text AS text FROM recovery_code r`);
    const [code] = anew.body.recovery_codes as string[];
    const short = code!.replaceAll('-', '').toLowerCase();
    const hash = createHash('sha256').update(`recovery-code:${short}`).digest('hex');
    expect(kept.some(({ text }) => text.includes(hash))).toBe(true);
    for (const clear of [code!, short, Buffer.from(code!).toString('hex'), Buffer.from(short).toString('hex')]) {
      expect(kept.some(({ text }) => text.includes(clear))).toBe(false);
    }
  });

  it('has ten of them after concurrent requests for new ones', async () => {
    const { browser, id } = await owner();
    const { database } = merchants;
    const asked = await database.transaction(async (tx) => {
      await tx.query(`SELECT FROM person p JOIN recovery_code r ON r.person_id = p.id WHERE p.id = $1 FOR UPDATE`, [
        id,
      ]);
      const both = [1, 2].map(async () => browser.post('/api/security/recovery-codes', {}));
      await untilWaiting(database, 2);
      return both;
    });
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
    expect(await database.query(`SELECT FROM recovery_code WHERE person_id = $1`, [id])).toHaveLength(10);
  });

  it('is required of owners: without one nothing else is answered, and it cannot be removed', async () => {
    const email = 'without-factor@example.com';
    const browser = outsider();
    const token = await invitationFor(merchants, 'owner', project, email);
    const accepted = await browser.post('/api/invitations/accept', { token, password: PASSWORD });
    expect(accepted.body).toMatchObject({ stage: 'enrol' });
    expect((await browser.get(`/api/projects/${project}/team`)).body).toMatchObject({ error: 'SECOND_FACTOR' });
    await enrol(browser);
    expect((await browser.get(`/api/projects/${project}/team`)).status).toBe(200);
    expect((await browser.post('/api/security/second-factor/remove', {})).body.error).toBe('SECOND_FACTOR_REQUIRED');
  });

  it('is stored under a key, and no answer shows it again', async () => {
    const { browser, secret, id } = await owner();
    const rows = await merchants.database.query<{ text: string }>(
      `SELECT p::text AS text FROM person p WHERE id = $1`,
      [id],
    );
    expect(rows[0]?.text).not.toContain(Buffer.from(secret).toString('hex'));
    expect((await browser.get('/api/security')).text).not.toContain(secret);
  });
});

/** Records the names of the statements from now on, until the returned function is called. */
function listen(database: Database, names: string[]): () => void {
  const query = database.query.bind(database);
  const nameOf = (statement: Statement | string): string =>
    typeof statement === 'string' ? statement : (statement.name ?? statement.text);
  database.query = async (statement, params) => {
    names.push(nameOf(statement));
    return query(statement, params);
  };
  return () => {
    database.query = query;
  };
}
