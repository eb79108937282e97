/** Wires deposits for who gives out addresses, lists what was paid, or decides on what is held. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/billing.module.js';
import { DepositAddress } from '../store/entities/deposit-account.entity.js';
import { Deposit } from '../store/entities/deposit.entity.js';
import { DepositAddresses } from './deposit-addresses.js';
import { DepositBook } from './deposit-book.js';
import { DepositList } from './deposit-list.js';
import { DepositTerms } from './deposit-terms.js';
import { RateHistory } from './rate-history.js';
import { WitnessedBlocks } from './witnessed-blocks.js';

@Module({
  imports: [BillingModule, TypeOrmModule.forFeature([Deposit, DepositAddress])],
  providers: [DepositAddresses, DepositBook, DepositList, DepositTerms, RateHistory, WitnessedBlocks],
  exports: [DepositAddresses, DepositBook, DepositList, DepositTerms],
})
export class DepositsModule {}
