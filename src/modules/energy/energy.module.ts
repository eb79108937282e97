/** Wires the client family's energy and credits routes, over the services of the other routes. */
import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { QuotesModule } from '../quotes/quotes.module.js';
import { CreditsController } from './credits.controller.js';
import { EnergyController } from './energy.controller.js';

@Module({
  imports: [BillingModule, OrdersModule, QuotesModule],
  controllers: [EnergyController, CreditsController],
})
export class EnergyModule {}
