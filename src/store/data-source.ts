/** How a process reaches Postgres: one pool, bounded in size and in every wait. */
import { DataSource, type MigrationInterface } from 'typeorm';
import { ApiKey } from './entities/api-key.entity.js';
import { AuditEntry } from './entities/audit-entry.entity.js';
import { Broadcast } from './entities/broadcast.entity.js';
import { ChainTx } from './entities/chain-tx.entity.js';
import { ClockMark } from './entities/clock-mark.entity.js';
import { AssetRate } from './entities/asset-rate.entity.js';
import { CreditAccount } from './entities/credit-account.entity.js';
import { CreditEntry } from './entities/credit-entry.entity.js';
import { DepositAccount, DepositAddress } from './entities/deposit-account.entity.js';
import { DepositMovement, DepositReturn, DepositSweepAddress } from './entities/deposit-movement.entity.js';
import { Deposit, DepositCursor, IgnoredTransfer } from './entities/deposit.entity.js';
import { EventNumbering, EventPosition } from './entities/event-position.entity.js';
import { Event } from './entities/event.entity.js';
import { ExplainedFinding } from './entities/explained-finding.entity.js';
import { KeyCanary } from './entities/key-canary.entity.js';
import { JudgedCredits, JudgedEntries } from './entities/judged.entity.js';
import { Leg } from './entities/leg.entity.js';
import { MarketState } from './entities/market-state.entity.js';
import { Order } from './entities/order.entity.js';
import { OrderExtension, OrderKey } from './entities/order-extension.entity.js';
import { OrphanTx } from './entities/orphan-tx.entity.js';
import { PoolSlot } from './entities/pool-slot.entity.js';
import { PoolWallet } from './entities/pool-wallet.entity.js';
import { PoolWalletDay } from './entities/pool-wallet-day.entity.js';
import { PriceRow } from './entities/price-row.entity.js';
import { Project } from './entities/project.entity.js';
import { ReconcileState } from './entities/reconcile-state.entity.js';
import { RefusedRequest } from './entities/refused-request.entity.js';
import { RequestNonce } from './entities/request-nonce.entity.js';
import { SalesStop } from './entities/sales-stop.entity.js';
import { LedgerStatement, StatementMonth } from './entities/statement.entity.js';
import { UnsearchedBlock } from './entities/unsearched-block.entity.js';
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

/** Every table as an entity without relations, for plain reads and writes; money and state are written by SQL alone. */
const ENTITIES = [
  ApiKey,
  AssetRate,
  AuditEntry,
  Broadcast,
  ChainTx,
  ClockMark,
  CreditAccount,
  CreditEntry,
  Deposit,
  DepositAccount,
  DepositAddress,
  DepositCursor,
  DepositMovement,
  DepositReturn,
  DepositSweepAddress,
  Event,
  EventNumbering,
  EventPosition,
  ExplainedFinding,
  KeyCanary,
  IgnoredTransfer,
  JudgedCredits,
  JudgedEntries,
  LedgerStatement,
  Leg,
  MarketState,
  Order,
  OrderExtension,
  OrderKey,
  OrphanTx,
  PoolSlot,
  PoolWallet,
  PoolWalletDay,
  PriceRow,
  Project,
  ReconcileState,
  RefusedRequest,
  RequestNonce,
  SalesStop,
  StatementMonth,
  UnsearchedBlock,
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
];

/** What the table `migrations` holds when the schema is this version's. */
export const MIGRATION_NAMES: readonly string[] = MIGRATIONS.map((Migration) => new Migration().name);

const QUERY_GRACE_MS = 2000;

interface DataSourceOptions {
  readonly url: string;
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
  return new DataSource({
    type: 'postgres',
    url: options.url,
    entities: ENTITIES,
    migrations: [...MIGRATIONS],
    migrationsTransactionMode: 'each',
    applicationName: options.applicationName,
    extra: {
      max: options.poolMax,
      // pg waits for ever by default, for a connection as for a free place in the pool.
      connectionTimeoutMillis: 2000,
      idleTimeoutMillis: 30_000,
      // Beyond the server's own limit: for a connection that went silent, which the pool then throws away.
      ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + QUERY_GRACE_MS }),
      keepAlive: true,
      // A request waits up to 10 s for the first of its key (docs/interface.md §10); its statement may take longer.
      options: [
        `-c statement_timeout=${statementTimeoutMs.toString()}`,
        `-c lock_timeout=${(options.lockTimeoutMs ?? 10_000).toString()}`,
        '-c idle_in_transaction_session_timeout=10000',
        '-c timezone=UTC',
        ...(options.actsAs === undefined ? [] : [`-c role=${options.actsAs}`]),
      ].join(' '),
    },
  });
}
