import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { LookupQueue } from '../../platform/http/pipeline/lookup-queue.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { RouteOptionsOf, SIMULATE_BODY_LIMIT_BYTES } from '../../platform/http/pipeline/route-options.js';
import { DEFAULT_DURATION_SEC } from '../../domain/price.js';
import { usesOf } from '../quotes/quote.dto.js';
import { refuseTestAddress } from '../quotes/test-receivers.js';
import { SimulateRequest, callOf, type SimulationBody } from './simulate.dto.js';
import { describeSimulate } from './simulate.openapi.js';
import { SimulationService } from './simulation.service.js';

@Controller('v1/simulate')
export class SimulationController {
  constructor(
    private readonly simulations: SimulationService,
    private readonly lookupQueue: LookupQueue,
  ) {}

  @Post()
  @Describe(describeSimulate)
  @HttpCode(200)
  @RouteOptionsOf({
    budget: 'quotes',
    scope: 'quote',
    acceptsMd5: true,
    bodyLimitBytes: SIMULATE_BODY_LIMIT_BYTES,
  })
  async create(@Caller() { project }: Caller, @Body() body: SimulateRequest): Promise<SimulationBody> {
    const call = callOf(body);
    refuseTestAddress(body.owner_address, project.isTest);
    const { duration_sec: durationSec, expected_uses: expected } = body;
    const expectedUses = usesOf(expected, durationSec ?? DEFAULT_DURATION_SEC);
    const wish = { projectId: project.id, isTest: project.isTest, durationSec, expectedUses };
    const quote = body.quote === true ? wish : undefined;
    return this.lookupQueue.run(project.id, () => this.simulations.simulate(call, quote));
  }
}
