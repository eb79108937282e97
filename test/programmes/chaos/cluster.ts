// The cluster of a chaos run: Postgres behind a proxy, Redis, two nodes of one chain, and supervised APIs, workers
// and senders. Applies the planned faults and counts their effects; it judges nothing.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { INestApplicationContext } from '@nestjs/common';
import { Redis } from 'ioredis';
import pg from 'pg';
import { Ledger } from '../../../src/modules/billing/ledger.js';
import { readBlock } from '../../../src/platform/chain/block.js';
import { parseJson } from '../../../src/platform/chain/json.js';
import { signWithKey } from '../../../src/platform/chain/keys.js';
import { signedTransactionHex } from '../../../src/platform/chain/signed-transaction.js';
import { DELEGATE_TYPE } from '../../../src/platform/chain/transaction-owner.js';
import { sleep } from '../../../src/platform/support/clock.js';
import { namedChainAccount, Wallet, type ChainAccount } from '../../../packages/local/src/chain-account.js';
import { Merchant } from '../../../packages/local/src/merchant.js';
import { freePort } from '../../../packages/local/src/ports.js';
import { startPostgres, type Postgres } from '../../../packages/local/src/postgres.js';
import { startRedis, type RedisServer } from '../../../packages/local/src/redis.js';
import { until } from '../../../packages/local/src/wait.js';
import { LocalService } from '../../../packages/local/src/local-service.js';
import type { Credits } from '../../../src/domain/units.js';
import { openParts } from '../../../src/modules/operator/operator.module.js';
import { Projects } from '../../../src/modules/projects/projects.js';
import { DatabaseHosts } from '../../../src/platform/database/database-hosts.js';
import { HostsClient } from '../../../src/platform/database/hosts-client.js';
import { Actor, type ServiceProcess } from './actor.js';
import { openCommitProxy, type CommitProxy } from './commit-proxy.js';
import { RATES_AROUND, XPUB } from '../../support/chain/deposits-on-chain.js';
import { saveRecords } from '../../support/database/records.js';
import { installSteppedClock, stepClock } from '../../setup/stepped-clock.js';
import type { ReadRows } from '../../support/webhooks/webhook-judge.js';
import { sellBandwidth } from './customers.js';
import { openExchanges, TRUE_PRICE, type Exchanges } from './exchanges.js';
import { Depositors } from './depositors.js';
import { ChaosReceivers } from './receivers.js';
import { Overlapping } from './overlapping.js';
import { Spenders } from './spenders.js';
import { Supplied } from './supplied.js';
import { lossBetween, momentToKeep, recordedBy, Standby, untilMoreIsRecorded, type Loss } from './failover.js';

export interface ChaosClusterOptions {
  /** Folder of the build to start. It is a private copy, so that a concurrent build changes nothing. */
  readonly build: string;
  readonly blockMs: number;
  /** An external database on several hosts. Planned faults never touch it. */
  readonly databaseUrl?: string;
  /** Stake of each pool wallet, TRX. The default is small, so that the stake runs out. */
  readonly walletsTrx?: readonly number[];
  /** Merged over the services' settings. */
  readonly env?: NodeJS.ProcessEnv;
  /** Opens the operator's services if the schema of `build` differs from that of this process. */
  readonly openParts?: typeof openParts;
  readonly log: (who: string, line: string) => void;
}

type Project = Awaited<ReturnType<Projects['create']>>;

