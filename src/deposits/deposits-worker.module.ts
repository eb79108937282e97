/** Wires what takes deposits from solid blocks, for workers. */
import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { BlocksModule } from '../blocks/blocks.module.js';
import { DepositBook } from './deposit-book.js';
import { DepositGauges } from './deposit-gauges.js';
import { DepositReader } from './deposit-reader.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';
import { HeadSightings } from './head-sightings.js';
import { RateHistory } from './rate-history.js';
import { RateRecorder } from './rate-recorder.js';

@Module({
  imports: [BillingModule, BlocksModule],
  providers: [
    DepositBook,
    DepositGauges,
    DepositReader,
    DepositTerms,
    DepositTokens,
    HeadSightings,
    RateHistory,
    RateRecorder,
  ],
  exports: [DepositGauges, DepositReader, DepositTokens],
})
export class DepositsWorkerModule {}
