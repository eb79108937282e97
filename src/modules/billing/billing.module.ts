/** Wires the ledger, credit requests and held rates. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CreditEntry } from '../../platform/database/entities/credit-entry.entity.js';
import { CreditRequest } from '../../platform/database/entities/credit-request.entity.js';
import { CreditRequests } from './credit-requests.js';
import { HeldRates } from './held-rates.js';
import { Ledger } from './ledger.js';

@Module({
  imports: [TypeOrmModule.forFeature([CreditEntry, CreditRequest])],
  providers: [CreditRequests, Ledger, HeldRates],
  exports: [CreditRequests, Ledger, HeldRates],
})
export class BillingModule {}
