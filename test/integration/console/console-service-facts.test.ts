// The facts about the service that merchants see on every page: the API's base URL and the operator's contact.
import { ConfigError } from '../../../src/platform/config/config.js';
import { openConsole } from '../../support/console/console-fixture.js';
import { cliWith, seedTestCanaries, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

let test: TestDatabase;
let project: string;

beforeAll(async () => {
  test = await createTestDatabase();
  await seedTestCanaries(test.url);
  const made = (await cliWith(settings(test.url))('project', 'create', '--name', 'Shop', '--json')).json();
  project = (made as { merchant: string }).merchant;
});

afterAll(() => test.drop());

it.each([
  ['as they are set', { API_URL: 'https://api.energy.example', OPERATOR_CONTACT: 'help@energy.example' }],
  ['without those that are not set', {}],
])('are in a signed-in session %s', async (_case, env: Record<string, string>) => {
  const merchants = await openConsole(test.url, 'merchant', env);
  try {
    const { browser } = await merchants.signedIn('owner', project);
    const { API_URL: api, OPERATOR_CONTACT: contact } = env;
    const wanted = { ...(api !== undefined && { api_url: api }), ...(contact !== undefined && { contact }) };
    expect((await browser.get('/api/session')).body.service).toEqual(wanted);
  } finally {
    await merchants.close();
  }
});

it('are in no operator’s session', async () => {
  const operators = await openConsole(test.url, 'operator', { API_URL: 'https://api.energy.example' });
  try {
    const { browser } = await operators.signedIn('support');
    expect((await browser.get('/api/session')).body.service).toBeUndefined();
  } finally {
    await operators.close();
  }
});

it.each(['help', 'javascript:alert(1)', 'http://energy.example', 'a@b <script>'])(
  'the contact is never “%s”',
  async (contact) => {
    await expect(openConsole(test.url, 'merchant', { OPERATOR_CONTACT: contact })).rejects.toThrow(ConfigError);
  },
);
