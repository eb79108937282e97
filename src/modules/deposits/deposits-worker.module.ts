/** Wires the intake of deposits from solid blocks, for workers. */
import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { BlocksModule } from '../../platform/blocks/blocks.module.js';
import { Blacklist } from './blacklist.js';
import { DepositBook } from './deposit-book.js';
import { DepositJudge } from './deposit-judge.js';
import { DepositGauges } from './deposit-gauges.js';
import { DepositReader } from './deposit-reader.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';
import { HeldDeposits } from './held-deposits.js';
import { UnconfirmedDeposits } from './unconfirmed-deposits.js';
import { RateHistory } from './rate-history.js';
import { RateRecorder } from './rate-recorder.js';
import { SmallDeposits } from './small-deposits.js';
import { TokenWatch } from './token-watch.js';

@Module({
  imports: [BillingModule, BlocksModule],
  providers: [
    Blacklist,
    DepositBook,
    DepositJudge,
    DepositGauges,
    DepositReader,
    DepositTerms,
    DepositTokens,
    HeldDeposits,
    UnconfirmedDeposits,
    RateHistory,
    RateRecorder,
    SmallDeposits,
    TokenWatch,
  ],
  exports: [DepositGauges, DepositReader, DepositTokens, TokenWatch],
})
export class DepositsWorkerModule {}
