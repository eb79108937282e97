// Starts that cannot succeed: each program prints one line with cause and remedy, once, and exits with code 1.
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runToEnd, type Ended } from './ended-process.js';
import { deriveSettings } from '../../../src/platform/config/config.js';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { openAsOwner } from '../../support/api/factory.js';
import { cliWith, settings } from '../../support/cli.js';
import { asAdmin, databaseUrl, fromSetup } from '../../setup/admin.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { asRole } from '../../setup/roles.js';

let test: TestDatabase;
let dir: string;
let env: Record<string, string>;
let empty: string;
let taken: Server;
let takenPort: string;

beforeAll(async () => {
  test = await createTestDatabase();
  env = settings(test.url, { LOG_LEVEL: 'info', PORT: '0' });
  expect((await cliWith(env)('migrate')).code).toBe(0);
  dir = await mkdtemp(join(tmpdir(), 'energy-start-'));
  const name = `${fromSetup('TEST_DATABASE_PREFIX')}_empty`;
  await asAdmin(fromSetup('TEST_DATABASE_URL'), (client) => client.query(`CREATE DATABASE ${name}`));
  empty = databaseUrl(fromSetup('TEST_DATABASE_URL'), name);
  taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  takenPort = typeof address === 'object' && address !== null ? address.port.toString() : '';
});

afterAll(async () => {
  await new Promise((resolve) => taken.close(resolve));
  await rm(dir, { recursive: true, force: true });
  await test.drop();
});

const program = (name: string): string => `dist/bundle/main.${name}.js`;
const away = (): Record<string, string> => ({ DATABASE_URL: 'postgres://energy:secret@127.0.0.1:1/energy' });
const wrongKey = (): Record<string, string> => ({ MASTER_KEY: randomBytes(32).toString('base64') });

/** Returns the single line of a failed start, as the operator reads it. */
function lineOf({ code, out, err }: Ended): string {
  // Redis and the chain are down in all of these, which does not fail a start. The failure is printed only on stderr.
  expect(out.filter((line) => !line.startsWith('{"level":"warn"'))).toEqual([]);
  expect([code, err.length, err]).toEqual([1, 1, err]);
  const [line = ''] = err;
  if (!line.startsWith('{')) return line;
  const said = JSON.parse(line) as { level: string; msg: string };
  expect(Object.keys(said)).toEqual(['level', 'msg']);
  expect(said.level).toBe('fatal');
  return said.msg;
}

type Case = readonly [string, () => NodeJS.ProcessEnv, RegExp];

const STORES: readonly Case[] = [
  [
    'settings are missing',
    () => ({ REDIS_URL: undefined, TOKEN_CONTRACT: undefined }),
    /^Configuration: .*REDIS_URL is required.*TOKEN_CONTRACT is required.*\.env\.example/,
  ],
  ['the database is away', away, /^The database of DATABASE_URL is unreachable \(.*ECONNREFUSED.*\): start it, or/],
  [
    'the database is another one',
    () => ({ DATABASE_URL: databaseUrl(test.url, 'nobody_has_this') }),
    /^The database of DATABASE_URL does not exist on that server \(.*nobody_has_this.*\): create it, or correct/,
  ],
  [
    'nothing is migrated',
    () => ({ DATABASE_URL: empty }),
    /schema is older.*Baseline.*Run `npm run -s cli -- migrate`/,
  ],
  ['the master key is another one', wrongKey, /^MASTER_KEY is not the key.*api-key.*Set the original key/],
];

const LISTENERS: readonly Case[] = [
  [
    'the admin port is taken',
    () => ({ ADMIN_PORT: takenPort }),
    /^Another program already listens on port \d+ of ADMIN_PORT\. Stop it, or choose another/,
  ],
  ['the admin address is no one of ours', () => ({ ADMIN_HOST: '192.0.2.1' }), /^ADMIN_HOST is not an address of this/],
];

describe.each(['api', 'worker'])('the %s', (name) => {
  it.each([...STORES, ...LISTENERS])('%s', async (_what, extra, printed) => {
    expect(lineOf(await runToEnd(program(name), [], { ...env, ...extra() }))).toMatch(printed);
  });
});

