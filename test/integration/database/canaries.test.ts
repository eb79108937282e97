// Key canaries: every process and command refuses a wrong master key before it does harm. The right key works through
// every step of a key rotation.
import { randomBytes, randomUUID } from 'node:crypto';
import { Sealer, sealKey, type SealPurpose } from '../../../src/platform/support/seal.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database } from '../../../src/platform/database/database.js';
import { checkKeys, writeCanaries } from '../../../src/platform/database/key-canaries.js';
import { cliWith, settings, type CliResult } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const newKey = (): string => randomBytes(32).toString('base64');

let test: TestDatabase;
let database: Database;
let env: Record<string, string>;

beforeEach(async () => {
  test = await createTestDatabase();
  env = settings(test.url);
  const source = createDataSource({ url: test.url, poolMax: 2, applicationName: 'energy-test' });
  await source.initialize();
  database = new Database(source);
});

afterEach(async () => {
  await database.source.destroy();
  await test.drop();
});

const cli = (keys: Record<string, string>, ...args: string[]): Promise<CliResult> =>
  cliWith({ ...env, ...keys })(...args);
const createProject = (keys: Record<string, string> = {}): Promise<CliResult> =>
  cli(keys, '--json', 'project', 'create', '--name', 'Shop');
const purposes = async (): Promise<string[]> =>
  (await database.query<{ purpose: string }>('SELECT purpose FROM key_canary ORDER BY 1')).map((row) => row.purpose);

function held(key: Buffer, ...wanted: SealPurpose[]): ReadonlyMap<SealPurpose, Sealer> {
  return new Map(wanted.map((purpose) => [purpose, new Sealer({ current: sealKey(key, purpose) })]));
}

it('migrate writes a canary for every purpose, once, and no other command writes one', async () => {
  await createProject();
  expect(await purposes()).toEqual([]);
  expect(await cli({}, 'migrate')).toMatchObject({ code: 0, err: '' });
  expect(await purposes()).toEqual(['api-key', 'pool-key', 'quote', 'second-factor', 'webhook-secret']);
  const before = await database.query('SELECT * FROM key_canary ORDER BY 1');
  expect((await cli({}, 'migrate')).code).toBe(0);
  expect(await database.query('SELECT * FROM key_canary ORDER BY 1')).toEqual(before);
});

it('rejects a command with a wrong master key in one line, and writes nothing', async () => {
  await cli({}, 'migrate');
  const refused = await createProject({ MASTER_KEY: newKey() });
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(JSON.parse(refused.err)).toEqual({
    ok: false,
    error: 'WRONG_KEY',
    msg: expect.stringMatching(
      /^MASTER_KEY is not the key.*api-key, pool-key, quote.*MASTER_KEY_PREVIOUS is the other key\.$/,
    ),
  });
  expect(await database.query('SELECT id FROM project')).toEqual([]);
  const migrating = await cli({ MASTER_KEY: newKey() }, '--json', 'migrate');
  expect([migrating.code, JSON.parse(migrating.err).error]).toEqual([1, 'WRONG_KEY']);
  expect((await createProject()).code).toBe(0);
});

it('without canaries, secrets that do not open also reject a key, and it writes none', async () => {
  await createProject();
  const wrong = { MASTER_KEY: newKey() };
  for (const command of [['migrate'], ['project', 'list']]) {
    const refused = await cli(wrong, '--json', ...command);
    expect([refused.code, JSON.parse(refused.err)]).toMatchObject([1, { error: 'WRONG_KEY' }]);
  }
  expect(await purposes()).toEqual([]);
});

it('the doctor names a wrong key, and missing canaries', async () => {
  const findings = async (keys: Record<string, string>) => {
    const result = await cli(keys, '--json', 'doctor', '--patience', '1');
    const all = result.json().findings as { check: string; state: string; says: string }[];
    return all.filter(({ check }) => check === 'master key').map(({ state, says }) => `${state}: ${says}`);
  };
  expect(await findings({})).toContainEqual(expect.stringMatching(/^warning: The database has no key canary/));
  await cli({}, 'migrate');
  expect(await findings({})).toContain('ok: It decrypts all 5 canaries.');
  expect(await findings({ MASTER_KEY: newKey() })).toEqual([
    expect.stringMatching(/^fault: MASTER_KEY is not the key/),
  ]);
});

it('both keys open at every step of an exchange, and after the rewrap the old one alone does not', async () => {
  await cli({}, 'migrate');
  await createProject();
  const [older, newer] = [env['MASTER_KEY']!, newKey()];
  expect((await createProject({ MASTER_KEY: older, MASTER_KEY_PREVIOUS: newer })).code).toBe(0);
  const exchanged = { MASTER_KEY: newer, MASTER_KEY_PREVIOUS: older };
  expect((await createProject(exchanged)).code).toBe(0);
  // The operator forgot the rewrap: the new key alone must be refused before it seals anything.
  expect((await createProject({ MASTER_KEY: newer })).code).toBe(1);
  const rewrap = await cli(exchanged, '--json', 'keys', 'rewrap');
  expect(rewrap.json().rewrap).toContainEqual({ what: 'canaries', rewrapped: 5, current: 0, failed: [] });
  expect((await createProject({ MASTER_KEY: newer })).code).toBe(0);
  expect((await createProject({ MASTER_KEY: older })).code).toBe(1);
});

it('a process with the keys of some purposes opens only their canaries', async () => {
  await cli({}, 'migrate');
  const [right, wrong] = [Buffer.from(env['MASTER_KEY']!, 'base64'), randomBytes(32)];
  expect(await checkKeys(database, held(right, 'quote', 'api-key'))).toEqual([]);
  const mixed = new Map([...held(right, 'quote'), ...held(wrong, 'pool-key')]);
  await expect(checkKeys(database, mixed)).rejects.toThrow('cannot decrypt: pool-key');
  await expect(checkKeys(database, new Map())).resolves.toEqual([]);
});

it('rejects one of two processes that write the first canaries under different keys', async () => {
  const keys = [randomBytes(32), randomBytes(32)].map((key) => held(key, 'api-key', 'pool-key', 'quote'));
  const outcomes = await Promise.allSettled(keys.map((each) => writeCanaries(database, each)));
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
  expect(await purposes()).toHaveLength(3);
});

it('an altered canary, or one of another purpose, never opens', async () => {
  await cli({}, 'migrate');
  const right = held(Buffer.from(env['MASTER_KEY']!, 'base64'), 'api-key');
  await database.query(`UPDATE key_canary SET sealed = (SELECT sealed FROM key_canary WHERE purpose = 'quote')
    WHERE purpose = 'api-key'`);
  await expect(checkKeys(database, right)).rejects.toThrow('cannot decrypt: api-key');
  await database.query(`UPDATE key_canary SET sealed = $1 WHERE purpose = 'api-key'`, [Buffer.from(randomUUID())]);
  await expect(checkKeys(database, right)).rejects.toThrow('cannot decrypt: api-key');
});
