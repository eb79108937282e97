/** Wires the reading of the ledger. */
import { Module } from '@nestjs/common';
import { LedgerList } from './ledger-list.js';

@Module({ providers: [LedgerList], exports: [LedgerList] })
export class StatementsModule {}
