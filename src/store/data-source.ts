/** How a process reaches Postgres: one pool, bounded in size and in every wait. */
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
import { Initial1760000000001 } from './migrations/0001-initial.js';
import { Reconciling1760000000002 } from './migrations/0002-reconciling.js';
import { KeptRows1760000000003 } from './migrations/0003-kept-rows.js';
import { Capacity1760000000004 } from './migrations/0004-capacity.js';
import { ForeignActs1760000000005 } from './migrations/0005-foreign-acts.js';
import { Delivery1760000000007 } from './migrations/0007-delivery.js';
import { CanariesClock1760000000008 } from './migrations/0008-canaries-clock.js';
import { JudgedOnce1760000000009 } from './migrations/0009-judged-once.js';
import { LeastRights1760000000010 } from './migrations/0010-least-rights.js';
import { Refusals1760000000011 } from './migrations/0011-refusals.js';
import { AuditRoles1760000000012 } from './migrations/0012-audit-roles.js';
import { Signatures1760000000013 } from './migrations/0013-signatures.js';
import { ApiKeys1760000000014 } from './migrations/0014-api-keys.js';
import { KeyCaps1760000000015 } from './migrations/0015-key-caps.js';
import { Events1760000000020 } from './migrations/0020-events.js';
import { UnsearchedBlocks1760000000025 } from './migrations/0025-unsearched-blocks.js';
import { Webhooks1760000000027 } from './migrations/0027-webhooks.js';
import { RefusedRequests1760000000028 } from './migrations/0028-refused-requests.js';
import { Deposits1760000000031 } from './migrations/0031-deposits.js';
import { RefusedTogether1760000000032 } from './migrations/0032-refused-together.js';
import { LowBalance1760000000035 } from './migrations/0035-low-balance.js';
import { UnsolidDeposits1760000000036 } from './migrations/0036-unsolid-deposits.js';
import { DepositMovements1760000000037 } from './migrations/0037-deposit-movements.js';
import { ChainCosts1760000000038 } from './migrations/0038-chain-costs.js';
import { LedgerTime1760000000039 } from './migrations/0039-ledger-time.js';
import { Statements1760000000040 } from './migrations/0040-statements.js';
import { Extensions1760000000041 } from './migrations/0041-extensions.js';
import { OrderKeys1760000000042 } from './migrations/0042-order-keys.js';
import { DatabaseHosts } from './database-hosts.js';
import { HostsClient } from './hosts-client.js';
import { PINNED_OPTIONS } from './session-settings.js';
import { AutoDelegations1760000000043 } from './migrations/0043-auto-delegations.js';
import { TestProjects1760000000044 } from './migrations/0044-test-projects.js';
import { OrderFields1760000000045 } from './migrations/0045-order-fields.js';
import { ConsolePeople1760000000046 } from './migrations/0046-console-people.js';
import { ConsoleRows1760000000047 } from './migrations/0047-console-rows.js';
import { RefillsInTurn1760000000049 } from './migrations/0049-refills-in-turn.js';
import { JudgedLabels1760000000050 } from './migrations/0050-judged-labels.js';
import { RecentSources1760000000051 } from './migrations/0051-recent-sources.js';
import { CreditRequests1760000000052 } from './migrations/0052-credit-requests.js';
import { SeenAsItIs1760000000053 } from './migrations/0053-seen-as-it-is.js';
import { OrdersAttention1760000000054 } from './migrations/0054-orders-attention.js';
import { FirstCheck1760000000055 } from './migrations/0055-first-check.js';
import { OrderReplays1760000000056 } from './migrations/0056-order-replays.js';
import { ReceiverEnergy1760000000057 } from './migrations/0057-receiver-energy.js';
import { Notifications1760000000058 } from './migrations/0058-notifications.js';
import { UnresolvedOrders1760000000059 } from './migrations/0059-unresolved-orders.js';
import { DeliveriesInOrder1760000000060 } from './migrations/0060-deliveries-in-order.js';
import { DepositOutflows1760000000061 } from './migrations/0061-deposit-outflows.js';
import { OwnReturns1760000000062 } from './migrations/0062-own-returns.js';
import { ConsoleMemberships1760000000063 } from './migrations/0063-console-memberships.js';
import { WaitingDeliveries1760000000064 } from './migrations/0064-waiting-deliveries.js';
import { UnrevokedKeys1760000000065 } from './migrations/0065-unrevoked-keys.js';
import { SmallSums1760000000066 } from './migrations/0066-small-sums.js';
import { ArchivedColumn1760000000067 } from './migrations/0067-archived-column.js';
import { Archive1760000000068 } from './migrations/0068-archive.js';
import { ArchiveGuards1760000000069 } from './migrations/0069-archive-guards.js';
import { UsageLosses1760000000070 } from './migrations/0070-usage-losses.js';
import { DepositToken1760000000073 } from './migrations/0073-deposit-token.js';
import { TokenState1760000000074 } from './migrations/0074-token-state.js';
import { BoundedWebhooks1760000000075 } from './migrations/0075-bounded-webhooks.js';
import { FollowedClock1760000000076 } from './migrations/0076-followed-clock.js';
import { ProvenAddresses1760000000078 } from './migrations/0078-proven-addresses.js';
import { LaterNotifications1760000000079 } from './migrations/0079-later-notifications.js';
import { DepositSums1760000000083 } from './migrations/0083-deposit-sums.js';
import { DepositPlaces1760000000084 } from './migrations/0084-deposit-places.js';
import { KeptRates1760000000085 } from './migrations/0085-kept-rates.js';
import { MaskedUrls1760000000091 } from './migrations/0091-masked-urls.js';

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

