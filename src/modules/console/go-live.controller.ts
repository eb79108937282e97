import { Controller, Get, Param } from '@nestjs/common';
import { Authority } from './authority.js';
import { GoLiveSteps } from './go-live.js';
import type { GoLive } from './integration-shapes.js';

@Controller('api/projects/:project_id/go-live')
export class GoLiveController {
  constructor(private readonly steps: GoLiveSteps) {}

  @Get()
  @Authority({ merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' })
  async read(@Param('project_id') project: string): Promise<GoLive> {
    return this.steps.read(project);
  }
}
