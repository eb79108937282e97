/** Wires POST /v1/simulate. */
import { Module } from '@nestjs/common';
import { PricingModule } from '../quotes/pricing.module.js';
import { SimulationController } from './simulation.controller.js';
import { SimulationService } from './simulation.service.js';
import { TokenCauses } from './token-causes.js';

@Module({ imports: [PricingModule], controllers: [SimulationController], providers: [SimulationService, TokenCauses] })
export class SimulationModule {}
