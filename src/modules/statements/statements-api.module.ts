/** Wires the routes of the ledger and its statements. */
import { Module } from '@nestjs/common';
import { LedgerController } from './ledger.controller.js';
import { StatementsController } from './statements.controller.js';
import { StatementsModule } from './statements.module.js';

@Module({ imports: [StatementsModule], controllers: [LedgerController, StatementsController] })
export class StatementsApiModule {}
