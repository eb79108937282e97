import { Module } from '@nestjs/common';
import { AutoDelegationsWorkerModule } from '../auto-delegations/auto-delegations-worker.module.js';
import { BlocksModule } from '../../platform/blocks/blocks.module.js';
import { EventsModule } from '../events/events.module.js';
import { BillingModule } from '../billing/billing.module.js';
import { PoolModule } from '../pool/pool.module.js';
import { SigningModule } from '../pool/signing.module.js';
import { History } from '../../platform/chain/history.js';
import { Database } from '../../platform/database/database.js';
import { historyFromRecords } from '../verify/final-transactions.js';
import { DeliveryCheck } from './plan/delivery-check.js';
import { BlockReader } from './follow/block-reader.js';
import { Broadcaster } from './send/broadcaster.js';
import { ClockWatch } from './loop/clock-watch.js';
import { ChainView } from './follow/chain-view.js';
import { OrderTermination } from './plan/order-termination.js';
import { Follower } from './follow/follower.js';
import { ForeignUndelegations } from '../reconciliation/foreign-undelegations.js';
import { ExpiredTransactions } from './loop/expired-transactions.js';
import { OrderAdvancer } from './loop/order-advancer.js';
import { Inclusion } from './follow/inclusion.js';
import { JudgedRecords } from '../reconciliation/judged-records.js';
import { StartupGate } from './loop/startup-gate.js';
import { NodeGauges } from '../reconciliation/node-gauges.js';
import { OrdersProcessor } from './loop/orders.processor.js';
import { TransactionSender } from './send/transaction-sender.js';
import { FulfilmentEvents } from './fulfilment-events.js';
import { Proofs } from './send/proof.js';
import { Pruning } from './loop/pruning.js';
import { ReceiverEnergy } from './follow/receiver-energy.js';
import { RecentActs } from './follow/recent-acts.js';
import { ReclaimGuard } from './plan/reclaim-guard.js';
import { ReclaimReadings } from './plan/reclaim-readings.js';
import { BackupRecovery } from '../reconciliation/backup-recovery.js';
import { Reconciler } from '../reconciliation/reconciler.js';
import { OrphanReclaims } from '../reconciliation/orphan-reclaims.js';
import { ReconcilerGauges } from '../reconciliation/reconciler-gauges.js';
import { SearchedBlocks } from '../reconciliation/searched-blocks.js';
import { UnrecordedSearch } from '../reconciliation/unrecorded-search.js';
import { FulfilmentLoop } from './loop/fulfilment-loop.js';
import { Settlement } from './follow/settlement.js';
import { TransactionLog } from './send/transaction-log.js';
import { FulfilmentGauges } from './fulfilment-gauges.js';
import { WalletHealth } from './send/wallet-health.js';
import { WorkerLoops } from './worker-loops.js';
import { OrderClaims } from './loop/order-claims.js';

@Module({
  imports: [AutoDelegationsWorkerModule, BillingModule, BlocksModule, EventsModule, PoolModule, SigningModule],
  providers: [
    DeliveryCheck,
    BlockReader,
    { provide: History, useFactory: historyFromRecords, inject: [Database] },
    Broadcaster,
    ChainView,
    OrderTermination,
    Follower,
    ForeignUndelegations,
    ExpiredTransactions,
    OrderAdvancer,
    Inclusion,
    JudgedRecords,
    StartupGate,
    NodeGauges,
    OrdersProcessor,
    OrphanReclaims,
    SearchedBlocks,
    UnrecordedSearch,
    TransactionSender,
    FulfilmentEvents,
    Proofs,
    Pruning,
    RecentActs,
    ReceiverEnergy,
    ReclaimGuard,
    ReclaimReadings,
    BackupRecovery,
    Reconciler,
    ReconcilerGauges,
    FulfilmentLoop,
    Settlement,
    TransactionLog,
    FulfilmentGauges,
    WalletHealth,
    OrderClaims,
    ClockWatch,
    WorkerLoops,
  ],
  exports: [UnrecordedSearch],
})
export class FulfilmentModule {}
