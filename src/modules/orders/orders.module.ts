import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { QuotesModule } from '../quotes/quotes.module.js';
import { Acceptance } from './acceptance.js';
import { ChargeRefusals } from './charge-refusals.js';
import { ExtensionsController } from './extensions.controller.js';
import { ExtensionsService } from './extensions.service.js';
import { KeyCache } from './key-cache.js';
import { OrderList } from './order-list.js';
import { OrdersByKey } from './order-rows.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { PurchaseQueue } from './purchase-queue.js';
import { TermsModule } from './terms.module.js';
import { RefusalThrottle } from './refusal-throttle.js';
import { ReplayCounts } from './replay-counts.js';
import { OrderWaits } from './waits.js';

@Module({
  imports: [BillingModule, QuotesModule, TermsModule],
  controllers: [OrdersController, ExtensionsController],
  providers: [
    Acceptance,
    ChargeRefusals,
    ExtensionsService,
    KeyCache,
    OrderList,
    OrdersByKey,
    OrdersService,
    OrderWaits,
    PurchaseQueue,
    RefusalThrottle,
    ReplayCounts,
  ],
  exports: [Acceptance, OrdersService, OrderWaits, TermsModule],
})
export class OrdersModule {}
