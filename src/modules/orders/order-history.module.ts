import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/billing.module.js';
import { Broadcast } from '../../platform/database/entities/broadcast.entity.js';
import { ChainTx } from '../../platform/database/entities/chain-tx.entity.js';
import { Event } from '../../platform/database/entities/event.entity.js';
import { Leg } from '../../platform/database/entities/leg.entity.js';
import { OrderExtension } from '../../platform/database/entities/order-extension.entity.js';
import { Order } from '../../platform/database/entities/order.entity.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { ReclaimUsage } from '../../platform/database/entities/reclaim-usage.entity.js';
import { RentalUse } from '../../platform/database/entities/rental-use.entity.js';
import { OrderHistory } from './order-history.js';

@Module({
  imports: [
    BillingModule,
    TypeOrmModule.forFeature([
      Order,
      Leg,
      ChainTx,
      Broadcast,
      Event,
      OrderExtension,
      PoolWallet,
      ReclaimUsage,
      RentalUse,
    ]),
  ],
  providers: [OrderHistory],
  exports: [OrderHistory],
})
export class OrderHistoryModule {}