const SOLID_LAG = 6;
/** At nine energy per TRX, each wallet has a little under 900 000 energy: the largest order needs two of them. */
const WALLETS_TRX = [90_000, 90_000, 90_000];
const CREDITS = 1_000_000_000_000_000n as Credits;
const ACT = { actor: 'chaos', reason: 'a round of chaos' };
const QUIET_LIMIT_MS = 10_000;
const DAY_MS = 86_400_000;
const CLOCK_SHIFT = fileURLToPath(new URL('clock-shift.mjs', import.meta.url));
/** Short timeouts, so that every wait ends within a round of half a minute. */
const SETTINGS = {
  LOG_LEVEL: 'info',
  WORKER_LEASE_SEC: '2',
  WORKER_SWEEP_MS: '200',
  WORKER_STOP_SEC: '3',
  RESEND_SEC: '1',
  DURATION_MIN_SEC: '60',
  POOL_SYNC_SEC: '1',
  POOL_SLOTS_PER_WALLET: '4',
  POOL_ORPHAN_GRACE_SEC: '2',
  RECONCILE_SEC: '5',
  RATE_SOURCES: 'binance,coinbase,kraken,okx',
  RATE_REFRESH_SEC: '1',
  FALLBACK_TRX_USD: TRUE_PRICE.toString(),
  SIZING_REFRESH_SEC: '2',
  SIZING_HOLDER: namedChainAccount('local-alice').address,
  MARKET_REFRESH_SEC: '1',
  RATE_LIMIT_PER_MINUTE: '1000000',
  TRON_READ_TIMEOUT_MS: '1500',
  TRON_BROADCAST_TIMEOUT_MS: '1500',
  TRON_HEAD_STALL_SEC: '5',
  UNRESOLVED_AFTER_SEC: '20',
  DEPOSIT_XPUB: XPUB,
};

