import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { QuotesModule } from '../quotes/quotes.module.js';
import { ActivationTerms } from './activation-terms.js';
import { ChargeRefusals } from './refusals.js';
import { ExtensionsController } from './extensions.controller.js';
import { ExtensionsService } from './extensions.service.js';
import { KeyCache } from './key-cache.js';
import { OrderAnnouncements } from './order-announcements.js';
import { OrderAnswers } from './order-answers.js';
import { OrderCommits } from './order-commits.js';
import { OrderList } from './order-list.js';
import { OrderPricing } from './order-pricing.js';
import { OrdersByKey } from './order-rows.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { PurchaseOutcomes } from './purchase-outcomes.js';
import { PurchaseQueue } from './purchase-queue.js';
import { QuotedTerms } from './quoted-terms.js';
import { RefusalThrottle } from './refusal-throttle.js';
import { ReplayCounts } from './replay-counts.js';
import { Replays } from './replays.js';
import { StatementRepeater } from './statement-repeater.js';
import { TermsModule } from './terms.module.js';
import { OrderWaits } from './order-waits.js';

@Module({
  imports: [BillingModule, QuotesModule, TermsModule],
  controllers: [OrdersController, ExtensionsController],
  providers: [
    ActivationTerms,
    ChargeRefusals,
    ExtensionsService,
    KeyCache,
    OrderAnnouncements,
    OrderAnswers,
    OrderCommits,
    OrderList,
    OrderPricing,
    OrdersByKey,
    OrdersService,
    OrderWaits,
    PurchaseOutcomes,
    PurchaseQueue,
    QuotedTerms,
    RefusalThrottle,
    ReplayCounts,
    Replays,
    StatementRepeater,
  ],
  exports: [OrderAnswers, OrdersService, OrderWaits, TermsModule],
})
export class OrdersModule {}
