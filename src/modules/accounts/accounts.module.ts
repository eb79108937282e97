import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { QuotesModule } from '../quotes/quotes.module.js';
import { AccountsController } from './accounts.controller.js';
import { ActivationService } from './activation.service.js';

@Module({
  imports: [BillingModule, OrdersModule, QuotesModule],
  controllers: [AccountsController],
  providers: [ActivationService],
})
export class AccountsModule {}
