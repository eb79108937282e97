/** Wires the reads of the ledger and its statements. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { LedgerList } from './ledger-list.js';
import { OpenMonths } from './open-month.js';
import { StatementCsv } from './statement-csv.js';
import { StatementLines } from './statement-lines.js';
import { StatementList } from './statement-list.js';

@Module({
  imports: [TypeOrmModule.forFeature([LedgerStatement])],
  providers: [LedgerList, OpenMonths, StatementCsv, StatementLines, StatementList],
  exports: [LedgerList, OpenMonths, StatementCsv, StatementLines, StatementList],
})
export class StatementsModule {}
