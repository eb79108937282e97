// A whole service on this machine: Postgres, Redis, a local chain with a staked pool, and the service's processes. The
// demo, the tests and the benchmarks are built on it.
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { HDKey } from '@scure/bip32';
import { namedChainAccount, newChainAccount, transferParameter, Wallet, type ChainAccount } from './chain-account.js';
import { localUsdtContracts, localUsdtOwner } from './local-usdt.js';
import { startNode, type NodeProcess } from './processes.js';
import { startPostgres } from './postgres.js';
import { startRedis } from './redis.js';

export interface LocalServiceOptions {
  /** Real milliseconds per block of 3 s chain time. */
  readonly blockMs: number;
  readonly solidLag: number;
  /** Folder with the `dist/` and `packages/devnet/dist/` to start; default the repository. */
  readonly build?: string;
  /** Existing servers to use. By default the service starts its own (`embedded` as redisUrl: the JavaScript one). */
  readonly databaseUrl?: string | undefined;
  readonly redisUrl?: string | undefined;
  /** Returns the URL of a role's login in a given database. A database of the service's own gets logins automatically. */
  readonly roleUrl?: (url: string, role: LocalRole) => string;
  /** True if commits must reach the disk: for a demo, not for tests. */
  readonly durable: boolean;
  /** Further settings of a Postgres of the service's own. */
  readonly postgresSettings?: Readonly<Record<string, string>> | undefined;
  /** Merged over the environment of the API, worker and CLI. */
  readonly env?: NodeJS.ProcessEnv;
  /** Start a second node of the same chain, as if run by another operator. */
  readonly secondNode?: boolean;
  /** TRX that each pool wallet stakes for energy; default one wallet. */
  readonly poolStakesTrx?: readonly number[];
  /**
   * TRX that others stake for bandwidth, which makes the pool's bandwidth as scarce as on the main net; default none.
   */
  readonly bandwidthTrx?: number;
  /** Start time of the chain in the past, and its initial accounts; default the wall clock. */
  readonly past?: { readonly fromMs: number; readonly accounts: readonly { address: string; trx: number }[] };
  /** Names of accounts with TRX and tokens in addition to `accounts`; default none. */
  readonly moreAccounts?: readonly string[];
  readonly onStep?: (what: string) => void;
  readonly onLine?: (process: string, line: string) => void;
}

/** Processes of the service with a database login of their own. */
const LOCAL_ROLES = ['api', 'worker', 'cli', 'sender', 'console_merchant', 'console_operator'] as const;
export type LocalRole = (typeof LOCAL_ROLES)[number];

export interface PoolWallet extends ChainAccount {
  readonly hotKey: ChainAccount;
}

interface DevnetLine {
  readonly full: string;
  readonly solid: string;
  readonly control: string;
  readonly second?: { readonly full: string; readonly solid: string };
}

const SUN = 1_000_000;
const BANK_TRX = 90_000_000_000;
/** With this stake of the bank, one TRX yields nine energy a day, as on the main net. */
const BANK_STAKE_TRX = 20_000_000_000;
const POOL_STAKE_TRX = 5_000_000;
const POOL_BANDWIDTH_TRX = 200_000;
const SPENDING_TRX = 20_000;
const TOKEN_ADDRESS_NAME = 'local-token';
/** A thousand tokens. */
const SHARE = 1_000_000_000n;
const SHARE_FEE_LIMIT_SUN = 100_000_000;
/** Operations of an active permission: delegate and undelegate; or create accounts. */
export const POOL_OPERATIONS = '0000000000000006'.padEnd(64, '0');
const ACTIVATION_OPERATIONS = '01'.padEnd(64, '0');
export const PERMISSION_ID = 2;
const LISTENING = /"msg":"listening"/;
const WORKING = /"msg":"working"/;
const SENDING = /"msg":"sending"/;
/** Settings of the service that a sender receives, in addition to its own key. */
const OF_SENDER = /^(WEBHOOK_|SENDER_|ADMIN_PORT$|LOG_LEVEL$)/;

const COMMAND_LIMIT_MS = 60_000;
const COMMAND_OUTPUT_MAX = 64 * 1024 * 1024;

