/** Wires pricing and the receiver check, for the API and for the worker that buys refills. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PricingModule } from '../quotes/pricing.module.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { DirectTerms } from './direct-terms.js';
import { ReceiverCheck } from './receiver.js';

@Module({
  imports: [PricingModule, TypeOrmModule.forFeature([PoolWallet])],
  providers: [DirectTerms, ReceiverCheck],
  exports: [PricingModule, DirectTerms, ReceiverCheck],
})
export class TermsModule {}
