/** Wires the one follower of solid blocks with all of its consumers. */
import { Module } from '@nestjs/common';
import { AutoDelegationsWorkerModule } from './auto-delegations/auto-delegations-worker.module.js';
import { UseObserver } from './auto-delegations/use-observer.js';
import { BLOCK_CONSUMERS, BLOCK_SEARCH, type BlockConsumer } from './blocks/block-consumer.js';
import { BlockFollower } from './blocks/block-follower.js';
import { BlocksModule } from './blocks/blocks.module.js';
import { CostRecorder } from './costs/cost-recorder.js';
import { CostsModule } from './costs/costs.module.js';
import { DepositReader } from './deposits/deposit-reader.js';
import { DepositsWorkerModule } from './deposits/deposits-worker.module.js';
import { FulfilmentModule } from './fulfilment/fulfilment.module.js';
import { UnrecordedSearch } from './reconciliation/unrecorded-search.js';

@Module({
  imports: [AutoDelegationsWorkerModule, BlocksModule, CostsModule, DepositsWorkerModule, FulfilmentModule],
  providers: [
    BlockFollower,
    { provide: BLOCK_SEARCH, useExisting: UnrecordedSearch },
    {
      provide: BLOCK_CONSUMERS,
      // Balances must be locked last, so deposits come after costs.
      useFactory: (...consumers: readonly BlockConsumer[]) => consumers,
      inject: [CostRecorder, UseObserver, DepositReader],
    },
  ],
  exports: [BlockFollower, DepositsWorkerModule],
})
export class BlockFollowingModule {}
