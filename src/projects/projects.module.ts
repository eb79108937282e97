/** Wires the projects for who changes them; requests find theirs in the directory. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/billing.module.js';
import { Project } from '../store/entities/project.entity.js';
import { Projects } from './projects.js';

@Module({ imports: [BillingModule, TypeOrmModule.forFeature([Project])], providers: [Projects], exports: [Projects] })
export class ProjectsModule {}
