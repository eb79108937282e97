/** Wires the explanation of a transaction, for the API and for operators. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ChainTx } from '../../platform/database/entities/chain-tx.entity.js';
import { Leg } from '../../platform/database/entities/leg.entity.js';
import { Order } from '../../platform/database/entities/order.entity.js';
import { ExplainService } from './explain.service.js';
import { RentalRecords } from './rental-records.js';

@Module({
  imports: [TypeOrmModule.forFeature([Order, Leg, ChainTx])],
  providers: [ExplainService, RentalRecords],
  exports: [ExplainService],
})
export class ExplainReadingModule {}