const run = promisify(execFile);
const newPassword = (): string => randomBytes(24).toString('hex');
/** The repository's folder. This package's source and bundle are at the same depth in it. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Returns the error message that a failed command printed with --json, if any. */
function saidBy(error: unknown): string | undefined {
  const lines = (error as { stderr?: string }).stderr?.trim().split('\n') ?? [];
  try {
    const { msg } = JSON.parse(lines.at(-1) ?? '') as { msg?: unknown };
    return typeof msg === 'string' ? msg : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the extended public key of the deposit account. Its seed is a fixed text, so it is for local chains only. */
export function localDepositXpub(): string {
  const seed = createHash('sha512').update('local-deposits').digest();
  return HDKey.fromMasterSeed(seed).derive("m/44'/195'/0'").publicExtendedKey;
}

const localAccounts = (names: readonly string[]): readonly ChainAccount[] =>
  names.map((name) => namedChainAccount(`local-${name}`));

/** Created by `LocalService.start`. `stop` ends everything it started; if this process dies, the guards do. */
export class LocalService {
  readonly token = namedChainAccount(TOKEN_ADDRESS_NAME).address;
  readonly bank = namedChainAccount('local-bank');
  readonly accounts = localAccounts(['alice', 'bob', 'carol']);
  readonly moreAccounts: readonly ChainAccount[];
  readonly poolWallets: readonly PoolWallet[];
  readonly poolStakesTrx: readonly number[];
  readonly activationWallet: PoolWallet = { ...namedChainAccount('local-activation'), hotKey: newChainAccount() };
  readonly masterKey = randomBytes(32).toString('base64');
  readonly processes: NodeProcess<unknown>[] = [];
  private readonly stops: (() => Promise<void>)[] = [];
  /** Passwords of the logins, as settings. */
  private readonly passwords: Record<string, string> = {};
  /** Process id of the chain. */
  devnetPid = 0;
  private devnet: DevnetLine = { full: '', solid: '', control: '' };
  /** URL of the database owner, for migrations and for inspection. */
  databaseUrl = '';
  redisUrl = '';
  private roleUrl: (url: string, role: LocalRole) => string;
  private readonly derivedKeys = new Map<string, Promise<NodeJS.ProcessEnv>>();

  private build: string;

  private constructor(private readonly options: LocalServiceOptions) {
    this.build = options.build ?? ROOT;
    this.moreAccounts = localAccounts(options.moreAccounts ?? []);
    this.roleUrl = options.roleUrl ?? ((url) => url);
    this.poolStakesTrx = options.poolStakesTrx ?? [POOL_STAKE_TRX];
    this.poolWallets = this.poolStakesTrx.map((_, index) => ({
      ...namedChainAccount(`local-pool-${index}`),
      hotKey: newChainAccount(),
    }));
  }

  /** Starts servers and chain, migrates, stakes, and adds the wallets. Does not start API or worker. */
  static async start(options: LocalServiceOptions): Promise<LocalService> {
    const service = new LocalService(options);
    try {
      await service.startServers();
      await service.stakePool();
      await service.addWallets();
      return service;
    } catch (error) {
      await service.stop();
      throw error;
    }
  }

  get fullUrls(): readonly string[] {
    return [this.devnet.full, ...(this.devnet.second === undefined ? [] : [this.devnet.second.full])];
  }

  get solidUrls(): readonly string[] {
    return [this.devnet.solid, ...(this.devnet.second === undefined ? [] : [this.devnet.second.solid])];
  }

  get controlUrl(): string {
    return this.devnet.control;
  }

  get wallet(): Wallet {
    return new Wallet(this.devnet.full);
  }

  /** Environment of the API, worker and CLI; each has its own login. */
  get env(): NodeJS.ProcessEnv {
    return {
      DATABASE_URL: this.databaseUrl,
      REDIS_URL: this.redisUrl,
      TRON_FULL_NODE_URLS: this.fullUrls.join(','),
      TRON_SOLIDITY_NODE_URLS: this.solidUrls.join(','),
      CHECK_NODE_URL: this.solidUrls[0],
      TRON_POLL_MS: Math.max(50, Math.min(1000, Math.floor(this.options.blockMs / 3))).toString(),
      TOKEN_CONTRACT: this.token,
      MASTER_KEY: this.masterKey,
      RATE_SOURCES: 'static',
      // A trial runs on every machine.
      ALLOW_SLOW_SIGNATURES: 'true',
      HOST: '127.0.0.1',
      // Any free port, since several processes of a kind run side by side.
      ADMIN_PORT: '0',
      LOG_LEVEL: 'info',
      ...this.options.env,
    };
  }

  /** Environment of an operator's command, with its own login. */
  get commandEnv(): NodeJS.ProcessEnv {
    return this.envAs('cli');
  }

  /**
   * Runs an operator's command and returns its `--json` output. A command is short, so it has no guard and may briefly
   * outlive this process.
   */
  async cli(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    return this.cliWithin(COMMAND_LIMIT_MS, ...args);
  }

  /** Same as `cli`, for long-running commands. */
  async cliWithin(limitMs: number, ...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const asked = ['--json', '--yes', '--actor', 'local', '--reason', 'local setup', ...args];
    const env = args[0] === 'migrate' ? { ...this.env, ...this.passwords } : this.commandEnv;
    const { stdout } = await run(process.execPath, [this.program('main.cli.js'), ...asked], {
      env: { ...process.env, ...env, LOG_LEVEL: 'warn' },
      timeout: limitMs,
      maxBuffer: COMMAND_OUTPUT_MAX,
    }).catch((error: unknown) => {
      throw new Error(saidBy(error) ?? `${args.slice(0, 2).join(' ')} failed: ${String(error)}`, { cause: error });
    });
    return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  }

  /** Starts an API process and resolves with its base URL once it listens. */
  async startApi(port: number, env: NodeJS.ProcessEnv = {}): Promise<{ process: NodeProcess<true>; baseUrl: string }> {
    const process = await this.startService('api', 'main.api.js', LISTENING, { PORT: port.toString(), ...env });
    return { process, baseUrl: `http://127.0.0.1:${port}` };
  }

  async startWorker(env: NodeJS.ProcessEnv = {}): Promise<NodeProcess<true>> {
    return this.startService('worker', 'main.worker.js', WORKING, env);
  }

  /** Starts a sender. It sends webhooks to the targets that the service's `WEBHOOK_` settings allow. */
  async startSender(env: NodeJS.ProcessEnv = {}): Promise<NodeProcess<true>> {
    const own = Object.entries(this.env).filter(([name]) => OF_SENDER.test(name));
    const url = this.roleUrl(env['DATABASE_URL'] ?? this.databaseUrl, 'sender');
    const extra = { ...Object.fromEntries(own), ...(await this.keysOf('sender')), ...env, DATABASE_URL: url };
    return this.startProcess('sender', 'main.sender.js', SENDING, extra);
  }

  /** Starts the console of one audience at a local `url`, with its own login and keys. */
  async startConsole(
    audience: 'merchant' | 'operator',
    url: string,
    env: NodeJS.ProcessEnv = {},
  ): Promise<NodeProcess<true>> {
    // A console refuses keys other than its own.
    const { MASTER_KEY: _key, REDIS_URL: _redis, ...own } = this.env;
    const settings = { CONSOLE_AUDIENCE: audience, CONSOLE_URL: url, PORT: new URL(url).port };
    const role = `console_${audience}` as const;
    const extra = { ...own, ...(await this.keysOf('console')), ...settings, ...env };
    return this.startProcess(role, 'main.console.js', LISTENING, {
      ...extra,
      DATABASE_URL: this.roleUrl(this.databaseUrl, role),
    });
  }

  /** Starts later processes from another build. */
  startFrom(build: string): void {
    this.build = build;
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.splice(0).map((process) => process.stop()));
    for (const stop of this.stops.splice(0).reverse()) await stop();
  }

  private async startService(
    name: 'api' | 'worker',
    file: string,
    ready: RegExp,
    env: NodeJS.ProcessEnv,
  ): Promise<NodeProcess<true>> {
    return this.startProcess(name, file, ready, this.envAs(name, env));
  }

  private async startProcess(
    name: LocalRole,
    file: string,
    ready: RegExp,
    env: NodeJS.ProcessEnv,
  ): Promise<NodeProcess<true>> {
    const process = await startNode<true>(this.program(file), {
      name,
      env,
      readyWhen: (line) => (ready.test(line) ? true : undefined),
      onLine: (line) => this.options.onLine?.(name, line),
    });
    this.processes.push(process);
    return process;
  }

  /** Returns the keys that replace the master key in a process; derived once. */
  private keysOf(holder: 'sender' | 'console'): Promise<NodeJS.ProcessEnv> {
    const derived = this.derivedKeys.get(holder) ?? this.deriveKeys(holder);
    this.derivedKeys.set(holder, derived);
    return derived;
  }

  private async deriveKeys(holder: string): Promise<NodeJS.ProcessEnv> {
    const { settings } = await this.cli('secrets', 'derive', '--for', holder);
    return Object.fromEntries((settings as { name: string; value: string }[]).map(({ name, value }) => [name, value]));
  }

  private program(name: string): string {
    return join(this.build, 'dist/bundle', name);
  }

  private envAs(role: LocalRole, extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    const env = { ...this.env, ...extra };
    return { ...env, DATABASE_URL: this.roleUrl(env['DATABASE_URL'] ?? '', role) };
  }

  /**
   * Creates a login for each process on a server of the service's own. On a given server, its owner provides the logins.
   */
  private async makeLogins(): Promise<void> {
    for (const role of LOCAL_ROLES) this.passwords[`DATABASE_PASSWORD_${role.toUpperCase()}`] = newPassword();
    await this.cli('migrate', 'roles', '--login');
    this.roleUrl = (url, role) => {
      const changed = new URL(url);
      changed.username = `energy_${role}_login`;
      changed.password = this.passwords[`DATABASE_PASSWORD_${role.toUpperCase()}`] ?? '';
      return changed.href;
    };
  }

  private async startServers(): Promise<void> {
    const { options } = this;
    const step = (what: string): void => options.onStep?.(what);
    await Promise.all([
      (async () => {
        if (options.databaseUrl === undefined) {
          const postgres = await startPostgres({ durable: options.durable, settings: options.postgresSettings ?? {} });
          this.stops.push(() => postgres.stop());
          this.databaseUrl = postgres.url;
        } else this.databaseUrl = options.databaseUrl;
        step('Postgres is up');
      })(),
      (async () => {
        const redis = await startRedis({ redisUrl: options.redisUrl });
        this.stops.push(() => redis.stop());
        this.redisUrl = redis.url;
        step(`Redis is up (${redis.kind})`);
      })(),
      (async () => {
        await this.startDevnet();
        step(`the local chain is up (a block every ${options.blockMs} ms, 3 s of chain time each)`);
      })(),
    ]);
  }

  private async startDevnet(): Promise<void> {
    const dir = await mkdtemp(join(tmpdir(), 'energy-genesis-'));
    this.stops.push(() => rm(dir, { recursive: true, force: true }));
    const genesis = join(dir, 'genesis.json');
    const [alice] = this.accounts;
    if (alice === undefined) throw new Error('a local chain needs an account that holds the tokens');
    const rich = (account: ChainAccount, trx: number) => ({ address: account.address, balance: trx * SUN });
    await writeFile(
      genesis,
      JSON.stringify({
        accounts: [
          { address: this.bank.address, balance: `${BANK_TRX}000000` },
          ...this.poolWallets.map((wallet, index) =>
            rich(wallet, this.stakeOf(index) + POOL_BANDWIDTH_TRX + SPENDING_TRX),
          ),
          rich(this.activationWallet, SPENDING_TRX),
          rich(localUsdtOwner, SPENDING_TRX),
          ...[...this.accounts, ...this.moreAccounts].map((account) => rich(account, SPENDING_TRX)),
          ...(this.options.past?.accounts ?? []).map(({ address, trx }) => ({ address, balance: trx * SUN })),
        ],
        ...(this.options.past && { timestamp: this.options.past.fromMs }),
        contracts: localUsdtContracts({ address: this.token, holder: alice.address }),
      }),
    );
    const { blockMs, solidLag, secondNode } = this.options;
    const process = await startNode<DevnetLine>(join(this.build, 'packages/devnet/dist/main.devnet.js'), {
      name: 'devnet',
      args: [
        ...['--genesis', genesis, '--block-ms', blockMs.toString(), '--solid-lag', solidLag.toString()],
        ...['--full-port', '0', '--solid-port', '0', '--control-port', '0'],
        ...(secondNode === true ? ['--second-full-port', '0', '--second-solid-port', '0'] : []),
      ],
      readyWhen: (line) => (line.startsWith('{"full"') ? (JSON.parse(line) as DevnetLine) : undefined),
      onLine: (line) => this.options.onLine?.('devnet', line),
    });
    this.stops.push(() => process.stop());
    this.devnetPid = process.pid;
    if (process.ready === undefined) throw new Error('the devnet did not say where it listens');
    this.devnet = process.ready;
  }

  private stakeOf(index: number): number {
    return this.poolStakesTrx[index] ?? POOL_STAKE_TRX;
  }

  /**
   * Distributes tokens to the other accounts, and to the token contract itself, which holds some on the main net too.
   */
  private async shareTokens(): Promise<readonly string[]> {
    const [alice, ...others] = [...this.accounts, ...this.moreAccounts];
    if (alice === undefined) return [];
    return Promise.all(
      [...others.map(({ address }) => address), this.token].map((to) => {
        const call = { contract_address: this.token, function_selector: 'transfer(address,uint256)' };
        const parameter = transferParameter(to, SHARE);
        const body = { owner_address: alice.address, ...call, parameter, fee_limit: SHARE_FEE_LIMIT_SUN };
        return this.wallet.send('triggersmartcontract', body, alice);
      }),
    );
  }

  /** Stakes for the pool wallets, and gives the worker's hot keys only the permissions they need. */
  private async stakePool(): Promise<void> {
    const { wallet } = this;
    const { bandwidthTrx } = this.options;
    const freeze = (account: ChainAccount, trx: number, resource: string) =>
      wallet.send('freezebalancev2', { owner_address: account.address, frozen_balance: trx * SUN, resource }, account);
    const shares = await this.shareTokens();
    const sent = await Promise.all([
      freeze(this.bank, BANK_STAKE_TRX, 'ENERGY'),
      ...(bandwidthTrx === undefined ? [] : [freeze(this.bank, bandwidthTrx, 'BANDWIDTH')]),
      ...this.poolWallets.flatMap((pool, index) => [
        freeze(pool, this.stakeOf(index), 'ENERGY'),
        freeze(pool, POOL_BANDWIDTH_TRX, 'BANDWIDTH'),
        this.permit(pool, POOL_OPERATIONS),
      ]),
      this.permit(this.activationWallet, ACTIVATION_OPERATIONS),
    ]);
    await Promise.all([...shares, ...sent].map((txid) => wallet.receipt(txid)));
    this.options.onStep?.('the pool has staked; its hot keys may delegate and undelegate, nothing else');
  }

  private async permit(wallet: PoolWallet, operations: string): Promise<string> {
    const key = (address: string) => [{ address, weight: 1 }];
    return this.wallet.send(
      'accountpermissionupdate',
      {
        owner_address: wallet.address,
        owner: { type: 0, permission_name: 'owner', threshold: 1, keys: key(wallet.address) },
        actives: [{ type: 2, permission_name: 'rental', threshold: 1, operations, keys: key(wallet.hotKey.address) }],
      },
      wallet,
    );
  }

  private async addWallets(): Promise<void> {
    await this.cli('migrate');
    if (this.options.databaseUrl === undefined) await this.makeLogins();
    this.options.onStep?.('the schema is migrated');
    const dir = await mkdtemp(join(tmpdir(), 'energy-keys-'));
    const add = async (role: string, wallet: PoolWallet): Promise<void> => {
      const file = join(dir, wallet.address);
      await writeFile(file, wallet.hotKey.privateKey.toString('hex'), { mode: 0o600 });
      const permission = ['--permission-id', PERMISSION_ID.toString()];
      await this.cli('pool', 'add', '--role', role, '--address', wallet.address, '--key-file', file, ...permission);
    };
    try {
      // Two at a time: each command is a process, and the machine may be small.
      const queue = [
        ...this.poolWallets.map((wallet) => ['pool', wallet] as const),
        ['activation', this.activationWallet] as const,
      ];
      const addInTurn = async (): Promise<void> => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) await add(next[0], next[1]);
      };
      await Promise.all([addInTurn(), addInTurn()]);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
    this.options.onStep?.('the wallets are in the pool, their keys sealed');
  }
}
