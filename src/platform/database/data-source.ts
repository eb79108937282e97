/** The data source of a process: one pool, bounded in size and in every wait. */
import { DataSource, type Logger, type MigrationInterface } from 'typeorm';
import { ApiKey } from './entities/api-key.entity.js';
import { AutoDelegation } from './entities/auto-delegation.entity.js';
import { AuditEntry } from './entities/audit-entry.entity.js';
import { Broadcast } from './entities/broadcast.entity.js';
import { ChainTx } from './entities/chain-tx.entity.js';
import { CreditEntry } from './entities/credit-entry.entity.js';
import { CreditRequest } from './entities/credit-request.entity.js';
import { DepositAccount, DepositAddress } from './entities/deposit-account.entity.js';
import { Deposit } from './entities/deposit.entity.js';
import { Event } from './entities/event.entity.js';
import { ExplainedFinding } from './entities/explained-finding.entity.js';
import { Leg } from './entities/leg.entity.js';
import { Order } from './entities/order.entity.js';
import { OrderExtension } from './entities/order-extension.entity.js';
import { PoolSlot } from './entities/pool-slot.entity.js';
import { PoolWallet } from './entities/pool-wallet.entity.js';
import { PriceRow } from './entities/price-row.entity.js';
import { Project } from './entities/project.entity.js';
import { ReclaimUsage } from './entities/reclaim-usage.entity.js';
import { RentalUse } from './entities/rental-use.entity.js';
import { SalesStop } from './entities/sales-stop.entity.js';
import { LedgerStatement } from './entities/statement.entity.js';
import { WebhookEndpoint } from './entities/webhook-endpoint.entity.js';
import { WebhookState } from './entities/webhook-state.entity.js';
import { DatabaseHosts } from './database-hosts.js';
import { HostsClient } from './hosts-client.js';
import { Baseline1760000000001 } from './migrations/0001-baseline.js';
import { PINNED_OPTIONS } from './session-settings.js';

/** The tables that repositories read or write, without relations. Hand-written SQL writes money and states. */
const ENTITIES = [
  ApiKey,
  AutoDelegation,
  AuditEntry,
  Broadcast,
  ChainTx,
  CreditEntry,
  CreditRequest,
  Deposit,
  DepositAccount,
  DepositAddress,
  Event,
  ExplainedFinding,
  LedgerStatement,
  Leg,
  Order,
  OrderExtension,
  PoolSlot,
  PoolWallet,
  PriceRow,
  Project,
  ReclaimUsage,
  RentalUse,
  SalesStop,
  WebhookEndpoint,
  WebhookState,
];

export type MigrationClass = new () => MigrationInterface & { readonly name: string };

/**
 * Each migration has its name as a member. Otherwise TypeORM would use the class name. A bundle changes that name, so
 * the migration would run again.
 */
const MIGRATIONS: readonly MigrationClass[] = [Baseline1760000000001];

/** The rows of the table `migrations` in a database with this version's schema. */
export const MIGRATION_NAMES: readonly string[] = MIGRATIONS.map((Migration) => new Migration().name);

const QUERY_GRACE_MS = 2000;
const CONNECT_LIMIT_MS = 2000;
/** For a start or a command: on a busy machine a connection takes seconds, and no caller waits for it. */
export const START_CONNECT_LIMIT_MS = 10_000;
/** Additional limit for choosing among several hosts, before the connection is made. */
const CHOICE_LIMIT_MS = 5000;
const LAG_MAX_MS = 10_000;

interface DataSourceOptions {
  /** A URL, or the hosts with the states that this process has seen. */
  readonly url: string | DatabaseHosts;
  /** The hosts that bypass a pooler; by default those of `url`. */
  readonly direct?: DatabaseHosts | undefined;
  /** The source of a standby, for slightly stale reads. */
  readonly replica?: DataSource | undefined;
  /** The maximum lag of the replica. */
  readonly lagMaxMs?: number;
  /** Limit of the wait for a connection, including the choice of a host. */
  readonly connectionMs?: number;
  /** Limit of one connection attempt; 2 s by default. */
  readonly connectLimitMs?: number;
  /** False disables named prepared statements. */
  readonly namedStatements?: boolean;
  readonly poolMax: number;
  readonly applicationName: string;
  /** Limit of one statement; 0 = none, for migrations. */
  readonly statementTimeoutMs?: number;
  /** Limit of one wait for a lock; by default 10 s, the time that a repeated key waits for the first request. */
  readonly lockTimeoutMs?: number;
  /** Migrations after those of this version, for tests. */
  readonly later?: readonly MigrationClass[];
  /** A role that the connections act as. Their user must be a member of it. */
  readonly actsAs?: string;
  /** False for migrations, which use no entities: building their metadata takes longer than a small command. */
  readonly withEntities?: boolean;
  /** Lets TypeORM print to standard output, for its own commands. */
  readonly prints?: boolean;
}

