// docs/operating walked as an operator would, on an empty Postgres and a local chain. Every command of install.md,
// “From zero to serving”, runs literally with the page's examples replaced, up to a delivered order. Then signer.md, up
// to another one. Each process gets the settings of the page and only its own keys.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { addressOfKey } from '../../../src/platform/chain/keys.js';
import { newChainAccount, Wallet, type ChainAccount } from '../../../packages/local/src/chain-account.js';
import { GuardedProcess } from '../../../packages/local/src/guard.js';
import { Merchant } from '../../../packages/local/src/merchant.js';
import { startPostgres, type Postgres } from '../../../packages/local/src/postgres.js';
import { localUsdtContracts } from '../../../packages/local/src/local-usdt.js';
import { limited, until } from '../../../packages/local/src/wait.js';
import { blocksIn, commandsIn, pageOf, section, spansIn } from '../../support/docs/operating-page.js';
import { asAdmin } from '../../setup/admin.js';
import { keepSaid, noteKeysOf, noteSecret } from '../../setup/canary.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import { layProgram } from '../../support/worker/signer-fixture.js';

const COMMAND_LIMIT_MS = 180_000;
const START_LIMIT_MS = 240_000;
const RECLAIM_LIMIT_MS = 240_000;
const STOP_GRACE_MS = 25_000;
const SUN = 1_000_000;
type Role = 'api' | 'worker' | 'cli';
const password = (): string => randomBytes(12).toString('hex');
const passwords: Readonly<Record<Role, string>> = { api: password(), worker: password(), cli: password() };
const isRoot = process.getuid?.() === 0;
/** Ids that no machine assigns. */
const SIGNER = { uid: 61_011, gid: 61_011 };
/** A member of the signer's group, which opens only the socket. */
const WORKER = { uid: 61_012, gid: SIGNER.gid };
/**
 * Only root can start processes of other users, and these can read the project only in an open folder, which a home is
 * not.
 */
const workersUser = isRoot && isOpenToAll(process.cwd()) ? WORKER : undefined;

function isOpenToAll(path: string): boolean {
  const isOpen = (statSync(path).mode & 0o005) === 0o005;
  return isOpen && (path === dirname(path) || isOpenToAll(dirname(path)));
}

const zero = section('install', 'From zero to serving');
const signing = pageOf('signer');
const untyped = new Set(commandsIn(zero));

/** Owners of the first pool wallet, a second one and the activation wallet, and the holder of everything else. */
const [cold, second, activator, bank] = [newChainAccount(), newChainAccount(), newChainAccount(), newChainAccount()];
const receivers = [newChainAccount(), newChainAccount(), newChainAccount()] as const;
const token = newChainAccount().address;

let dir: string;
let postgres: Postgres;
let redis: TestRedis;
let chain: Devnet;
/** The settings that `.env.example` requires, except the keys. */
let required: Record<string, string>;
let masterKey: string;
/** The CLI's environment: the administrator's login, until the CLI has its own. */
let cliEnv: Record<string, string>;
/** The addresses of the hot keys. */
let hotKeys: Record<'pool' | 'activation', string>;
let merchant: string;
let apiKey: string;
let apiUrl: string;
/** The order that ends soon. */
let brief: Record<string, unknown> | undefined;
let worker: GuardedProcess;
const running: GuardedProcess[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'operating-walk-'));
  chmodSync(dir, 0o755);
  const rich = ({ address }: ChainAccount, trx: number) => ({ address, balance: `${trx.toString()}000000` });
  [postgres, redis, chain] = await Promise.all([
    startPostgres({ durable: false }),
    createTestRedis(),
    startDevnet({
      blockMs: 300,
      genesis: {
        accounts: [
          ...[rich(cold, 5_300_000), rich(second, 200_000), rich(activator, 1000), rich(bank, 90_000_000_000)],
          ...receivers.map((account) => rich(account, 1)),
        ],
        contracts: localUsdtContracts({ address: token, holder: bank.address }),
      },
    }),
  ]);
  required = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    TRON_FULL_NODE_URLS: chain.fullUrl,
    TRON_SOLIDITY_NODE_URLS: chain.solidUrl,
    TOKEN_CONTRACT: token,
    RATE_SOURCES: 'static',
  };
}, 300_000);

