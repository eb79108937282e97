import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/billing.module.js';
import { Broadcast } from '../store/entities/broadcast.entity.js';
import { ChainTx } from '../store/entities/chain-tx.entity.js';
import { Event } from '../store/entities/event.entity.js';
import { Leg } from '../store/entities/leg.entity.js';
import { OrderExtension } from '../store/entities/order-extension.entity.js';
import { Order } from '../store/entities/order.entity.js';
import { PoolWallet } from '../store/entities/pool-wallet.entity.js';
import { ReclaimUsage } from '../store/entities/reclaim-usage.entity.js';
import { OrderHistory } from './order-history.js';

@Module({
  imports: [
    BillingModule,
    TypeOrmModule.forFeature([Order, Leg, ChainTx, Broadcast, Event, OrderExtension, PoolWallet, ReclaimUsage]),
  ],
  providers: [OrderHistory],
  exports: [OrderHistory],
})
export class OrderHistoryModule {}
