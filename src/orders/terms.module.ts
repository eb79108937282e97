/** Wires what an order costs and whether its receiver can take it: for the API, and for the worker that buys. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PricingModule } from '../quotes/pricing.module.js';
import { PoolWallet } from '../store/entities/pool-wallet.entity.js';
import { DirectTerms } from './direct-terms.js';
import { ReceiverCheck } from './receiver.js';

@Module({
  imports: [PricingModule, TypeOrmModule.forFeature([PoolWallet])],
  providers: [DirectTerms, ReceiverCheck],
  exports: [PricingModule, DirectTerms, ReceiverCheck],
})
export class TermsModule {}
