/** The data source of a process: one pool, bounded in size and in every wait. */
import { DataSource, type MigrationInterface } from 'typeorm';
import { ApiKey } from './entities/api-key.entity.js';
import { AutoDelegation } from './entities/auto-delegation.entity.js';
import { AuditEntry } from './entities/audit-entry.entity.js';
import { Broadcast } from './entities/broadcast.entity.js';
import { ChainTx } from './entities/chain-tx.entity.js';
import { ClockMark } from './entities/clock-mark.entity.js';
import { AssetRate } from './entities/asset-rate.entity.js';
import { ConsoleSession } from './entities/console-session.entity.js';
import { CreditAccount } from './entities/credit-account.entity.js';
import { CreditEntry } from './entities/credit-entry.entity.js';
import { CreditRequest } from './entities/credit-request.entity.js';
import { DepositAccount, DepositAddress } from './entities/deposit-account.entity.js';
import { DepositMovement, DepositReturn, DepositSweepAddress } from './entities/deposit-movement.entity.js';
import { BlacklistedAddress, DepositToken, StoredTokenState } from './entities/deposit-token.entity.js';
import { DepositSum, ParkedPaymentRow } from './entities/deposit-sum.entity.js';
import { Deposit, DepositCursor, IgnoredTransfer } from './entities/deposit.entity.js';
import { EventNumbering, EventPosition } from './entities/event-position.entity.js';
import { Event } from './entities/event.entity.js';
import { ExplainedFinding } from './entities/explained-finding.entity.js';
import { KeyCanary } from './entities/key-canary.entity.js';
import { JudgedCredits, JudgedEntries } from './entities/judged.entity.js';
import { Invitation } from './entities/invitation.entity.js';
import { MailRefusal } from './entities/mail-refusal.entity.js';
import { Leg } from './entities/leg.entity.js';
import { MarketState } from './entities/market-state.entity.js';
import { Notification } from './entities/notification.entity.js';
import { Order } from './entities/order.entity.js';
import { OrderExtension, OrderKey } from './entities/order-extension.entity.js';
import { OrderReplay } from './entities/order-replay.entity.js';
import { OrphanTx } from './entities/orphan-tx.entity.js';
import { Membership, Person, RecoveryCode } from './entities/person.entity.js';
import { PoolSlot } from './entities/pool-slot.entity.js';
import { PoolWallet } from './entities/pool-wallet.entity.js';
import { PoolWalletDay } from './entities/pool-wallet-day.entity.js';
import { PriceRow } from './entities/price-row.entity.js';
import { Project } from './entities/project.entity.js';
import { ReceiverEnergy } from './entities/receiver-energy.entity.js';
import { ReclaimUsage } from './entities/reclaim-usage.entity.js';
import { ReconcileState } from './entities/reconcile-state.entity.js';
import { RefusedRequest } from './entities/refused-request.entity.js';
import { RequestNonce } from './entities/request-nonce.entity.js';
import { SalesStop } from './entities/sales-stop.entity.js';
import { SignInGuess } from './entities/sign-in-guess.entity.js';
import { LedgerStatement, StatementMonth } from './entities/statement.entity.js';
import { UnsearchedBlock } from './entities/unsearched-block.entity.js';
import { WebhookAct } from './entities/webhook-act.entity.js';
import { WebhookDelivery } from './entities/webhook-delivery.entity.js';
import { WebhookDestination } from './entities/webhook-destination.entity.js';
import { WebhookEndpoint } from './entities/webhook-endpoint.entity.js';
import { WebhookState } from './entities/webhook-state.entity.js';
import { DatabaseHosts } from './database-hosts.js';
import { HostsClient } from './hosts-client.js';
import { Baseline1760000000001 } from './migrations/0001-baseline.js';
import { PINNED_OPTIONS } from './session-settings.js';

