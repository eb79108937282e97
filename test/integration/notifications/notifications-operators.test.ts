// Notifications of operators: the inbox's lines, each mailed once for as long as it lasts.
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { until } from '../../../packages/local/src/wait.js';
import { openConsole, type Account, type TestConsole } from '../../support/console/console-fixture.js';
import { AUTHOR } from '../../support/api/factory.js';
import { openMailServer, type MailServer, type TakenMail } from '../../support/console/mail-server.js';
import { hastenMails, mailState, MAIL_LIMIT_MS } from '../../support/console/notification-mails.js';
import { seedTestCanaries } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const START_LIMIT_MS = 120_000;
const TEST_LIMIT_MS = 180_000;

let store: TestDatabase;
let server: MailServer;
let operators: TestConsole;

beforeAll(async () => {
  [store, server] = [await createTestDatabase(), await openMailServer()];
  await seedTestCanaries(store.url);
  operators = await openConsole(store.url, 'operator', { SMTP_URL: server.url, MAIL_FROM: 'energy@shop.example' });
}, START_LIMIT_MS);

afterAll(async () => {
  await operators.close();
  await server.close();
  await store.drop();
}, START_LIMIT_MS);

const mailsTo = ({ email }: Account): TakenMail[] => server.mails.filter(({ to }) => to.includes(email));

const mailed = (person: Account, count = 1): Promise<TakenMail> =>
  until(() => (mailsTo(person).length >= count ? mailsTo(person)[count - 1] : undefined), MAIL_LIMIT_MS, 'the mail');

const hasten = (person: Account): Promise<void> => hastenMails(operators.database, person);

/** Waits until `count` lines of the inbox are noted for the person. */
const noted = (person: Account, count: number): Promise<true> =>
  until(
    async () => {
      await hasten(person);
      return (await mailState(operators.database, person)).noted.length === count ? true : undefined;
    },
    MAIL_LIMIT_MS,
    'the lines being noted',
    1000,
  );

it(
  'notifies an operator of each new inbox line once, and again after it went and came back',
  async () => {
    const admin = await operators.signedIn('admin');
    const asked = { name: 'Frozen & Co', terms: 'prepaid', reason: 'a customer' };
    const project = (await admin.browser.post('/api/operator/projects', asked)).body.project.id as string;
    const chosen = await admin.browser.post('/api/notifications', { kinds: ['notice'] });
    expect(chosen.status).toBe(200);
    const freeze = (isFrozen: boolean) => operators.app.get(Ledger).setFrozen(project, isFrozen, AUTHOR);
    await freeze(true);
    await hasten(admin);
    const mail = await mailed(admin);
    expect(mail.subject).toBe('The service: New notice');
    expect(mail.text).toContain('Project Frozen & Co is frozen: its requests are refused');
    expect(mail.text).toContain('http://localhost:3002/inbox');
    expect(mail.text).toContain('http://localhost:3002/notifications');
    await noted(admin, 1);
    await freeze(false);
    await noted(admin, 0);
    expect(mailsTo(admin)).toHaveLength(1);
    await freeze(true);
    await hasten(admin);
    await mailed(admin, 2);
    await freeze(false);
  },
  TEST_LIMIT_MS,
);

it(
  'puts all inbox lines into one mail, and does not count a line as new that others had hidden',
  async () => {
    const reader = await operators.signedIn('support');
    await operators.database.query(
      `WITH made AS (INSERT INTO project (id, name, api_key_sealed)
           SELECT gen_random_uuid(), 'Still ' || i, 'x' FROM generate_series(1, 25) i RETURNING id)
         INSERT INTO credit_account (project_id) SELECT id FROM made`,
    );
    const setFrozen = (isFrozen: boolean, count: number) =>
      operators.database.query(
        `UPDATE credit_account SET frozen = $1 WHERE project_id IN
           (SELECT id FROM project WHERE name LIKE 'Still %' ORDER BY id LIMIT $2)`,
        [isFrozen, count],
      );
    await setFrozen(true, 25);
    expect((await reader.browser.post('/api/notifications', { kinds: ['notice'] })).status).toBe(200);
    await hasten(reader);
    expect((await mailed(reader)).subject).toBe('The service: 25 events');
    await noted(reader, 25);
    await setFrozen(false, 5);
    await noted(reader, 20);
    expect(mailsTo(reader)).toHaveLength(1);
    await setFrozen(false, 25);
  },
  TEST_LIMIT_MS,
);
