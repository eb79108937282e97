/** Wires the pool: chain readings, holds on sales, and the operator's changes. Signs nothing. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ExplainedFinding } from '../../platform/database/entities/explained-finding.entity.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { SalesStop } from '../../platform/database/entities/sales-stop.entity.js';
import { LegEnds } from './leg-ends.js';
import { PoolSync } from './pool-sync.js';
import { PoolWallets } from './pool-wallets.js';
import { SalesHold } from './sales-hold.js';

@Module({
  imports: [TypeOrmModule.forFeature([ExplainedFinding, PoolWallet, SalesStop])],
  providers: [PoolSync, SalesHold, PoolWallets, LegEnds],
  exports: [PoolSync, SalesHold, PoolWallets, LegEnds],
})
export class PoolModule {}
