/** POST /v1/simulate. No logic. */
import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { Caller } from '../http/pipeline/request-context.js';
import { Describe } from '../http/openapi/openapi.js';
import { RouteOptionsOf, SIMULATE_BODY_LIMIT_BYTES } from '../http/pipeline/route-options.js';
import { SimulateRequest, callOf, type SimulationBody } from './simulate.dto.js';
import { describeSimulate } from './simulate.openapi.js';
import { SimulationService } from './simulation.service.js';

@Controller('v1/simulate')
export class SimulationController {
  constructor(private readonly simulations: SimulationService) {}

  @Post()
  @Describe(describeSimulate)
  @HttpCode(200)
  @RouteOptionsOf({
    budget: 'quotes',
    scope: 'quote',
    acceptsMd5: true,
    bodyLimitBytes: SIMULATE_BODY_LIMIT_BYTES,
  })
  async create(@Caller() caller: Caller, @Body() body: SimulateRequest): Promise<SimulationBody> {
    const quote = body.quote === true ? { projectId: caller.project.id, durationSec: body.duration_sec } : undefined;
    return this.simulations.simulate(callOf(body), quote);
  }
}
