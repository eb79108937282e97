import { Controller, Get } from '@nestjs/common';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import type { LimitsBody } from './limits.dto.js';
import { describeLimits } from './limits.openapi.js';
import { Limits } from './limits.service.js';

@Controller('v1/limits')
export class LimitsController {
  constructor(private readonly limits: Limits) {}

  @Get()
  @Describe(describeLimits)
  @RouteOptionsOf({ budget: 'general', scope: 'read', acceptsMd5: true })
  async read(): Promise<LimitsBody> {
    return this.limits.now();
  }
}
