import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { PoolModule } from '../pool/pool.module.js';
import { History } from '../chain/history.js';
import { Database } from '../store/database.js';
import { historyByBooks } from '../verify/final-transactions.js';
import { ActivationCheck } from './activation-check.js';
import { BlockReader } from './block-reader.js';
import { Broadcaster } from './broadcast.js';
import { ClockWatch } from './clock-watch.js';
import { ChainView } from './chain-view.js';
import { Ending } from './ending.js';
import { Follower } from './follower.js';
import { ForeignEnds } from './foreign-ends.js';
import { Fulfiller } from './fulfiller.js';
import { Inclusion } from './inclusion.js';
import { Judgements } from './judgements.js';
import { KnownPast } from './known-past.js';
import { NodeFigures } from './node-figures.js';
import { OrdersProcessor } from './orders.processor.js';
import { Outbound } from './outbound.js';
import { Progress } from './progress.js';
import { Proofs } from './proof.js';
import { Pruning } from './pruning.js';
import { RecentActs } from './recent-acts.js';
import { ReclaimGuard } from './reclaim-guard.js';
import { Recollection } from './recollection.js';
import { Reconciler } from './reconciler.js';
import { ReconcilerFigures } from './reconciler-figures.js';
import { Orphans } from './reconciler-orphans.js';
import { Runner } from './runner.js';
import { Settlement } from './settlement.js';
import { TransactionLog } from './transaction-log.js';
import { Vitals } from './vitals.js';
import { WalletHealth } from './wallet-health.js';
import { Work } from './work.js';

@Module({
  imports: [BillingModule, PoolModule],
  providers: [
    ActivationCheck,
    BlockReader,
    { provide: History, useFactory: historyByBooks, inject: [Database] },
    Broadcaster,
    ChainView,
    Ending,
    Follower,
    ForeignEnds,
    Fulfiller,
    Inclusion,
    Judgements,
    KnownPast,
    NodeFigures,
    OrdersProcessor,
    Orphans,
    Outbound,
    Progress,
    Proofs,
    Pruning,
    RecentActs,
    ReclaimGuard,
    Recollection,
    Reconciler,
    ReconcilerFigures,
    Runner,
    Settlement,
    TransactionLog,
    Vitals,
    WalletHealth,
    Work,
    ClockWatch,
  ],
  exports: [OrdersProcessor, Runner, Pruning, Reconciler, Vitals, WalletHealth],
})
export class FulfilmentModule {}
