/** Wires deposit addresses, terms and tokens for processes that ask no node. deposits.module.ts wires the intake. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BlockCursor } from '../../platform/blocks/block-cursor.js';
import { DepositAddress } from '../../platform/database/entities/deposit-account.entity.js';
import { DepositAddresses } from './deposit-addresses.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';

@Module({
  imports: [TypeOrmModule.forFeature([DepositAddress])],
  providers: [BlockCursor, DepositAddresses, DepositTerms, DepositTokens],
  exports: [DepositAddresses, DepositTerms, DepositTokens],
})
export class DepositAddressesModule {}