export class ChaosCluster {
  readonly actors: Readonly<Record<'worker' | 'api' | 'sender', readonly Actor[]>>;
  /** The same customer at each API: a rich one, and a poor one that runs out of credits repeatedly. */
  readonly rich: readonly Merchant[];
  readonly poor: readonly Merchant[];
  /** A project that never had credits, at each API. */
  readonly broke: readonly Merchant[];
  /** Wallet client that bypasses injected node faults. */
  readonly directWallet: Wallet;
  /** Customers that use their rented energy. */
  readonly spenders: Spenders;
  /** Transactions that wallet owners made outside the service. */
  readonly ownerTxids = new Set<string>();
  /** Transactions of orders that a failover lost: no record can know them. */
  readonly lostTxids = new Set<string>();
  /** Called with the losses of a failover before the new server accepts connections. */
  onLoss: (loss: Loss) => void = () => undefined;
  /** Metrics port of each process. */
  readonly adminPorts: readonly { readonly role: 'api' | 'worker'; readonly port: number }[];
  private readonly clearRedis: Redis;
  /** Serialises access to the Postgres server. */
  private serverTurn: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly service: LocalService,
    readonly proxy: CommitProxy,
    readonly sql: pg.Pool,
    private postgres: Postgres,
    private redis: RedisServer,
    private dataDir: string,
    ports: {
      readonly api: readonly number[];
      readonly adminOfApi: readonly number[];
      readonly adminOfWorker: readonly number[];
    },
    projects: { readonly rich: Project; readonly poor: Project; readonly broke: Project },
    readonly exchanges: Exchanges,
    readonly receivers: ChaosReceivers,
    readonly depositors: Depositors,
    readonly supplied: Supplied,
    readonly overlapping: Overlapping,
    /** The operator's services in this process, as built, without a planted bug. */
    readonly parts: INestApplicationContext,
    readonly sellsBandwidth: boolean,
    log: ChaosClusterOptions['log'],
  ) {
    const forget = (child: ServiceProcess): void => {
      const at = service.processes.indexOf(child);
      if (at >= 0) service.processes.splice(at, 1);
    };
    this.actors = {
      worker: ports.adminOfWorker.map(
        (admin, n) =>
          new Actor(
            `worker ${n.toString()}`,
            (env) => service.startWorker({ ADMIN_PORT: admin.toString(), ...env }),
            forget,
            log,
          ),
      ),
      api: ports.api.map(
        (port, n) =>
          new Actor(
            `api ${n.toString()}`,
            async (env) =>
              (await service.startApi(port, { ADMIN_PORT: (ports.adminOfApi[n] ?? 0).toString(), ...env })).process,
            forget,
            log,
          ),
      ),
      sender: [0, 1].map((n) => new Actor(`sender ${n.toString()}`, (env) => service.startSender(env), forget, log)),
    };
    this.adminPorts = [
      ...ports.adminOfApi.map((port) => ({ role: 'api', port }) as const),
      ...ports.adminOfWorker.map((port) => ({ role: 'worker', port }) as const),
    ];
    const at = (project: Project): readonly Merchant[] =>
      ports.api.map((port) => new Merchant(`http://127.0.0.1:${port.toString()}`, project.id, project.apiKey));
    this.rich = at(projects.rich);
    this.poor = at(projects.poor);
    this.broke = at(projects.broke);
    this.directWallet = new Wallet(service.controlUrl);
    this.spenders = new Spenders(service, this.directWallet);
    this.clearRedis = new Redis(redis.url, { maxRetriesPerRequest: 1, lazyConnect: true, retryStrategy: () => 500 });
    this.clearRedis.on('error', () => undefined);
  }

  /** Starts everything; the caller closes it. */
  static async open(options: ChaosClusterOptions): Promise<ChaosCluster> {
    const dataDir = await mkdtemp(join(tmpdir(), 'energy-chaos-'));
    const given = options.databaseUrl;
    const postgres = given === undefined ? await startPostgres({ durable: false, dataDir }) : keptByOthers(given);
    const redis = await startRedis();
    const proxy = given === undefined ? await openCommitProxy(postgres) : { ...keptByOthers(given), ...NO_PROXY };
    const [exchanges, receivers] = await Promise.all([openExchanges(), ChaosReceivers.open()]);
    const hosts = new DatabaseHosts(postgres.url);
    // The client's type has a constructor without parameters.
    const Client = HostsClient as unknown as new () => pg.ClientBase;
    const pooled: pg.PoolConfig & { readonly hosts: DatabaseHosts } = { Client, hosts, max: 4 };
    const sql = new pg.Pool({ ...pooled, connectionTimeoutMillis: 30_000 });
    sql.on('error', () => undefined);
    // Commits reach the operating system but do not wait for the disk: a killed server keeps them.
    await sql.query(`ALTER ROLE CURRENT_USER SET synchronous_commit = on`);
    const service = await LocalService.start({
      build: options.build,
      blockMs: options.blockMs,
      solidLag: SOLID_LAG,
      durable: false,
      secondNode: true,
      databaseUrl: proxy.url,
      redisUrl: redis.url,
      poolStakesTrx: options.walletsTrx ?? WALLETS_TRX,
      env: { ...SETTINGS, ...receivers.env, RATE_SOURCE_URLS: exchanges.urls, ...options.env },
      onLine: options.log,
    });
    const parts = await (options.openParts ?? openParts)({ ...service.env, DATABASE_URL: postgres.url });
    const projects = {
      rich: await newProject(parts, 'Rich'),
      poor: await newProject(parts, 'Poor'),
      broke: await newProject(parts, 'Broke'),
    };
    await parts.get(Ledger).topUp(projects.rich.id, CREDITS, 'rich', ACT);
    // A release before bandwidth was sold would deliver it as energy.
    const sellsBandwidth = options.openParts === undefined && (await sellBandwidth(parts, ACT));
    await receivers.subscribe(parts, projects.rich.id, ['away', 'slow', 'lying']);
    for (const { id } of [projects.poor, projects.broke]) await receivers.subscribe(parts, id, ['steady']);
    const read: ReadRows = async <Row extends object>(text: string, params: unknown[]) =>
      (await sql.query<Row>(text, params)).rows;
    const depositors = await Depositors.begin(parts, service, new Wallet(service.controlUrl), read);
    const supplied = await Supplied.begin(service, new Wallet(service.controlUrl), projects.rich.id);
    const two = async (): Promise<number[]> => [await freePort(), await freePort()];
    const ports = { api: await two(), adminOfApi: await two(), adminOfWorker: await two() };
    const overlapping = await Overlapping.begin(service, new Wallet(service.controlUrl));
    const cluster = new ChaosCluster(
      service,
      proxy,
      sql,
      postgres,
      redis,
      dataDir,
      ports,
      projects,
      exchanges,
      receivers,
      depositors,
      supplied,
      overlapping,
      parts,
      sellsBandwidth,
      options.log,
    );
    for (const actor of cluster.all) actor.start();
    return cluster;
  }

  get all(): readonly Actor[] {
    return [...this.actors.api, ...this.actors.worker, ...this.actors.sender];
  }

  /** Environment of a service that bypasses the proxy. */
  get directEnv(): NodeJS.ProcessEnv {
    return { ...this.service.env, DATABASE_URL: this.postgres.url, TRON_READ_TIMEOUT_MS: '10000' };
  }

  async control(action: string, body: object = {}): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.service.controlUrl}/${action}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if ('Error' in answer) throw new Error(`${action}: ${String(answer['Error'])}`);
    return answer;
  }

  /** Uses the energy of supplied addresses and of customers until the signal aborts. */
  async keepUsing(signal: AbortSignal): Promise<void> {
    await Promise.all([this.supplied.keepUsing(signal), this.spenders.keepSpending(signal)]);
  }

  /**
   * Advances the chain by a day, in which all used energy recovers, so the pool has the same capacity in each round.
   */
  async passDay(): Promise<void> {
    const timestamp = (await this.directWallet.headTime()) + DAY_MS;
    await this.control('mine', { blocks: [{ timestamp }] });
    await this.keepRates();
  }

  /** Sends a transaction of a wallet's owner and includes it in the very next block. */
  async actAsOwner(path: string, body: Readonly<Record<string, unknown>>, owner: ChainAccount): Promise<void> {
    const made = await this.directWallet.post(`wallet/${path}`, { visible: true, ...body });
    if (typeof made['raw_data_hex'] !== 'string') throw new Error(`no transaction: ${JSON.stringify(made)}`);
    const rawData = Buffer.from(made['raw_data_hex'], 'hex');
    this.ownerTxids.add(String(made['txID']));
    const transaction = signedTransactionHex(rawData, signWithKey(rawData, owner.privateKey));
    await this.control('mine', { blocks: [{ transactions: [transaction] }] });
  }

  /** Returns a block as a healed node reports it. */
  async block(num: number): Promise<{ readonly id: string; readonly timestampMs: number }> {
    const response = await fetch(`${this.service.fullUrls[0] ?? ''}/wallet/getblockbynum`, {
      method: 'POST',
      body: JSON.stringify({ num }),
      signal: AbortSignal.timeout(10_000),
    });
    const { id, timestampMs } = readBlock('the first node', parseJson(await response.text()) ?? {});
    return { id, timestampMs };
  }

  /** Returns settings that preload a wrong clock into the next process. */
  shifted(shiftMs: number): NodeJS.ProcessEnv {
    return { CHAOS_CLOCK_SHIFT_MS: shiftMs.toString(), NODE_OPTIONS: `--import=${CLOCK_SHIFT}` };
  }

  /**
   * Shifts the database's clock. Returns true on success. Retries until `over` aborts; without a signal, indefinitely.
   */
  async stepClock(by: string, over?: AbortSignal): Promise<boolean> {
    while (over?.aborted !== true) {
      const isDone = await this.withServer(async () => {
        await installSteppedClock(this.sql);
        await stepClock(this.sql, by);
      }).then(
        () => true,
        () => false,
      );
      if (isDone) return true;
      await sleep(500);
    }
    return false;
  }

  /**
   * Makes rates for the chain's time, which is ahead of this machine's here. They are lost when a worker detects that the
   * clock was set back.
   */
  async keepRates(): Promise<void> {
    await this.sql.query(RATES_AROUND, [new Date(await this.directWallet.headTime())]);
  }

  /** Stops the processes and writes the records of the database into a file. */
  async saveRecords(path: string): Promise<void> {
    await Promise.all(this.all.map((actor) => actor.stop()));
    await saveRecords(this.sql, path);
  }

  /** Immediate shutdown, as after a crash; the server recovers from its WAL. */
  async restartPostgres(): Promise<void> {
    await this.withServer(async () => {
      const { port } = this.postgres;
      this.postgres.signal('SIGQUIT');
      await this.postgres.stop();
      await sleep(500);
      this.postgres = await startPostgres({ durable: false, dataDir: this.dataDir, port });
    });
  }

  /** Replaces the server with one that lacks the last commits. Returns the number of lost orders and transactions. */
  async failOver(over: AbortSignal): Promise<number> {
    return this.withServer(async () => {
      const standby = await Standby.copyOf(this.postgres, this.dataDir);
      try {
        const lsn = await momentToKeep(this.sql, over);
        const then = await recordedBy(this.sql);
        await untilMoreIsRecorded(this.sql, then, over);
        this.proxy.refuse(true);
        await this.untilWritesEnd();
        const before = await recordedBy(this.sql);
        const { port } = this.postgres;
        this.postgres.signal('SIGQUIT');
        await this.postgres.stop();
        this.postgres = await standby.promote(lsn, port);
        const old = this.dataDir;
        this.dataDir = standby.dataDir;
        await rm(old, { recursive: true, force: true });
        const after = await recordedBy(this.sql);
        const loss = lossBetween(before, after);
        for (const txid of loss.txids) this.lostTxids.add(txid);
        this.onLoss(loss);
        this.receivers.excuseLoss();
        return loss.orders.size + [...before.sent.keys()].filter((txid) => !after.sent.has(txid)).length;
      } catch (error) {
        if (this.dataDir !== standby.dataDir) {
          const { port } = this.postgres;
          await this.postgres.stop();
          this.postgres = await startPostgres({ durable: false, dataDir: this.dataDir, port });
          await standby.remove();
        }
        throw error;
      } finally {
        this.proxy.refuse(false);
      }
    });
  }

  private async withServer<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.serverTurn.then(work);
    this.serverTurn = mine.catch(() => undefined);
    return mine;
  }

  /** Ends every connection of the service and returns their number. */
  async killConnections(): Promise<number> {
    const { rows } = await this.sql.query<{ ended: boolean }>(
      `SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND application_name <> '' AND datname IS NOT NULL`,
    );
    return rows.length;
  }

  /** Waits until nothing writes: from then on, every answer given is visible to readers. */
  private async untilWritesEnd(): Promise<void> {
    const look = async (): Promise<true | undefined> => {
      await this.killConnections();
      const { rows } = await this.sql.query(BUSY);
      return rows.length === 0 ? true : undefined;
    };
    await until(look, QUIET_LIMIT_MS, 'the end of all writing');
  }

  async flushRedis(): Promise<void> {
    await this.clearRedis.flushall();
  }

  async redisDown(ms: number, signal: AbortSignal): Promise<void> {
    const port = Number(new URL(this.redis.url).port);
    this.redis.signal('SIGKILL');
    await this.redis.stop();
    await sleep(ms, signal);
    this.redis = await startRedis({ port, ...(this.redis.kind === 'js-redis-server' ? { redisUrl: 'embedded' } : {}) });
  }

  /** Gives credits to the poor customer; idempotent by `ref`. */
  async topUp(credits: number, ref: string): Promise<void> {
    const [poor] = this.poor;
    if (poor !== undefined) await this.parts.get(Ledger).topUp(poor.id, BigInt(credits) as Credits, ref, ACT);
  }

  /**
   * Counts unfinished work: unsettled orders, legs not reclaimed, a search of the past, and its unreclaimed findings.
   */
  async unfinished(): Promise<number> {
    const { rows } = await this.sql.query<{ left: number }>(UNFINISHED);
    return rows[0]?.left ?? 0;
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((actor) => actor.stop()));
    this.clearRedis.disconnect();
    await this.parts.close();
    await this.service.stop();
    await this.sql.end();
    await this.proxy.close();
    await this.exchanges.close();
    await this.receivers.close();
    await this.redis.stop();
    await this.postgres.stop();
    await rm(this.dataDir, { recursive: true, force: true });
  }
}