afterAll(async () => {
  await Promise.all(running.map((each) => each.stop('SIGTERM', STOP_GRACE_MS)));
  await chain.stop();
  await redis.close();
  await postgres.stop();
  rmSync(dir, { recursive: true });
}, 300_000);

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs lines of the page in a shell, in the operator's folder. A failure ends the test with the output. */
async function shell(lines: string, env: Record<string, string>, input = ''): Promise<string> {
  const { code, out, err } = await new Promise<Said>((done, failed) => {
    const cli = `cli() { '${process.execPath}' '${resolve('dist/bundle/main.cli.js')}' "$@"; }`;
    const child = spawn('bash', ['--norc', '-c', `set -euo pipefail\n${cli}\n${lines}`], {
      cwd: dir,
      env: { PATH: process.env['PATH'], USER: 'olga', ...env },
      timeout: COMMAND_LIMIT_MS,
    });
    const texts = { out: '', err: '' };
    child.stdout.on('data', (chunk) => (texts.out += String(chunk)));
    child.stderr.on('data', (chunk) => (texts.err += String(chunk)));
    child.once('error', failed);
    child.once('close', (exit) => done({ code: exit ?? -1, ...texts }));
    // A command that reads no input may have ended already.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
  keepSaid('command line', err);
  if (code !== 0) throw new Error(`${lines}\nended with ${code.toString()}:\n${out}${err}`);
  return out;
}

/** Replaces the page's examples, each of which must occur. */
function fill(line: string, examples: Readonly<Record<string, string>>): string {
  for (const [example, real] of Object.entries(examples)) {
    if (!line.includes(example)) throw new Error(`“${line}” does not name ${example}`);
    line = line.replaceAll(example, real);
  }
  return line;
}

/** Returns the page's command `beginning`, or else the only one that starts with it, with its examples replaced. */
function typed(beginning: string, examples: Readonly<Record<string, string>> = {}): string {
  const commands = commandsIn(zero);
  const found = commands.filter((each) => each === beginning);
  if (found.length === 0) found.push(...commands.filter((each) => each.startsWith(`${beginning} `)));
  if (found.length !== 1) throw new Error(`the page has ${found.length.toString()} commands “${beginning} …”`);
  untyped.delete(found[0]!);
  return fill(found[0]!, examples);
}

/** Returns the settings of one process: its own login and its own keys. */
async function settingsOf(role: Role): Promise<Record<string, string>> {
  const keys = await derivedKeys(role);
  const whose = { api: 'API', worker: 'worker', cli: 'CLI' }[role];
  const row = section('keys', 'A key for each process')
    .split('\n')
    .find((line) => line.startsWith(`| ${whose} |`));
  expect(Object.keys(keys)).toEqual(spansIn(row ?? ''));
  return { ...required, DATABASE_URL: urlOf(role), ...keys };
}

/** Returns the database URL with the login that the page's table names for the process. */
function urlOf(role: Role): string {
  const whose = { api: 'the API', worker: 'the worker', cli: '`cli`, all but `migrate`' }[role];
  const row = section('keys', 'A login for each process')
    .split('\n')
    .find((line) => line.startsWith(`| ${whose} |`));
  const login = spansIn(row ?? '').find((each) => each.startsWith('energy_'));
  if (login === undefined) throw new Error(`the page names no login of ${whose}`);
  const url = new URL(postgres.url);
  url.username = login;
  url.password = passwords[role];
  return url.href;
}

const operate = (beginning: string, examples: Readonly<Record<string, string>> = {}): Promise<string> =>
  shell(typed(beginning, examples), cliEnv);

/** Returns the settings that the page's `cli secrets derive` prints for one process. */
async function derivedKeys(role: Role): Promise<Record<string, string>> {
  const span = spansIn(section('keys', 'A key for each process')).find((each) =>
    each.startsWith('cli secrets derive '),
  );
  const out = await shell(fill(span ?? '', { 'api|worker|cli|sender|console': role }), { MASTER_KEY: masterKey });
  const keys = Object.fromEntries(
    out
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
  );
  noteKeysOf(keys);
  return keys;
}

/** Starts a process and waits for the log line that reports readiness. Returns that line too. */
async function start(
  command: string,
  env: Record<string, string>,
  more: { cwd?: string; user?: { uid: number; gid: number } | undefined } = {},
): Promise<{ child: GuardedProcess; line: string }> {
  let found: (line: string) => void = () => undefined;
  const ready = new Promise<string>((done) => (found = done));
  const [program, ...args] = command.split(' ');
  const child = await GuardedProcess.start({
    name: command,
    command: program!,
    args,
    env: { PATH: process.env['PATH'], HOME: more.user === undefined ? process.env['HOME'] : dir, ...env },
    cwd: process.cwd(),
    // npm forwards the signal to its child.
    abandonSignal: 'TERM',
    onLine: (line) => {
      if (/"msg":"(listening|working)"/.test(line)) found(line);
    },
    ...more,
  });
  running.push(child);
  const ended = child.exited.then((code) => {
    throw new Error(`${command} ended with ${code.toString()}:\n${child.tail()}`);
  });
  return { child, line: await limited(Promise.race([ready, ended]), START_LIMIT_MS, `${command} becoming ready`) };
}

async function stop(child: GuardedProcess): Promise<void> {
  running.splice(running.indexOf(child), 1);
  await child.stop('SIGTERM', STOP_GRACE_MS);
}

/** The page's names for a pool wallet and its key file, and their replacements. */
function namesOf(role: 'pool' | 'activation', wallet: ChainAccount, file: string): Record<string, string> {
  return { TYourStakedWallet: wallet.address, '--role pool': `--role ${role}`, 'hot.key': file };
}

/**
 * Signs the printed permission update for a hot key with the wallet's own key, and sends it. Returns the hot key's
 * address.
 */
async function permit(role: 'pool' | 'activation', wallet: ChainAccount, file: string): Promise<string> {
  const hotKey = Buffer.from(readFileSync(join(dir, file), 'utf8').trim(), 'hex');
  noteSecret('pool key', hotKey);
  const printed = await operate('cli pool permissions', namesOf(role, wallet, file));
  const build = /^ *(curl -s \S+\/wallet\/accountpermissionupdate .*)$/m.exec(printed)?.[1];
  const built = JSON.parse(await shell(build ?? 'no curl was printed', {})) as Record<string, unknown>;
  const node = new Wallet(chain.fullUrl);
  await node.receipt(await node.signAndSend(built, wallet));
  return addressOfKey(hotKey);
}

/** Adds a wallet to the pool with a key that the page's command makes and seals. Returns the key's address. */
async function addWallet(role: 'pool' | 'activation', wallet: ChainAccount, file: string): Promise<string> {
  const made = await operate('cli pool new-key', { 'hot.key': file });
  const keyAddress = await permit(role, wallet, file);
  expect(made).toContain(keyAddress);
  expect(await operate('cli pool add', namesOf(role, wallet, file))).toContain('sealed in the database');
  return keyAddress;
}

/** Runs the page's program for a first order, with `member` added. Returns its output. */
async function order(to: ChainAccount, member = ''): Promise<Record<string, unknown>> {
  const block = blocksIn(zero).find((each) => each.includes('read -rs API_KEY'));
  const lines = fill(block ?? '', {
    'http://127.0.0.1:3000': apiUrl,
    'MERCHANT-ID': merchant,
    TReceiver: to.address,
    ' energy: 65000': ` ${member} energy: 65000`,
  });
  const said = await shell(lines, {}, `${apiKey}\n`);
  expect(said).toMatch(/^200 \{/);
  return JSON.parse(said.slice(4)) as Record<string, unknown>;
}

test('the schema, and a login and keys for each process', async () => {
  masterKey = (await shell(spansIn(zero).find((each) => each.startsWith('openssl rand')) ?? '', {})).trim();
  cliEnv = { ...required, MASTER_KEY: masterKey };
  noteKeysOf(cliEnv);
  expect(await operate('cli migrate')).toContain('Migrated: ');
  expect(await operate('cli migrate check')).toContain('up to date');
  const logins = Object.entries(passwords).map(([role, secret]) => [`DATABASE_PASSWORD_${role.toUpperCase()}`, secret]);
  await shell(typed('cli migrate roles'), { ...cliEnv, ...Object.fromEntries(logins) });
  cliEnv = await settingsOf('cli');
}, 300_000);

test('the stake, hot keys that may do no more than they must, and the pool', async () => {
  const node = new Wallet(chain.fullUrl);
  const freeze = (account: ChainAccount, trx: number, resource: string): Promise<string> =>
    node.send('freezebalancev2', { owner_address: account.address, frozen_balance: trx * SUN, resource }, account);
  const sent = await Promise.all([
    freeze(bank, 20_000_000_000, 'ENERGY'),
    freeze(cold, 5_000_000, 'ENERGY'),
    freeze(cold, 200_000, 'BANDWIDTH'),
    freeze(second, 100_000, 'ENERGY'),
  ]);
  for (const txid of sent) await node.receipt(txid);
  hotKeys = {
    pool: await addWallet('pool', cold, 'hot.key'),
    activation: await addWallet('activation', activator, 'activation.key'),
  };
  expect(await operate('cli price list')).toContain('3 600');
  await shell(`${typed('cli price set')} --yes`, cliEnv);
  expect(await operate('cli price list')).toMatch(/3 600\D+45\b/);
}, 300_000);

test('API and worker, a project and a first order', async () => {
  const commands = spansIn(zero).filter((each) => each.startsWith('npm run start:'));
  expect(commands).toEqual(['npm run start:api', 'npm run start:worker']);
  const own = { ADMIN_PORT: '0', HOST: '127.0.0.1', PORT: '0' };
  const [api, first] = await Promise.all([
    start(commands[0]!, { ...(await settingsOf('api')), ...own }),
    start(commands[1]!, { ...(await settingsOf('worker')), ...own }, { user: workersUser }),
  ]);
  worker = first.child;
  const { address } = JSON.parse(api.line) as { address: { port: number } };
  apiUrl = `http://127.0.0.1:${address.port.toString()}`;
  await operate('cli doctor');
  const created = await operate('cli project create');
  merchant = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(created)![0];
  apiKey = /\b[0-9a-f]{48}\b/.exec(created)![0];
  noteSecret('API key', apiKey);
  expect(await shell(`${typed('cli project rename')} ${merchant} "First of many" --yes`, cliEnv)).toContain(
    'First of many',
  );
  await shell(`${typed('cli project options')} ${merchant}`, cliEnv);
  await shell(`${typed('cli project requests')} ${merchant}`, cliEnv);
  await expectHistory(await order(receivers[0]));
  const briefly = spansIn(zero).find((each) => each.startsWith('"duration_sec":')) ?? '';
  brief = await order(receivers[1], `${briefly},`);
  await expectHistory(brief);
}, 300_000);

async function expectHistory(said: Record<string, unknown>): Promise<void> {
  const txid = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
  expect(said).toMatchObject({ status: 'delivered', delegations: [{ txid }] });
  const [delegation] = said['delegations'] as { txid: string }[];
  const history = await operate('cli orders explain', { KEY: String(said['key']) });
  expect(history.replaceAll(/\s+/g, '')).toContain(delegation!.txid);
  await operate('cli verify');
}

/**
 * Creates the folders of a signer under another user, with the page's commands: one for its keys, one for the socket.
 */
async function laySigner(): Promise<Record<string, string>> {
  const owner = isRoot
    ? { 'signer -g signer': `${SIGNER.uid.toString()} -g ${SIGNER.gid.toString()}` }
    : { '-o signer -g signer ': '' };
  const install = spansIn(signing).find((each) => each.startsWith('install -d ')) ?? '';
  await shell(fill(install, { ...owner, '/run/signer': join(dir, 'run') }), {});
  const keys = join(dir, 'signer');
  mkdirSync(keys);
  const wallets = blocksIn(signing).find((each) => each.includes('"permission_id"')) ?? '';
  const text = fill(wallets, { TYourStakedWallet: cold.address, TYourActivationWallet: activator.address });
  const entries = JSON.parse(text) as Record<string, unknown>[];
  entries.push({ ...entries[0], address: second.address, key_file: 'second.key' });
  writeFileSync(join(keys, 'wallets.json'), JSON.stringify(entries));
  const files = ['hot.key', 'activation.key', 'second.key'];
  for (const name of files) renameSync(join(dir, name), join(keys, name));
  for (const name of ['', 'wallets.json', ...files]) {
    chmodSync(join(keys, name), name === '' ? 0o700 : 0o600);
    if (isRoot) chownSync(join(keys, name), SIGNER.uid, SIGNER.gid);
  }
  return {
    SIGNER_SOCKET: join(dir, 'run', 'signer.sock'),
    SIGNER_SOCKET_MODE: '0660',
    SIGNER_WALLETS_FILE: join(keys, 'wallets.json'),
    // The page's setting for a local chain.
    SIGNER_CLOCK: 'chain',
  };
}

test('the signer takes the hot keys over, and the worker delivers without any key', async () => {
  const openssl = spansIn(zero).find((each) => each.startsWith('(umask 077; openssl rand'));
  await shell(fill(openssl ?? '', { 'hot.key': 'second.key' }), {});
  const secondKey = await permit('pool', second, 'second.key');
  const env = await laySigner();
  const { SIGNER_SOCKET } = env as { SIGNER_SOCKET: string };
  layProgram(join(dir, 'program'));
  expect(spansIn(signing)).toContain('npm run start:signer');
  const user = isRoot ? SIGNER : undefined;
  await start(`${process.execPath} main.signer.js`, env, { cwd: join(dir, 'program'), user });
  if (isRoot) {
    const [asWorker, asSigner] = [WORKER, SIGNER].map((each) =>
      spawnSync('cat', [join(dir, 'signer', 'hot.key')], each),
    );
    expect([asWorker!.status, asSigner!.status]).toEqual([1, 0]);
  }
  const probe = spansIn(signing).find((each) => each.startsWith('node docker/probe.mjs')) ?? '';
  await shell(fill(probe, { 'docker/probe.mjs': resolve('docker/probe.mjs') }), { SIGNER_SOCKET });
  const [setKey] = commandsIn(signing).filter((each) => each.startsWith('cli pool set-key '));
  for (const [address, key] of [
    [cold.address, hotKeys.pool],
    [activator.address, hotKeys.activation],
  ] as const) {
    await shell(`${fill(setKey ?? '', { TYourStakedWallet: address, TItsHotKey: key })} --yes`, cliEnv);
  }
  const sealed = `SELECT address FROM pool_wallet WHERE key_sealed IS NOT NULL`;
  expect(await asAdmin(postgres.url, async (client) => (await client.query(sealed)).rows as unknown[])).toEqual([]);
  const address = { TYourStakedWallet: second.address, '--key-file hot.key': `--key-address ${secondKey}` };
  expect(await operate('cli pool add', address)).toContain('held by the signer');
  await stop(worker);
  const own = { DATABASE_URL: urlOf('worker'), ADMIN_PORT: '0', SIGNER_SOCKET };
  await start('npm run start:worker', { ...required, ...own }, { user: workersUser });
  const doctor = await shell(typed('cli doctor'), { ...cliEnv, SIGNER_SOCKET });
  expect(doctor).toContain('signer');
  await expectHistory(await order(receivers[2]));
}, 300_000);

test('the short rental ends, and the records agree', async () => {
  if (brief === undefined) throw new Error('it was never rented');
  const customer = new Merchant(apiUrl, merchant, apiKey);
  const path = `/v1/orders/${String(brief['key'])}`;
  const isBack = async (): Promise<unknown> => (await customer.get(path)).body['reclaimed_at'];
  expect(spansIn(zero)).toContain('reclaimed_at');
  await until(async () => (await isBack()) ?? undefined, RECLAIM_LIMIT_MS, 'the reclaim');
  await operate('cli verify');
}, 300_000);

test('every command of the page has run', () => {
  expect([...untyped]).toEqual([]);
});
