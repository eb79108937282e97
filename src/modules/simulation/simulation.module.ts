/** Wires POST /v1/simulate. */
import { Module } from '@nestjs/common';
import { PricingModule } from '../quotes/pricing.module.js';
import { TokenCausesModule } from '../quotes/token-causes.module.js';
import { SimulationController } from './simulation.controller.js';
import { SimulationService } from './simulation.service.js';

@Module({
  imports: [PricingModule, TokenCausesModule],
  controllers: [SimulationController],
  providers: [SimulationService],
})
export class SimulationModule {}
