/** Wires the ledger and the rates. */
import { Module } from '@nestjs/common';
import { Ledger } from './ledger.js';

@Module({ providers: [Ledger], exports: [Ledger] })
export class BillingModule {}
