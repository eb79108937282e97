/** Wires the causes of failing token calls, for simulations and operators. */
import { Module } from '@nestjs/common';
import { TokenCauses } from './token-causes.js';
import { TransferOutlook } from './transfer-outlook.js';

@Module({ providers: [TokenCauses, TransferOutlook], exports: [TokenCauses, TransferOutlook] })
export class TokenCausesModule {}
