/** Wires the price table for the operator's commands; quotes read it through SalesTerms. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PriceRow } from '../../platform/database/entities/price-row.entity.js';
import { Prices } from './prices.js';

@Module({ imports: [TypeOrmModule.forFeature([PriceRow])], providers: [Prices], exports: [Prices] })
export class PricesModule {}
