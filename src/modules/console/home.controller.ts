import { Controller, Get, Param } from '@nestjs/common';
import { Authority } from './authority.js';
import { MerchantHomes } from './home.service.js';
import type { MerchantHome } from './integration-shapes.js';

@Controller('api/projects/:project_id/home')
export class HomeController {
  constructor(private readonly homes: MerchantHomes) {}

  @Get()
  @Authority({ merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' })
  async home(@Param('project_id') project: string): Promise<MerchantHome> {
    return this.homes.home(project);
  }
}
