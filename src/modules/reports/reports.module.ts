/** Wires the reports. */
import { Module } from '@nestjs/common';
import { Reports } from './report-service.js';

@Module({ providers: [Reports], exports: [Reports] })
export class ReportsModule {}