it.each(['worker', 'signer'])('the %s: the signature library has no native binary', async (name) => {
  // The loader of native binaries takes the processor's name from here.
  const elsewhere = { npm_config_arch: 'mips' };
  const keyFile = join(dir, 'slow.key');
  await writeFile(keyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const wallet = { role: 'activation', address: newChainAccount().address, permission_id: 2, key_file: keyFile };
  const wallets = join(dir, 'slow-wallets.json');
  await writeFile(wallets, JSON.stringify([{ ...wallet, signatures_per_minute: 1 }]), { mode: 0o600 });
  const signer = { SIGNER_SOCKET: join(dir, 'none', 's.sock'), SIGNER_WALLETS_FILE: wallets };
  const given = { ...env, ...signer, ...elsewhere };
  expect(lineOf(await runToEnd(program(name), [], given))).toMatch(
    /^The package secp256k1 has no native binary.*`npm rebuild secp256k1`.*or set ALLOW_SLOW_SIGNATURES=true/,
  );
  // Another cause ends this start: the signer's folder is missing, and the worker's node is away.
  const allowed = { ...given, ALLOW_SLOW_SIGNATURES: 'true', ADMIN_HOST: '192.0.2.1' };
  expect(lineOf(await runToEnd(program(name), [], allowed))).toMatch(name === 'signer' ? /s\.sock/ : /^ADMIN_HOST/);
});

it('the worker: deposits are paid in another token than that of its settings', async () => {
  const others = await openAsOwner(test.url);
  const paid = newChainAccount().address;
  await others.query(`INSERT INTO deposit_account (account, first_address) VALUES (0, $1)`, [paid]);
  await others.query(`INSERT INTO deposit_token (contract, from_block) VALUES ($1, 0)`, [paid]);
  await others.source.destroy();
  const said = lineOf(await runToEnd(program('worker'), [], env));
  expect(said).toMatch(new RegExp(`^TOKEN_CONTRACT is \\w+, but deposits use ${paid}\\. Set it back\\. `));
});

describe('the sender', () => {
  const key = 'SEAL_KEY_WEBHOOKS';
  const sender = async (extra: NodeJS.ProcessEnv): Promise<string> => {
    const keys = deriveSettings(env, 'sender').map(({ name, value }) => [name, value] as const);
    const own = { DATABASE_URL: test.url, LOG_LEVEL: 'info', ADMIN_PORT: '0', ...Object.fromEntries(keys) };
    return lineOf(await runToEnd(program('sender'), [], { ...own, ...extra }));
  };
  const [, ...stores] = STORES.slice(0, -1);

  it.each([...stores, ...LISTENERS])('%s', async (_what, extra, printed) => {
    expect(await sender(extra())).toMatch(printed);
  });

  it.each<readonly [string, NodeJS.ProcessEnv, RegExp]>([
    ['settings are missing', { DATABASE_URL: undefined }, /^Configuration: DATABASE_URL is required.*\.env\.example/],
    ['it has no key', { [key]: undefined }, /^Configuration: SEAL_KEY_WEBHOOKS is required .*derive --for sender/],
    ['it is given a key that opens more', wrongKey(), /^Configuration: MASTER_KEY is set, .*only webhook secrets/],
    ['its key is another one', { [key]: wrongKey()['MASTER_KEY'] }, /^MASTER_KEY is not the key.*webhook-secret/],
    ['the file of authorities is missing', { WEBHOOK_CA_FILE: '/none/ca.pem' }, /^Configuration: WEBHOOK_CA_FILE/],
  ])('%s', async (_what, extra, printed) => {
    expect(await sender(extra)).toMatch(printed);
  });
});

describe('a console', () => {
  const own = (audience: 'merchant' | 'operator', url = test.url): NodeJS.ProcessEnv => ({
    ...Object.fromEntries(deriveSettings(env, 'console').map(({ name, value }) => [name, value] as const)),
    DATABASE_URL: asRole(url, `console_${audience}`),
    TOKEN_CONTRACT: env['TOKEN_CONTRACT'],
    CONSOLE_AUDIENCE: audience,
    CONSOLE_URL: 'http://127.0.0.1:3001',
    LOG_LEVEL: 'info',
    PORT: '0',
    ADMIN_PORT: '0',
  });
  const start = async (extra: NodeJS.ProcessEnv): Promise<string> =>
    lineOf(await runToEnd(program('console'), [], { ...own('merchant'), ...extra }));
  const [, ...stores] = STORES.slice(0, -1);

  it.each([...stores, ...LISTENERS])('%s', async (_what, extra, printed) => {
    expect(await start(extra())).toMatch(printed);
  });

  it.each<readonly [string, NodeJS.ProcessEnv, RegExp]>([
    ['settings are missing', { CONSOLE_AUDIENCE: undefined }, /^Configuration: CONSOLE_AUDIENCE is required/],
    ['it has no key', { SEAL_KEY_SECOND_FACTORS: undefined }, /^Configuration: SEAL_KEY_SECOND_FACTORS is required/],
    [
      'it is given a key that opens more',
      wrongKey(),
      /^Configuration: MASTER_KEY is set, but a console decrypts only second factors/,
    ],
    [
      'an explorer without a place for the id',
      { EXPLORER_URL: 'https://tronscan.org/' },
      /^Configuration: EXPLORER_URL/,
    ],
    ['plain HTTP for everybody', { HOST: '0.0.0.0' }, /^Configuration: HOST must be 127\.0\.0\.1/],
  ])('%s', async (_what, extra, printed) => {
    expect(await start(extra)).toMatch(printed);
  });

  it.each(['owner', 'console_operator'] as const)(
    "merchants' with a login that sees every project: %s",
    async (login) => {
      const url = login === 'owner' ? test.url : asRole(test.url, login);
      expect(await start({ DATABASE_URL: url })).toMatch(
        /^The login of DATABASE_URL can read the rows of every project.*migrate roles/,
      );
    },
  );
});

it('the API: its port is taken', async () => {
  const ended = await runToEnd(program('api'), [], { ...env, HOST: '127.0.0.1', PORT: takenPort });
  expect(lineOf(ended)).toMatch(/^Another program already listens on port \d+ of PORT\. Stop it, or choose another/);
});

it.each([
  ['RATE_SOURCES', 'bank'],
  ['RATE_SOURCE_URLS', 'bank=http://127.0.0.1:1'],
])('the API: %s has an unknown name', async (name, value) => {
  const ended = await runToEnd(program('api'), [], { ...env, [name]: value });
  expect(lineOf(ended)).toMatch(new RegExp(`^Configuration: ${name} must name exchanges of .*binance`));
});

describe('the command line', () => {
  it.each(STORES)('%s', async (_what, extra, printed) => {
    const command = ['project', 'create', '--name', 'Shop'];
    expect(lineOf(await runToEnd(program('cli'), command, { ...env, ...extra(), USER: 'tester' }))).toMatch(printed);
  });
});

describe('the signer', () => {
  const signer = async (extra: NodeJS.ProcessEnv): Promise<string> => {
    const given = { SIGNER_SOCKET: join(dir, 's.sock'), SIGNER_WALLETS_FILE: join(dir, 'wallets.json'), ...extra };
    return lineOf(await runToEnd(program('signer'), [], given));
  };

  it('settings are missing', async () => {
    expect(await signer({ SIGNER_SOCKET: undefined })).toMatch(/^SIGNER_SOCKET is required: the path/);
  });

  it('the file of wallets is missing, or others may read it', async () => {
    expect(await signer({})).toMatch(/no such file.*wallets\.json/);
    await writeFile(join(dir, 'wallets.json'), '[]');
    await chmod(join(dir, 'wallets.json'), 0o644);
    expect(await signer({})).toMatch(/wallets\.json is readable by others\. Run chmod 600/);
  });

  it('the folder for its socket is missing', async () => {
    await chmod(join(dir, 'wallets.json'), 0o600);
    const keyFile = join(dir, 'hot.key');
    await writeFile(keyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
    const wallet = { role: 'activation', address: 'TLNTMGvJLbhk9qLMMTaG3BjBJBuipWGSQP', permission_id: 2 };
    const wallets = [{ ...wallet, key_file: keyFile, signatures_per_minute: 1 }];
    await writeFile(join(dir, 'wallets.json'), JSON.stringify(wallets), { mode: 0o600 });
    const printed = await signer({ SIGNER_SOCKET: join(dir, 'none', 's.sock') });
    expect(printed).toMatch(/^The socket .*none\/s\.sock \(SIGNER_SOCKET\) cannot be made.*folder/);
  });
});

describe('the local chain', () => {
  const GENESIS = ['--genesis', 'docker/devnet-genesis.json'];
  const devnet = async (...args: string[]): Promise<string> =>
    lineOf(await runToEnd('packages/devnet/dist/main.devnet.js', args, {}));
  const ports = ['--full-port', '0', '--solid-port', '0', '--control-port', '0'];

  it.each([
    ['no genesis', () => [], /^devnet: --genesis FILE is needed/],
    ['no such genesis', () => ['--genesis', join(dir, 'none.json')], /^devnet: genesis .*none\.json.*no such file/],
    ['an option that it does not have', () => ['--colour', 'red'], /^devnet: Unknown option '--colour'/],
    ['an invalid port', () => [...GENESIS, '--full-port', 'x'], /^devnet: --full-port: a whole number/],
    [
      'a port that is taken',
      () => [...GENESIS, ...ports, '--full-port', takenPort],
      /^devnet: Another program already listens on port \d+ of --full-port/,
    ],
  ] as const)('%s', async (_what, args, printed) => {
    expect(await devnet(...args())).toMatch(printed);
  });
});

describe('the demo', () => {
  const demo = async (args: readonly string[], extra: NodeJS.ProcessEnv): Promise<Ended> => {
    const ended = await runToEnd('packages/local/dist/main.demo.js', args, {
      DATABASE_URL: undefined,
      REDIS_URL: undefined,
      ...extra,
    });
    // Progress output does not matter; the one line names the failure.
    return { ...ended, out: [] };
  };

  it('an option that it does not have', async () => {
    expect(lineOf(await demo(['--colour', 'red'], {}))).toMatch(/^demo: Unknown option '--colour'.*--help/);
  });

  it('the given database is away', async () => {
    const printed = lineOf(await demo(['--once'], { ...away(), REDIS_URL: 'embedded' }));
    expect(printed).toMatch(/^demo: The database of DATABASE_URL is unreachable.*: start it, or correct DATABASE_URL/);
  });

  it('the given Redis is away', async () => {
    const printed = lineOf(await demo(['--once'], { DATABASE_URL: test.url, REDIS_URL: 'redis://127.0.0.1:1' }));
    expect(printed).toMatch(
      /^demo: The server that REDIS_URL names does not answer \(.*ECONNREFUSED.*\): start it, or/,
    );
  });
});
