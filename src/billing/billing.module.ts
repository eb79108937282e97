/** Wires the ledger and the rates that are held back. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CreditEntry } from '../store/entities/credit-entry.entity.js';
import { HeldRates } from './held-rates.js';
import { Ledger } from './ledger.js';

@Module({
  imports: [TypeOrmModule.forFeature([CreditEntry])],
  providers: [Ledger, HeldRates],
  exports: [Ledger, HeldRates],
})
export class BillingModule {}
