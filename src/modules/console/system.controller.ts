/** Operators' route for the state of the service. Reads only. */
import { Controller, Get } from '@nestjs/common';
import { Authority } from './authority.js';
import type { SystemShape } from './system-shapes.js';
import { System } from './system.service.js';

@Controller('api/operator')
export class SystemController {
  constructor(private readonly system: System) {}

  @Get('system')
  @Authority({ operator: ['admin', 'support'], scope: 'service' })
  async read(): Promise<SystemShape> {
    return this.system.read();
  }
}
