// A list for a project that does not exist fails: an empty list would hide a mistyped Merchant ID.
import { randomUUID } from 'node:crypto';
import { cliWith, settings, type Cli } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

let database: TestDatabase;
let cli: Cli;

beforeAll(async () => {
  database = await createTestDatabase();
  cli = cliWith(settings(database.url));
});

afterAll(() => database.drop());

it.each([
  ['auto-delegations', 'list'],
  ['credits', 'statement'],
  ['deposits', 'ignored', '--merchant'],
  ['deposits', 'list', '--merchant'],
  ['keys', 'list'],
  ['orders', 'list', '--project'],
  ['project', 'requests'],
  ['statements', 'list', '--merchant'],
  ['webhooks', 'list'],
])('%s %s', async (...command) => {
  const made = (await cli('--json', 'project', 'create', '--name', 'Shop')).json() as { merchant: string };
  expect(await cli('--json', ...command, made.merchant)).toMatchObject({ code: 0, err: '' });
  const unknown = randomUUID();
  const { code, out, err } = await cli('--json', ...command, unknown);
  expect([code, out]).toEqual([1, '']);
  expect(JSON.parse(err)).toMatchObject({
    ok: false,
    error: 'NOT_FOUND',
    msg: expect.stringContaining(`There is no project ${unknown}.`),
  });
});
