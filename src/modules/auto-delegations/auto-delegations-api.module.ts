import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module.js';
import { QuotesModule } from '../quotes/quotes.module.js';
import { AutoDelegationPrices } from './auto-delegation-prices.js';
import { AutoDelegationsController } from './auto-delegations.controller.js';
import { AutoDelegations } from './auto-delegations.service.js';

@Module({
  imports: [OrdersModule, QuotesModule],
  controllers: [AutoDelegationsController],
  providers: [AutoDelegations, AutoDelegationPrices],
})
export class AutoDelegationsApiModule {}
