/** Wires pricing without its endpoint, for the API and the worker. Needs the platform's providers. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Rates } from '../billing/rates.js';
import { SaleBounds } from '../http/body/member-rules.js';
import { PoolWallet } from '../store/entities/pool-wallet.entity.js';
import { Market } from './market.js';
import { QuotesService } from './quotes.service.js';
import { Receivers } from './receivers.js';
import { SalesTerms } from './sales-terms.js';

@Module({
  imports: [TypeOrmModule.forFeature([PoolWallet])],
  providers: [Rates, Market, SalesTerms, { provide: SaleBounds, useExisting: SalesTerms }, Receivers, QuotesService],
  exports: [Rates, Market, SalesTerms, SaleBounds, QuotesService],
})
export class PricingModule {}
