/** Wires the recording of chain costs, for workers. */
import { Module } from '@nestjs/common';
import { CostRecorder } from './cost-recorder.js';

@Module({ providers: [CostRecorder], exports: [CostRecorder] })
export class CostsModule {}
