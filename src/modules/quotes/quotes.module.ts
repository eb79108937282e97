/** Wires POST /v1/quotes and GET /v1/limits. */
import { Module } from '@nestjs/common';
import { LimitsController } from './limits.controller.js';
import { Limits } from './limits.service.js';
import { PricingModule } from './pricing.module.js';
import { QuotesController } from './quotes.controller.js';

@Module({
  imports: [PricingModule],
  controllers: [QuotesController, LimitsController],
  providers: [Limits],
  exports: [PricingModule],
})
export class QuotesModule {}
