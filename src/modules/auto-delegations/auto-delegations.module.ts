/** Wires the settings of auto-delegations for the operator's commands, which serve no requests. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ReceiverCheck } from '../orders/receiver.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { AutoDelegations } from './auto-delegations.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([PoolWallet])],
  providers: [AutoDelegations, ReceiverCheck],
  exports: [AutoDelegations],
})
export class AutoDelegationsModule {}
