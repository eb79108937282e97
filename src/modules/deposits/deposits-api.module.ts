import { Module } from '@nestjs/common';
import { DepositsController } from './deposits.controller.js';
import { DepositsModule } from './deposits.module.js';

@Module({ imports: [DepositsModule], controllers: [DepositsController] })
export class DepositsApiModule {}
