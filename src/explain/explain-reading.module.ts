/** Wires the explanation of a transaction, for the API and for operators. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ChainTx } from '../store/entities/chain-tx.entity.js';
import { Leg } from '../store/entities/leg.entity.js';
import { Order } from '../store/entities/order.entity.js';
import { ExplainService } from './explain.service.js';
import { RentalRecords } from './rental-records.js';

@Module({
  imports: [TypeOrmModule.forFeature([Order, Leg, ChainTx])],
  providers: [ExplainService, RentalRecords],
  exports: [ExplainService],
})
export class ExplainReadingModule {}