const nothing = (): void => undefined;

/** TypeORM would print failed migrations to standard output even with its logging off. The caller reports them. */
const SILENT: Logger = {
  logQuery: nothing,
  logQueryError: nothing,
  logQuerySlow: nothing,
  logSchemaBuild: nothing,
  logMigration: nothing,
  log: nothing,
};

export function createDataSource(options: DataSourceOptions): DataSource {
  const statementTimeoutMs = options.statementTimeoutMs ?? 12_000;
  const connectLimitMs = options.connectLimitMs ?? CONNECT_LIMIT_MS;
  const hosts = typeof options.url === 'string' ? new DatabaseHosts(options.url) : options.url;
  return new DataSource({
    type: 'postgres',
    // TypeORM knows one host; the client chooses among all of them.
    ...(hosts.all[0] !== undefined && { url: hosts.all[0].url }),
    ...(options.prints !== true && { logger: SILENT }),
    entities: options.withEntities === false ? [] : ENTITIES,
    migrations: [...MIGRATIONS, ...(options.later ?? [])],
    migrationsTransactionMode: 'each',
    applicationName: options.applicationName,
    extra: {
      max: options.poolMax,
      Client: HostsClient,
      hosts,
      direct: options.direct ?? hosts,
      isNaming: options.namedStatements ?? true,
      replica: options.replica,
      lagMaxMs: options.lagMaxMs ?? LAG_MAX_MS,
      connectLimitMs,
      // By default pg waits forever for a connection, and for a free place in the pool.
      connectionTimeoutMillis: options.connectionMs ?? waitOf(connectLimitMs, hosts),
      idleTimeoutMillis: 30_000,
      // Longer than the server's own limit, for connections that went silent. The pool then discards the connection.
      ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + QUERY_GRACE_MS }),
      keepAlive: true,
      // A request waits up to 10 s for the first one with its key (docs/interface.md §10), so its statement may take
      // longer.
      options: [
        `-c statement_timeout=${statementTimeoutMs.toString()}`,
        `-c lock_timeout=${(options.lockTimeoutMs ?? 10_000).toString()}`,
        '-c idle_in_transaction_session_timeout=10000',
        ...PINNED_OPTIONS,
        ...(options.actsAs === undefined ? [] : [`-c role=${options.actsAs}`]),
      ].join(' '),
    },
  });
}

/** Returns the limit of the wait for a connection, including the choice of a host. */
const waitOf = (connectLimitMs: number, hosts: DatabaseHosts): number =>
  connectLimitMs + (hosts.areAsked ? CHOICE_LIMIT_MS : 0);

/**
 * Replaces the connection limit of a start by that of a running service, so that callers soon get their 503. The pool
 * reads its options for each new connection.
 */
export function endStartPatience(source: DataSource): void {
  const { master } = source.driver as unknown as { readonly master: { readonly options: Record<string, unknown> } };
  const { hosts } = waysOf(source);
  master.options['connectLimitMs'] = CONNECT_LIMIT_MS;
  master.options['connectionTimeoutMillis'] = waitOf(CONNECT_LIMIT_MS, hosts);
}

/** Settings of a data source's connections. */
interface Ways {
  /** The hosts that its connections choose from. */
  readonly hosts: DatabaseHosts;
  /** The hosts that bypass a pooler, for sessions that keep session state. */
  readonly direct: DatabaseHosts;
  /** The source of slightly stale reads; not yet connected. */
  readonly replica: DataSource | undefined;
  readonly lagMaxMs: number;
  /** True if statements are prepared by name. */
  readonly isNaming: boolean;
}

export function waysOf(source: DataSource): Ways {
  return (source.options as unknown as { readonly extra: Ways }).extra;
}