/** Every table as an entity without relations, for plain reads and writes; money and state are written by SQL alone. */
const ENTITIES = [
  ApiKey,
  AutoDelegation,
  AssetRate,
  AuditEntry,
  Broadcast,
  ChainTx,
  ClockMark,
  ConsoleSession,
  CreditAccount,
  CreditEntry,
  CreditRequest,
  Deposit,
  DepositAccount,
  DepositAddress,
  DepositCursor,
  DepositMovement,
  DepositReturn,
  DepositSum,
  DepositSweepAddress,
  DepositToken,
  ParkedPaymentRow,
  StoredTokenState,
  BlacklistedAddress,
  Event,
  EventNumbering,
  EventPosition,
  ExplainedFinding,
  KeyCanary,
  IgnoredTransfer,
  Invitation,
  MailRefusal,
  JudgedCredits,
  JudgedEntries,
  LedgerStatement,
  Leg,
  MarketState,
  Membership,
  Notification,
  Order,
  OrderExtension,
  OrderKey,
  OrderReplay,
  OrphanTx,
  Person,
  PoolSlot,
  PoolWallet,
  PoolWalletDay,
  PriceRow,
  Project,
  ReceiverEnergy,
  ReclaimUsage,
  ReconcileState,
  RecoveryCode,
  RefusedRequest,
  RequestNonce,
  SalesStop,
  SignInGuess,
  StatementMonth,
  UnsearchedBlock,
  WebhookAct,
  WebhookDelivery,
  WebhookDestination,
  WebhookEndpoint,
  WebhookState,
];

export type MigrationClass = new () => MigrationInterface & { readonly name: string };

/** Each has its name as a member: TypeORM would take the class's name, which a bundle changes, and run the migration again. */
const MIGRATIONS: readonly MigrationClass[] = [Baseline1760000000001];

/** The rows of the table `migrations` when the schema is this version's. */
export const MIGRATION_NAMES: readonly string[] = MIGRATIONS.map((Migration) => new Migration().name);

const QUERY_GRACE_MS = 2000;
const CONNECT_LIMIT_MS = 2000;
/** At a start and for a command: on a busy machine a connection takes seconds, and nobody else waits for it. */
export const START_CONNECT_LIMIT_MS = 10_000;
/** For the question which of several hosts serves, before the connection to it is made. */
const CHOICE_LIMIT_MS = 5000;
const LAG_MAX_MS = 10_000;

interface DataSourceOptions {
  /** With the hosts of a process it is what this process has seen of them. */
  readonly url: string | DatabaseHosts;
  /** Past a pooler; as `url` unless said. */
  readonly direct?: DatabaseHosts | undefined;
  /** Of a standby, for reads that may be a moment old. */
  readonly replica?: DataSource | undefined;
  /** How far behind the replica may be. */
  readonly lagMaxMs?: number;
  /** The longest wait for a connection, with the choice of its host. */
  readonly connectionMs?: number;
  /** The longest that making one connection may take; 2 s unless said. */
  readonly connectLimitMs?: number;
  /** false: none is prepared by its name. */
  readonly namedStatements?: boolean;
  readonly poolMax: number;
  readonly applicationName: string;
  /** The longest one statement may take, 0 = no limit (migrations). */
  readonly statementTimeoutMs?: number;
  /** The longest one statement may wait for a lock; 10 s unless said, which a second request with the same key waits. */
  readonly lockTimeoutMs?: number;
  /** Migrations after those of this version, for tests. */
  readonly later?: readonly MigrationClass[];
  /** A role that the connections act as from the beginning, of which their user must be a member. */
  readonly actsAs?: string;
}

export function createDataSource(options: DataSourceOptions): DataSource {
  const statementTimeoutMs = options.statementTimeoutMs ?? 12_000;
  const connectLimitMs = options.connectLimitMs ?? CONNECT_LIMIT_MS;
  const hosts = typeof options.url === 'string' ? new DatabaseHosts(options.url) : options.url;
  return new DataSource({
    type: 'postgres',
    // TypeORM knows one host; the client chooses among all of them.
    ...(hosts.all[0] !== undefined && { url: hosts.all[0].url }),
    entities: ENTITIES,
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
      // pg waits for ever by default, for a connection as for a free place in the pool.
      connectionTimeoutMillis: options.connectionMs ?? waitOf(connectLimitMs, hosts),
      idleTimeoutMillis: 30_000,
      // Beyond the server's own limit: for a connection that went silent, which the pool then throws away.
      ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + QUERY_GRACE_MS }),
      keepAlive: true,
      // A request waits up to 10 s for the first of its key (docs/interface.md §10); its statement may take longer.
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

/** The longest wait for a connection: a choice of hosts comes before it is made. */
const waitOf = (connectLimitMs: number, hosts: DatabaseHosts): number =>
  connectLimitMs + (hosts.areAsked ? CHOICE_LIMIT_MS : 0);

/**
 * Ends the patience of a start: from now on a connection is made within the limit of a running service, so that callers
 * get their 503 soon. A pool reads its options for each connection.
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
