// E-mail notifications that people chose: from the event log to a mail server on a socket, once each, within limits.
import { randomUUID } from 'node:crypto';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { Database } from '../../../src/platform/database/database.js';
import { until } from '../../../packages/local/src/wait.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { openLog } from '../../support/log.js';
import { openMailServer, type MailServer, type TakenMail } from '../../support/console/mail-server.js';
import {
  hastenAfter,
  hastenMails,
  mailState,
  MAIL_LIMIT_MS,
  type MailState,
} from '../../support/console/notification-mails.js';
import { seedTestCanaries } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const START_LIMIT_MS = 120_000;
const TEST_LIMIT_MS = 180_000;

let store: TestDatabase;
let server: MailServer;
let merchants: TestConsole;
let again: TestConsole;
let operators: TestConsole;
let numberer: Numberer;
let admin: Account;

beforeAll(async () => {
  [store, server] = [await createTestDatabase(), await openMailServer()];
  await seedTestCanaries(store.url);
  const env = { SMTP_URL: server.url, MAIL_FROM: 'energy@shop.example' };
  merchants = await openConsole(store.url, 'merchant', env);
  // Two processes send, yet each mail goes out once.
  again = await openConsole(store.url, 'merchant', env);
  operators = await openConsole(store.url, 'operator', env);
  numberer = new Numberer(operators.database, new Metrics(), openLog('silent'));
  admin = await operators.signedIn('admin');
}, START_LIMIT_MS);

afterEach(() => {
  server.mood = 'takes';
});

afterAll(async () => {
  await Promise.all([merchants.close(), again.close(), operators.close()]);
  await server.close();
  await store.drop();
}, START_LIMIT_MS);

interface Place {
  readonly project: string;
  readonly owner: Account;
}

let made = 0;

/** Creates a project with an owner who is notified of `kinds`. */
async function placeWith(kinds: readonly string[], name = `Shop ${(made += 1).toString()}`): Promise<Place> {
  const created = await admin.browser.post('/api/operator/projects', { name, terms: 'prepaid', reason: 'a customer' });
  const project = created.body.project.id as string;
  const owner = await merchants.signedIn('owner', project);
  await number();
  const chosen = await owner.browser.post('/api/notifications', { project_id: project, kinds });
  expect([chosen.status, chosen.body.error]).toEqual([200, undefined]);
  return { project, owner };
}

async function number(): Promise<void> {
  while ((await numberer.numberBatch()) > 0);
}

const mailsTo = ({ owner }: Pick<Place, 'owner'>): TakenMail[] =>
  server.mails.filter(({ to }) => to.includes(owner.email));

const mailed = (place: Pick<Place, 'owner'>, count = 1): Promise<TakenMail> =>
  until(() => (mailsTo(place).length >= count ? mailsTo(place)[count - 1] : undefined), MAIL_LIMIT_MS, 'the mail');

const hasten = ({ owner }: Pick<Place, 'owner'>): Promise<void> => hastenMails(merchants.database, owner);
const stateOf = ({ owner }: Pick<Place, 'owner'>): Promise<MailState> => mailState(merchants.database, owner);

const makeKey = async ({ project, owner }: Place, name: string): Promise<void> => {
  const key = await owner.browser.post(`/api/projects/${project}/keys`, { name, scopes: ['read'] });
  expect(key.status).toBe(201);
  await number();
};

/** Inserts this many events, as the triggers write them. */
async function storm({ project }: Place, count: number): Promise<void> {
  await merchants.database.query(
    `INSERT INTO event (project_id, type, snapshot)
     SELECT $1, 'key.created', json_build_object('key', json_build_object('id', gen_random_uuid(), 'name', 'k' || i,
       'is_primary', false, 'scopes', json_build_array('read'), 'previous_until', NULL)) FROM generate_series(1, $2) i`,
    [project, count],
  );
  await number();
}

