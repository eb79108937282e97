/** Wires what reads blocks for deposits, for workers. */
import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { DepositBook } from './deposit-book.js';
import { DepositFollower } from './deposit-follower.js';
import { DepositGauges } from './deposit-gauges.js';
import { DepositTerms } from './deposit-terms.js';
import { HeadSightings } from './head-sightings.js';
import { RateHistory } from './rate-history.js';
import { RateRecorder } from './rate-recorder.js';
import { WitnessedBlocks } from './witnessed-blocks.js';

@Module({
  imports: [BillingModule],
  providers: [
    DepositBook,
    DepositFollower,
    DepositGauges,
    DepositTerms,
    HeadSightings,
    RateHistory,
    RateRecorder,
    WitnessedBlocks,
  ],
  exports: [DepositFollower, DepositGauges],
})
export class DepositsWorkerModule {}
