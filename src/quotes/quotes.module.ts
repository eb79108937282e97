/** Wires POST /v1/quotes. */
import { Module } from '@nestjs/common';
import { PricingModule } from './pricing.module.js';
import { QuotesController } from './quotes.controller.js';

@Module({ imports: [PricingModule], controllers: [QuotesController], exports: [PricingModule] })
export class QuotesModule {}