const choiceOf = async ({ project, owner }: Place) =>
  (await owner.browser.get('/api/notifications')).body.choices.find(
    (each: { project_id: string }) => each.project_id === project,
  );

it(
  'notifies a person of the chosen events by one mail with links to them and to unsubscribe, without secrets',
  async () => {
    const place = await placeWith(['keys', 'project']);
    const { project } = place;
    const key = await place.owner.browser.post(`/api/projects/${project}/keys`, { name: 'payouts', scopes: ['read'] });
    await operators.app.get(Ledger).setFrozen(project, true, AUTHOR);
    await operators.app.get(Ledger).setFrozen(project, false, AUTHOR);
    await number();
    const mail = await mailed(place);
    expect(mail.subject).toBe(`Project ${project.slice(0, 8)}: 3 events`);
    expect(mail.to).toEqual([place.owner.email]);
    for (const words of [
      '- The API key “payouts” was created.',
      '- The project is frozen: its requests are refused.',
      '- The project is no longer frozen.',
      `http://localhost:3001/p/${project}/integration/keys`,
      `http://localhost:3001/p/${project}/settings/notifications`,
    ]) {
      expect(mail.text).toContain(words);
    }
    expect(mail.headers).toMatch(/^List-Unsubscribe: <http:\/\/localhost:3001\/unsubscribe\?t=[^>]+>/m);
    expect(mail.headers).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/m);
    expect(mail.raw).not.toContain(key.body.secret as string);
    await until(async () => (await choiceOf(place)).last_mail_at, MAIL_LIMIT_MS, 'the mail being noted');
    await hasten(place);
    await makeKey(place, 'second');
    const second = await mailed(place, 2);
    expect(second.subject).toBe(`Project ${project.slice(0, 8)}: An API key was created`);
    expect(second.text).toContain('The API key “second” was created');
  },
  TEST_LIMIT_MS,
);

it('notifies no one of other events, nor of earlier ones', async () => {
  const place = await placeWith(['statements', 'webhooks']);
  await makeKey(place, 'unasked');
  const { position } = await stateOf(place);
  await until(
    async () => ((await stateOf(place)).position > position ? true : undefined),
    MAIL_LIMIT_MS,
    'being passed',
  );
  expect(mailsTo(place)).toEqual([]);
});

it(
  'a storm is one mail that counts the rest, and an hour has a few mails for all memberships of a person',
  async () => {
    const place = await placeWith(['keys']);
    await storm(place, 232);
    const mail = await mailed(place);
    expect(mail.subject).toContain('232 events');
    expect(mail.text.match(/^- /gm)).toHaveLength(20);
    expect(mail.text).toContain(
      `212 more are listed under Events: http://localhost:3001/p/${place.project}/integration/events`,
    );
    for (let count = 2; count <= 6; count += 1) {
      await until(async () => (await choiceOf(place)).last_mail_at, MAIL_LIMIT_MS, 'the mail being noted');
      await hasten(place);
      await storm(place, 1);
      await mailed(place, count);
    }
    await until(async () => ((await stateOf(place)).lately === 6 ? true : undefined), MAIL_LIMIT_MS, 'the sixth mail');
    await hasten(place);
    await storm(place, 3);
    await until(
      async () => {
        const [row] = await merchants.database.query<{ later: boolean }>(
          `SELECT n.due_at > clock_timestamp() + interval '30 minutes' AS later FROM notification n
             JOIN membership m ON m.id = n.membership_id WHERE m.person_id = $1`,
          [place.owner.id],
        );
        return row?.later === true ? true : undefined;
      },
      MAIL_LIMIT_MS,
      'the mail being put off',
    );
    expect(mailsTo(place)).toHaveLength(6);
    // An hour later, one mail holds everything that was postponed.
    await merchants.database.query(
      `UPDATE notification SET mailed_at = ARRAY(SELECT t - interval '1 hour' FROM unnest(mailed_at) t)
        WHERE membership_id IN (SELECT id FROM membership WHERE person_id = $1)`,
      [place.owner.id],
    );
    await hasten(place);
    expect((await mailed(place, 7)).subject).toContain('3 events');
  },
  TEST_LIMIT_MS,
);

