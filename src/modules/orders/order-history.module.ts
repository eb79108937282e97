import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { OrderHistory } from './order-history.js';

@Module({ imports: [BillingModule], providers: [OrderHistory], exports: [OrderHistory] })
export class OrderHistoryModule {}