/** Each says its name itself: TypeORM would else go by the class's, which is another one in a bundle, and run it again. */
const MIGRATIONS: readonly (new () => MigrationInterface & { readonly name: string })[] = [
  Initial1760000000001,
  Reconciling1760000000002,
  KeptRows1760000000003,
  Capacity1760000000004,
  ForeignActs1760000000005,
  Delivery1760000000007,
  CanariesClock1760000000008,
  JudgedOnce1760000000009,
  LeastRights1760000000010,
  Refusals1760000000011,
  AuditRoles1760000000012,
  Signatures1760000000013,
  ApiKeys1760000000014,
  KeyCaps1760000000015,
  Events1760000000020,
  UnsearchedBlocks1760000000025,
  Webhooks1760000000027,
  RefusedRequests1760000000028,
  Deposits1760000000031,
  RefusedTogether1760000000032,
  LowBalance1760000000035,
  UnsolidDeposits1760000000036,
  DepositMovements1760000000037,
  ChainCosts1760000000038,
  LedgerTime1760000000039,
  Statements1760000000040,
  Extensions1760000000041,
  OrderKeys1760000000042,
  AutoDelegations1760000000043,
  TestProjects1760000000044,
  OrderFields1760000000045,
  ConsolePeople1760000000046,
  ConsoleRows1760000000047,
  RefillsInTurn1760000000049,
  JudgedLabels1760000000050,
  RecentSources1760000000051,
  CreditRequests1760000000052,
  SeenAsItIs1760000000053,
  OrdersAttention1760000000054,
  FirstCheck1760000000055,
  OrderReplays1760000000056,
  ReceiverEnergy1760000000057,
  Notifications1760000000058,
  UnresolvedOrders1760000000059,
  DeliveriesInOrder1760000000060,
  DepositOutflows1760000000061,
  OwnReturns1760000000062,
  ConsoleMemberships1760000000063,
  WaitingDeliveries1760000000064,
  UnrevokedKeys1760000000065,
  SmallSums1760000000066,
  ArchivedColumn1760000000067,
  Archive1760000000068,
  ArchiveGuards1760000000069,
  UsageLosses1760000000070,
  DepositToken1760000000073,
  TokenState1760000000074,
  BoundedWebhooks1760000000075,
  FollowedClock1760000000076,
  ProvenAddresses1760000000078,
  LaterNotifications1760000000079,
  DepositSums1760000000083,
  DepositPlaces1760000000084,
  KeptRates1760000000085,
  MaskedUrls1760000000091,
];

/** What the table `migrations` holds when the schema is this version's. */
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
    migrations: [...MIGRATIONS],
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

/** How the connections of a data source are made, and what they may do. */
interface Ways {
  /** What its connections choose among. */
  readonly hosts: DatabaseHosts;
  /** The same past a pooler, for a session of one's own. */
  readonly direct: DatabaseHosts;
  /** Where reads may go that may be a moment old; not yet connected. */
  readonly replica: DataSource | undefined;
  readonly lagMaxMs: number;
  /** Whether statements are prepared by their names. */
  readonly isNaming: boolean;
}

export function waysOf(source: DataSource): Ways {
  return (source.options as unknown as { readonly extra: Ways }).extra;
}