it(
  'retries a rejected mail and skips nothing, and its person sees the failure and the end of it',
  async () => {
    const place = await placeWith(['keys']);
    server.mood = 'busy';
    await makeKey(place, 'early');
    const failing = await until(async () => (await choiceOf(place)).failing, MAIL_LIMIT_MS, 'the failure being shown');
    expect(failing).toEqual({ since: expect.any(String), fault: 'the mail server refused it (451)' });
    expect(await stateOf(place)).toMatchObject({ failures: 1, lately: 0 });
    server.mood = 'takes';
    await makeKey(place, 'late');
    await hasten(place);
    const mail = await mailed(place);
    expect([mail.text.includes('“early”'), mail.text.includes('“late”'), mailsTo(place).length]).toEqual([
      true,
      true,
      1,
    ]);
    await until(
      async () => ((await choiceOf(place)).failing === undefined ? true : undefined),
      MAIL_LIMIT_MS,
      'its end',
    );
  },
  TEST_LIMIT_MS,
);

it(
  'gives up an address with permanent refusals after three tries, and notes it on its person’s page',
  async () => {
    const place = await placeWith(['keys']);
    server.mood = 'refuses';
    await storm(place, 5);
    const givenUp = await until(
      async () => {
        await hasten(place);
        return (await choiceOf(place)).given_up as unknown;
      },
      MAIL_LIMIT_MS,
      'the mail being given up',
      1000,
    );
    // The server's own text names an address, so it is not stored.
    expect(givenUp).toEqual({ at: expect.any(String), count: 5, fault: 'the mail server refused it (550)' });
    server.mood = 'takes';
    await hasten(place);
    await makeKey(place, 'afterwards');
    expect((await mailed(place)).text).toContain('“afterwards”');
  },
  TEST_LIMIT_MS,
);

it(
  'temporary failures count for none: a mail with one refusal after them is still tried',
  async () => {
    const place = await placeWith(['keys']);
    const failing = (failures: number, fault: string): Promise<true> =>
      until(
        async () => {
          const { failures: seen } = await stateOf(place);
          const isSo = (await choiceOf(place)).failing?.fault === `the mail server refused it (${fault})`;
          if (seen === failures && isSo) return true;
          await hastenAfter(merchants.database, place.owner, seen);
          return undefined;
        },
        MAIL_LIMIT_MS,
        `failure ${failures.toString()}, ${fault}`,
        500,
      );
    server.mood = 'busy';
    await storm(place, 1);
    await failing(2, '451');
    server.mood = 'refuses';
    await hasten(place);
    await failing(1, '550');
    expect((await choiceOf(place)).given_up).toBeUndefined();
    server.mood = 'takes';
    await hasten(place);
    await mailed(place);
  },
  TEST_LIMIT_MS,
);

it(
  'repeats a mail of unknown outcome under the same id, and counts it in its hour',
  async () => {
    const place = await placeWith(['keys']);
    server.mood = 'dies';
    await makeKey(place, 'lost');
    const first = await mailed(place);
    await until(async () => ((await stateOf(place)).failures === 1 ? true : undefined), MAIL_LIMIT_MS, 'the failure');
    server.mood = 'takes';
    await hasten(place);
    const second = await mailed(place, 2);
    expect(second.id).toBe(first.id);
    expect((await stateOf(place)).lately).toBe(2);
  },
  TEST_LIMIT_MS,
);

