/** Wires the one follower of solid blocks with all of its consumers. */
import { Module } from '@nestjs/common';
import { AutoDelegationsWorkerModule } from '../../modules/auto-delegations/auto-delegations-worker.module.js';
import { UseObserver } from '../../modules/auto-delegations/use-observer.js';
import { BLOCK_CONSUMERS, BLOCK_SEARCH, type BlockConsumer } from '../../platform/blocks/block-consumer.js';
import { BlockFollower } from '../../platform/blocks/block-follower.js';
import { BlocksModule } from '../../platform/blocks/blocks.module.js';
import { CostRecorder } from '../../modules/costs/cost-recorder.js';
import { CostsModule } from '../../modules/costs/costs.module.js';
import { DepositReader } from '../../modules/deposits/deposit-reader.js';
import { DepositsWorkerModule } from '../../modules/deposits/deposits-worker.module.js';
import { FulfilmentModule } from '../../modules/fulfilment/fulfilment.module.js';
import { RentalUseRecorder } from '../../modules/savings/rental-use-recorder.js';
import { SavingsModule } from '../../modules/savings/savings.module.js';
import { UnrecordedSearch } from '../../modules/reconciliation/unrecorded-search.js';

@Module({
  imports: [
    AutoDelegationsWorkerModule,
    BlocksModule,
    CostsModule,
    DepositsWorkerModule,
    FulfilmentModule,
    SavingsModule,
  ],
  providers: [
    BlockFollower,
    { provide: BLOCK_SEARCH, useExisting: UnrecordedSearch },
    {
      provide: BLOCK_CONSUMERS,
      // Balances must be locked last, so deposits come after costs.
      useFactory: (...consumers: readonly BlockConsumer[]) => consumers,
      inject: [CostRecorder, UseObserver, RentalUseRecorder, DepositReader],
    },
  ],
  exports: [BlockFollower, DepositsWorkerModule],
})
export class BlockFollowingModule {}
