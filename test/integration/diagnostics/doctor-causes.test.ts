// The doctor's findings for mixed-up settings.
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { deriveSettings, readConfig } from '../../../src/platform/config/config.js';
import { checkNodes } from '../../../src/modules/diagnostics/doctor-chain.js';
import { cliWith, settings, TEST_MASTER_KEY } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { asRole } from '../../setup/roles.js';

let database: TestDatabase;
let chain: Devnet;

beforeAll(async () => {
  [database, chain] = await Promise.all([
    createTestDatabase(),
    startDevnet({ genesis: { accounts: [{ address: newChainAccount().address, balance: 1_000_000 }] } }),
  ]);
  expect((await cliWith(settings(database.url))('migrate')).code).toBe(0);
});

afterAll(async () => {
  await chain.stop();
  await database.drop();
});

const nodes = () => ({ TRON_FULL_NODE_URLS: chain.fullUrl, TRON_SOLIDITY_NODE_URLS: chain.solidUrl });

test('names exchanged keys', async () => {
  const keys = Object.fromEntries(
    deriveSettings({ MASTER_KEY: TEST_MASTER_KEY }, 'cli').map(({ name, value }) => [name, value]),
  );
  const exchanged = {
    ...keys,
    SEAL_KEY_API_KEYS: keys['SEAL_KEY_WEBHOOKS']!,
    SEAL_KEY_WEBHOOKS: keys['SEAL_KEY_API_KEYS']!,
  };
  const { MASTER_KEY: _none, ...rest } = settings(database.url);
  const { code, err } = await cliWith({ ...rest, ...exchanged })('price', 'list');
  expect(code).toBe(1);
  expect(err).toContain('SEAL_KEY_API_KEYS holds the key of SEAL_KEY_WEBHOOKS');
  expect(err).not.toContain('MASTER_KEY');
});

test('sends the login of another process to that of the command line', async () => {
  const env = settings(asRole(database.url, 'api'), nodes());
  const { out, code } = await cliWith(env)('doctor', '--patience', '1');
  expect(code).toBe(1);
  expect(out).toMatch(/lacks a permission that the doctor\s+needs \(permission denied[^]*energy_cli_login/);
  const { err } = await cliWith(env)('pool', 'list');
  expect(err).toMatch(/lacks the permission \(permission denied.*energy_cli_login/);
});

test('warns of a superuser', async () => {
  const { checkDatabase } = await import('../../../src/modules/diagnostics/doctor-stores.js');
  const findings = await checkDatabase(readConfig(settings(database.url)));
  expect(findings.find(({ check }) => check === 'login')).toMatchObject({
    state: 'warning',
    says: expect.stringContaining('superuser') as string,
  });
  const others = await checkDatabase(readConfig(settings(asRole(database.url, 'cli'))));
  expect(others.find(({ check }) => check === 'login')).toBeUndefined();
});

test('names exchanged URLs of a node', async () => {
  const { TRON_FULL_NODE_URLS: full, TRON_SOLIDITY_NODE_URLS: solid } = nodes();
  const of = (env: Record<string, string>) => checkNodes(readConfig(settings(database.url, env)), 3000);
  const [finding] = await of({ TRON_FULL_NODE_URLS: solid, TRON_SOLIDITY_NODE_URLS: full });
  expect(finding).toMatchObject({ state: 'fault', says: expect.stringContaining('are swapped') as string });
  expect((await of(nodes())).some(({ says }) => says.includes('swapped'))).toBe(false);
});
