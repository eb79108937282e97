/** Wires GET /v1/explain/{txid}; `explain-reading.module.ts` holds its parts for other roots. */
import { Module } from '@nestjs/common';
import { ExplainController } from './explain.controller.js';
import { ExplainReadingModule } from './explain-reading.module.js';

@Module({ imports: [ExplainReadingModule], controllers: [ExplainController] })
export class ExplainModule {}
