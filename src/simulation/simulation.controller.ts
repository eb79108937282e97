/** POST /v1/simulate. No logic. */
import { Controller, HttpCode, Post } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Caller } from '../http/pipeline/request-context.js';
import { Describe, SaleBounds } from '../http/openapi/openapi.js';
import { RouteOptionsOf, SIMULATE_BODY_LIMIT_BYTES } from '../http/pipeline/route-options.js';
import { readBody } from '../http/body/validation.js';
import { callOf, simulateSchema, type SimulationBody } from './simulate.dto.js';
import { describeSimulate } from './simulate.openapi.js';
import { SimulationService } from './simulation.service.js';

@Controller('v1/simulate')
export class SimulationController {
  private readonly schema;

  constructor(
    config: Config,
    sale: SaleBounds,
    private readonly simulations: SimulationService,
  ) {
    this.schema = simulateSchema(config.sales, sale);
  }

  @Post()
  @Describe(describeSimulate)
  @HttpCode(200)
  @RouteOptionsOf({ isRateLimited: true, bodyLimitBytes: SIMULATE_BODY_LIMIT_BYTES })
  async create(@Caller() caller: Caller): Promise<SimulationBody> {
    const body = readBody(caller, this.schema);
    const quote = body.quote === true ? { projectId: caller.project.id, durationSec: body.duration_sec } : undefined;
    return this.simulations.simulate(callOf(body), quote);
  }
}
