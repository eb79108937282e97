/** Wires deposits for processes that hand out addresses, list deposits, or decide on held ones. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/billing.module.js';
import { BlocksModule } from '../../platform/blocks/blocks.module.js';
import { DepositAddress } from '../../platform/database/entities/deposit-account.entity.js';
import { Deposit } from '../../platform/database/entities/deposit.entity.js';
import { Blacklist } from './blacklist.js';
import { DepositAudit } from './deposit-audit.js';
import { DepositReturns } from './deposit-returns.js';
import { HeldDeposits } from './held-deposits.js';
import { Holdings } from './holdings.js';
import { Rescan } from './rescan.js';
import { SmallDeposits } from './small-deposits.js';
import { Sweeps } from './sweeps.js';
import { DepositAddressesModule } from './deposit-addresses.module.js';
import { DepositBook } from './deposit-book.js';
import { DepositJudge } from './deposit-judge.js';
import { DepositList } from './deposit-list.js';
import { DepositTransfers } from './deposit-transfers.js';
import { IgnoredTransferList } from './ignored-transfers.js';
import { RateHistory } from './rate-history.js';
import { TokenSuccession } from './token-succession.js';
import { TransferTrials } from './transfer-trials.js';

@Module({
  imports: [BillingModule, BlocksModule, DepositAddressesModule, TypeOrmModule.forFeature([Deposit, DepositAddress])],
  providers: [
    Blacklist,
    DepositAudit,
    DepositBook,
    DepositJudge,
    DepositList,
    DepositReturns,
    DepositTransfers,
    HeldDeposits,
    Holdings,
    IgnoredTransferList,
    RateHistory,
    Rescan,
    SmallDeposits,
    Sweeps,
    TokenSuccession,
    TransferTrials,
  ],
  exports: [
    DepositAddressesModule,
    DepositAudit,
    DepositBook,
    DepositList,
    DepositReturns,
    IgnoredTransferList,
    Rescan,
    Sweeps,
    TokenSuccession,
  ],
})
export class DepositsModule {}
