/** Operators' routes for the state of the service and its audit log. Reads only. */
import { Controller, Get, Query } from '@nestjs/common';
import { Authority } from './authority.js';
import type { Page } from './data-shapes.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import { AnyText, pageOf } from './lists.js';
import type { ServiceAct, SystemShape } from './system-shapes.js';
import { serviceAct, System } from './system.service.js';

const READS = { operator: ['admin', 'support'], scope: 'service' } as const;

class AuditQuery extends PageQuery {
  @AnyText(200)
  declare readonly by?: string;

  @AnyText(100)
  declare readonly action?: string;

  @AnyText(200)
  declare readonly subject?: string;
}

@Controller('api/operator')
export class SystemController {
  constructor(private readonly system: System) {}

  @Get('system')
  @Authority(READS)
  async read(): Promise<SystemShape> {
    return this.system.read();
  }

  @Get('audit')
  @Authority(READS)
  async acts(@Query() query: AuditQuery): Promise<Page<ServiceAct>> {
    const { by, action, subject } = query;
    return pageOf(query, (before, limit) => this.system.acts({ by, action, subject }, before, limit), serviceAct);
  }
}
