import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { AccountsController } from './accounts.controller.js';

@Module({ imports: [BillingModule, OrdersModule], controllers: [AccountsController] })
export class AccountsModule {}