it('a name with line breaks adds no header', async () => {
  const place = await placeWith(['keys']);
  await merchants.database.query(
    `UPDATE project SET name = E'Shop\\r\\nBcc: thief@example.net\\r\\n\\r\\nHello' WHERE id = $1`,
    [place.project],
  );
  await storm(place, 1);
  const mail = await mailed(place);
  expect(mail.subject).toBe(`Project ${place.project.slice(0, 8)}: An API key was created`);
  expect(mail.text).toMatch(/^Shop Bcc: thief@example\.net Hello:/);
  expect([mail.to, /^Bcc:/im.test(mail.headers)]).toEqual([[place.owner.email], false]);
});

it('counts mails from zero, so that the first of each outcome is an increase', async () => {
  const fresh = await openConsole(store.url, 'merchant');
  const counted = (await fresh.metrics()).split('\n').filter((line) => line.startsWith('mails_total{'));
  await fresh.close();
  expect(counted).toEqual(
    ['taken', 'failed', 'given_up', 'put_off'].map((outcome) => `mails_total{outcome="${outcome}"} 0`),
  );
});

it('notifies no one who left the project', async () => {
  const place = await placeWith(['keys']);
  const other = await merchants.signedIn('owner', place.project);
  const removed = await other.browser.post(`/api/projects/${place.project}/team/${place.owner.id}/remove`, {});
  expect(removed.status).toBe(200);
  const chosen = await other.browser.post('/api/notifications', { project_id: place.project, kinds: ['keys'] });
  expect(chosen.status).toBe(200);
  await storm(place, 1);
  await mailed({ owner: other });
  expect(mailsTo(place)).toEqual([]);
});

describe('a choice', () => {
  it('is a person’s own, for their projects, of existing kinds, and in the audit log', async () => {
    const place = await placeWith(['balance', 'orders', 'balance']);
    expect((await choiceOf(place)).kinds).toEqual(['balance', 'orders']);
    const member = await merchants.signedIn('member', place.project);
    const answer = await member.browser.get('/api/notifications');
    expect(answer.body).toEqual({
      email: member.email,
      is_mail_set_up: true,
      mails_per_hour: 6,
      choices: [{ project_id: place.project, kinds: [] }],
    });
    const [act] = await merchants.database.query(
      `SELECT actor, detail FROM audit_log WHERE action = 'notifications.change' AND subject = $1`,
      [place.project],
    );
    expect(act).toEqual({ actor: place.owner.email, detail: { kinds: ['balance', 'orders', 'balance'] } });
  });

  it.each([
    ['of a project without membership', () => ({ project_id: randomUUID(), kinds: ['keys'] }), 404],
    ['of no project', () => ({ kinds: ['keys'] }), 400],
    ['of an event for operators', (project: string) => ({ project_id: project, kinds: ['fault'] }), 400],
    ['of an unknown event', (project: string) => ({ project_id: project, kinds: ['weather'] }), 400],
    ['that is not a list', (project: string) => ({ project_id: project }), 400],
  ])('%s is refused', async (_, wanted, status) => {
    const { project, owner } = await placeWith([]);
    expect((await owner.browser.post('/api/notifications', wanted(project))).status).toBe(status);
  });

  it('is not available without a mail server, and the page says so', async () => {
    const without = await openConsole(store.url, 'operator');
    try {
      const { browser } = await without.signedIn('admin');
      expect((await browser.get('/api/notifications')).body).toMatchObject({
        is_mail_set_up: false,
        choices: [{ kinds: [] }],
      });
      const refused = await browser.post('/api/notifications', { kinds: ['fault'] });
      expect([refused.status, refused.body.error]).toEqual([422, 'NOT_ALLOWED_HERE']);
      expect((await browser.post('/api/notifications', { kinds: [] })).status).toBe(200);
    } finally {
      await without.close();
    }
  });

  it('of an operator is no row that a merchants’ console sees', async () => {
    await admin.browser.post('/api/notifications', { kinds: [] });
    const seen = await merchants.app
      .get(Database)
      .query<{ audience: string }>(`SELECT DISTINCT audience FROM notification`);
    expect(seen).toEqual([{ audience: 'merchant' }]);
  });
});
