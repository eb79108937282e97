// Limits of a console on concurrent requests and on requests per minute, per person and per project.
import { openConsole, type TestConsole } from '../../support/console/console-fixture.js';
import { cliWith, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { untilWaiting } from '../../setup/waiting.js';

/** A person's requests per minute; signing up uses some. */
const BUDGET = 40;
/** More than the pool has connections. */
const PAGES = 24;

let test: TestDatabase;
let merchants: TestConsole;

beforeAll(async () => {
  test = await createTestDatabase();
  merchants = await openConsole(test.url, 'merchant', { GENERAL_RATE_LIMIT_PER_MINUTE: BUDGET.toString() });
});

afterAll(async () => {
  await merchants.close();
  await test.drop();
});

async function newProject(): Promise<string> {
  const created = await cliWith(settings(test.url))('project', 'create', '--name', 'shop', '--json');
  return (created.json() as { merchant: string }).merchant;
}

it('makes a person wait who asks all the time, and no one else', async () => {
  const project = await newProject();
  const [one, other] = [await merchants.signedIn('member', project), await merchants.signedIn('member', project)];
  const path = `/api/projects/${project}/team`;
  const statuses: number[] = [];
  while (statuses.length <= BUDGET && statuses.at(-1) !== 429) statuses.push((await one.browser.get(path)).status);
  expect([statuses[0], statuses.at(-1)]).toEqual([200, 429]);
  const refused = await one.browser.get('/api/session');
  expect([refused.status, refused.body]).toMatchObject([429, { error: 'RATE_LIMITED' }]);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
  expect((await other.browser.get(path)).status).toBe(200);
});

it('slow pages of one project do not delay another project’s pages', async () => {
  const [project, others] = [await newProject(), await newProject()];
  const [busy, other] = [await merchants.signedIn('member', project), await merchants.signedIn('member', others)];
  const asked = await merchants.database.transaction(async (tx) => {
    await tx.query(`LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE`);
    const pages = Array.from({ length: PAGES }, async () => busy.browser.get(`/api/projects/${project}/webhooks`));
    await untilWaiting(merchants.database, 2);
    expect((await other.browser.get(`/api/projects/${others}/team`)).status).toBe(200);
    return pages;
  });
  expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
});
