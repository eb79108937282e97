/** Wires the projects for who changes them; requests find theirs in the directory. */
import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/billing.module.js';
import { Projects } from './projects.js';

@Module({ imports: [BillingModule], providers: [Projects], exports: [Projects] })
export class ProjectsModule {}
