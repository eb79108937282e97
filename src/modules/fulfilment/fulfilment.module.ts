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
import { NetworkRatio } from './follow/network-ratio.js';
import { NewBlocks } from './follow/new-blocks.js';
import { SolidHeads } from './follow/solid-heads.js';
import { ForeignUndelegations } from '../reconciliation/foreign-undelegations.js';
import { ExpiredTransactions } from './advance/expired-transactions.js';
import { FoundTransactions } from './advance/found-transactions.js';
import { MissingTransactions } from './advance/missing-transactions.js';
import { OrderAdvancer } from './advance/order-advancer.js';
import { PassPlanner } from './advance/pass-planner.js';
import { ReclaimChecks } from './advance/reclaim-checks.js';
import { RecordedTransactions } from './advance/recorded-transactions.js';
import { SentTransactions } from './advance/sent-transactions.js';
import { TopUps } from './advance/top-ups.js';
import { UndeliveredOrders } from './advance/undelivered-orders.js';
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
import { ChainSearch } from '../reconciliation/chain-search.js';
import { ReconciliationLease } from '../reconciliation/reconciliation-lease.js';
import { ReportActions } from '../reconciliation/report-actions.js';
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
import { WalletLoops } from './wallet-loops.js';
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
    NetworkRatio,
    NewBlocks,
    SolidHeads,
    ForeignUndelegations,
    ExpiredTransactions,
    FoundTransactions,
    MissingTransactions,
    OrderAdvancer,
    PassPlanner,
    ReclaimChecks,
    RecordedTransactions,
    SentTransactions,
    TopUps,
    UndeliveredOrders,
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
    ChainSearch,
    ReconciliationLease,
    ReportActions,
    Reconciler,
    ReconcilerGauges,
    FulfilmentLoop,
    Settlement,
    TransactionLog,
    FulfilmentGauges,
    WalletHealth,
    OrderClaims,
    ClockWatch,
    WalletLoops,
    WorkerLoops,
  ],
  exports: [UnrecordedSearch],
})
export class FulfilmentModule {}
