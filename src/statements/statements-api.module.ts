/** Wires the paths of the ledger. */
import { Module } from '@nestjs/common';
import { LedgerController } from './ledger.controller.js';
import { StatementsModule } from './statements.module.js';

@Module({ imports: [StatementsModule], controllers: [LedgerController] })
export class StatementsApiModule {}
