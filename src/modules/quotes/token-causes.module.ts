/** Wires the causes of failing token calls, for quotes, simulations and operators. */
import { Module } from '@nestjs/common';
import { TokenCauses } from './token-causes.js';

@Module({ providers: [TokenCauses], exports: [TokenCauses] })
export class TokenCausesModule {}
