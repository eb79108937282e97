/** Wires the changes of projects; requests find theirs in the directory. */
import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { DepositAddressesModule } from '../deposits/deposit-addresses.module.js';
import { ApiKeys } from './api-keys.js';
import { ConsoleKeys } from './console-keys.js';
import { Projects } from './projects.js';

@Module({
  imports: [BillingModule, DepositAddressesModule],
  providers: [ApiKeys, ConsoleKeys, Projects],
  exports: [ApiKeys, ConsoleKeys, Projects],
})
export class ProjectsModule {}
