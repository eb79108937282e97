/** Wires the changes of projects; requests find theirs in the directory. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/billing.module.js';
import { DepositAddressesModule } from '../deposits/deposit-addresses.module.js';
import { ApiKey } from '../../platform/database/entities/api-key.entity.js';
import { ApiKeys } from './api-keys.js';
import { ConsoleKeys } from './console-keys.js';
import { Project } from '../../platform/database/entities/project.entity.js';
import { Projects } from './projects.js';

@Module({
  imports: [BillingModule, DepositAddressesModule, TypeOrmModule.forFeature([ApiKey, Project])],
  providers: [ApiKeys, ConsoleKeys, Projects],
  exports: [ApiKeys, ConsoleKeys, Projects],
})
export class ProjectsModule {}