function newProject(parts: INestApplicationContext, name: string): Promise<Project> {
  return parts.get(Projects).create(name, { kind: 'prepaid' }, ACT);
}

/** Stands in for an external server that is neither started nor stopped here. */
function keptByOthers(url: string): Postgres {
  const nothing = (): void => undefined;
  return { url, port: 0, pid: 0, tail: () => '', signal: nothing, stop: () => Promise.resolve() };
}

const NO_PROXY: Omit<CommitProxy, 'url'> = {
  cuts: 0,
  arm: () => undefined,
  refuse: () => undefined,
  close: () => Promise.resolve(),
};

const BUSY = `SELECT FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND application_name <> '' AND datname IS NOT NULL AND state <> 'idle'`;

const UNFINISHED = `SELECT (SELECT count(*) FROM orders o WHERE NOT o.settled OR (
      o.kind = 'rental' AND EXISTS (SELECT FROM leg l WHERE l.order_id = o.id AND l.status NOT IN ('reclaimed', 'released'))))::int
    + (SELECT count(*) FROM reconcile_state WHERE search_until IS NOT NULL OR server_mark IS DISTINCT FROM server_mark())::int
    + (SELECT count(*) FROM orphan_tx WHERE type = ${DELEGATE_TYPE.toString()} AND order_id IS NULL AND gone_at IS NULL)::int AS left`;
