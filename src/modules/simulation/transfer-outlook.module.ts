/** Wires the outlook of a token transfer, for operators. */
import { Module } from '@nestjs/common';
import { TokenCausesModule } from '../quotes/token-causes.module.js';
import { TransferOutlook } from './transfer-outlook.js';

@Module({ imports: [TokenCausesModule], providers: [TransferOutlook], exports: [TransferOutlook] })
export class TransferOutlookModule {}
