/** Wires the closing of months, for workers. */
import { Module } from '@nestjs/common';
import { StatementClosing } from './statement-closing.js';

@Module({ providers: [StatementClosing], exports: [StatementClosing] })
export class StatementsWorkerModule {}
