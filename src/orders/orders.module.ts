/** Wires orders. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/billing.module.js';
import { QuotesModule } from '../quotes/quotes.module.js';
import { PoolWallet } from '../store/entities/pool-wallet.entity.js';
import { Acceptance } from './acceptance.js';
import { ExtensionsController } from './extensions.controller.js';
import { ExtensionsService } from './extensions.service.js';
import { KeyCache } from './key-cache.js';
import { OrdersByKey } from './order-rows.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { PurchaseTurns } from './purchase-turns.js';
import { ReceiverCheck } from './receiver.js';
import { RefusedLately } from './refused-lately.js';
import { OrderWaits } from './waits.js';

@Module({
  imports: [BillingModule, QuotesModule, TypeOrmModule.forFeature([PoolWallet])],
  controllers: [OrdersController, ExtensionsController],
  providers: [
    Acceptance,
    ExtensionsService,
    KeyCache,
    OrdersByKey,
    OrdersService,
    OrderWaits,
    PurchaseTurns,
    ReceiverCheck,
    RefusedLately,
  ],
  exports: [Acceptance, OrdersService, OrderWaits, ReceiverCheck],
})
export class OrdersModule {}
