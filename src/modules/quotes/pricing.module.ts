/** Wires pricing without its endpoint, for the API and the worker. Needs the platform's providers. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Rates } from '../billing/rates.js';
import { SaleBounds } from '../../platform/http/body/member-rules.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { Market } from './market.js';
import { QuotesService } from './quotes.service.js';
import { Receivers } from './receivers.js';
import { SalesTerms } from './sales-terms.js';
import { TokenCausesModule } from './token-causes.module.js';
import { TransferSizing } from './transfer-sizing.js';

@Module({
  imports: [TypeOrmModule.forFeature([PoolWallet]), TokenCausesModule],
  providers: [
    Rates,
    Market,
    SalesTerms,
    { provide: SaleBounds, useExisting: SalesTerms },
    Receivers,
    TransferSizing,
    QuotesService,
  ],
  exports: [Rates, Market, SalesTerms, SaleBounds, TransferSizing, QuotesService],
})
export class PricingModule {}
