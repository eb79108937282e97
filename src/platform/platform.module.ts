/**
 * Global providers: the connections and infrastructure of every root, made once per process and closed in order. Knows
 * no feature.
 */
import {
  Global,
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Redis } from 'ioredis';
import { accountAt, keysInClear, nodeOptionsOf } from './chain/configured-nodes.js';
import { NodePool } from './chain/node-pool.js';
import { BROADCAST_PATH, TronNode } from './chain/node.js';
import { RequestBudget, type Urgency } from './chain/request-budget.js';
import { ENERGY_PRICES_PATH, RECEIPT_PATH, SOLID_RECEIPT_PATH, TRANSACTION_PATH } from './chain/transaction-report.js';
import { ACCOUNT_PATH, CONSTANT_CALL_PATH, TronClient } from './chain/tron.client.js';
import { Config, readConfig, type Role } from './config/config.js';
import { ListQueue } from './http/pipeline/list-queue.js';
import { LookupQueue } from './http/pipeline/lookup-queue.js';
import { Log, createLogger } from './observability/logger.js';
import { Metrics } from './observability/metrics.js';
import { createProducerConnection } from './queue/connections.js';
import { WakeUps } from './queue/jobs.js';
import { timelineRecord } from './queue/timeline-record.js';
import { Sealers } from './support/sealers.js';
import { Database } from './database/database.js';
import { openDatabase } from './database/open-database.js';
import { Replica } from './database/replica.js';

/**
 * Warns of a master key in a process that needs fewer keys. Skipped for a chain with its own time
 * (TRON_HEAD_AGE_MAX_SEC 0).
 */
function warnOfMasterKey({ secrets, chain }: Config, role: Role, log: Log): void {
  if (role === 'cli' || !secrets.isMaster || chain.headAgeMaxSec === 0) return;
  log.warn(
    { role, todo: `give this process its own keys: cli secrets derive --for ${role}` },
    'MASTER_KEY opens every secret',
  );
}

/** The worker retries each row that it could not lock; while it waits, others wait for it. */
const WORKER_LOCK_TIMEOUT_MS = 2000;

/** Node requests that an API makes only for callers: accounts, the energy of calls, and transactions to explain. */
const CALLERS_PATHS: ReadonlySet<string> = new Set([
  ACCOUNT_PATH,
  CONSTANT_CALL_PATH,
  TRANSACTION_PATH,
  RECEIPT_PATH,
  SOLID_RECEIPT_PATH,
  ENERGY_PRICES_PATH,
]);
/** Node requests for heads. */
const HEAD_PATHS: ReadonlySet<string> = new Set(['wallet/getblock', 'walletsolidity/getblock']);

/** Broadcasts and heads have priority: order delivery and the end of rentals depend on them. */
function urgencyOf(path: string): Urgency {
  if (path === BROADCAST_PATH) return 'broadcast';
  return HEAD_PATHS.has(path) ? 'head' : 'other';
}

function createTronClient({ chain, redis: { prefix } }: Config, role: Role, redis: Redis, log: Log): TronClient {
  const nodes = nodeOptionsOf(chain).map((options) => {
    const requestsPerSec = chain.requestsPerSec[options.index] ?? 0;
    const waitMaxMs = chain.readTimeoutMs;
    const budget = new RequestBudget({ redis, prefix, account: accountAt(options), requestsPerSec, waitMaxMs });
    const { host } = new URL(options.fullUrl);
    return new TronNode({
      ...options,
      admit: (path: string) =>
        role === 'api' && CALLERS_PATHS.has(path) ? budget.admitCaller() : budget.admit(urgencyOf(path)),
      admitSpare: () => budget.admitSpare(),
      onThrottled: (path: string) => {
        // A node may limit broadcasts alone, as java-tron does per request type; a general limit also shows in reads.
        const learned = path === BROADCAST_PATH ? undefined : budget.learn();
        if (learned === undefined && requestsPerSec === 0) return;
        log.warn(
          {
            node: host,
            requestsPerSec: learned ?? requestsPerSec,
            todo: 'set TRON_REQUESTS_PER_SEC to the limit of the provider',
          },
          'node refused requests over its rate limit',
        );
      },
    });
  });
  for (const host of keysInClear(chain)) log.warn({ host }, 'API key sent unencrypted to a node');
  return new TronClient(new NodePool(nodes, chain.pollMs, chain.witnessAwaySec * 1000));
}

/** Connects in the background: a process starts and serves while Redis is unavailable. */
function openRedis(config: Config, role: Role, log: Log): Redis {
  let isAway = false;
  const redis = createProducerConnection(config.redis, role, (error) => {
    // One line per outage, not one per attempt.
    if (!isAway) log.warn({ err: error, effect: 'the process continues without Redis' }, 'failed to connect to Redis');
    isAway = true;
  });
  redis.on('ready', () => {
    if (isAway) log.info({}, 'connected to Redis again');
    isAway = false;
  });
  if (role !== 'cli') redis.connect().catch(() => undefined);
  return redis;
}

const ROLE = Symbol('role');

@Global()
@Module({})
export class PlatformModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    @Inject(ROLE) private readonly role: Role,
    private readonly redis: Redis,
    private readonly client: TronClient,
  ) {}

  /**
   * Wires everything for one process. A CLI connects to Redis and the chain only at the first request to them. `config`
   * defaults to the environment, `log` to stdout.
   */
  static for(role: Role, config: Config = readConfig(undefined, role), log: Log = createLogger(config)): DynamicModule {
    warnOfMasterKey(config, role, log);
    const sealers = new Sealers(config.secrets);
    return {
      module: PlatformModule,
      imports: [
        TypeOrmModule.forRootAsync({
          // No retries: a start that cannot succeed fails immediately, and the supervisor restarts the process.
          useFactory: () => ({ retryAttempts: 0 }),
          dataSourceFactory: () =>
            openDatabase(config.database, {
              role,
              sealers,
              log,
              isPatient: role === 'cli',
              record: timelineRecord(config.redis),
              ...(role === 'worker' && { lockTimeoutMs: WORKER_LOCK_TIMEOUT_MS }),
            }),
        }),
      ],
      providers: [
        { provide: Config, useValue: config },
        { provide: Sealers, useValue: sealers },
        Database,
        Replica,
        { provide: ROLE, useValue: role },
        { provide: Log, useValue: log },
        Metrics,
        { provide: Redis, useFactory: () => openRedis(config, role, log) },
        {
          provide: TronClient,
          useFactory: (client: Redis) => createTronClient(config, role, client, log),
          inject: [Redis],
        },
        WakeUps,
        ListQueue,
        LookupQueue,
      ],
      exports: [Config, Sealers, Log, Metrics, Database, Replica, Redis, TronClient, WakeUps, ListQueue, LookupQueue],
    };
  }

  onApplicationBootstrap(): void {
    if (this.role !== 'cli') this.client.pool.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.redis.disconnect();
    await this.client.pool.stop();
  }
}
