/** The worker process: fulfilment and the pool on the platform. Serves no HTTP except its probes. */
import { Module, type DynamicModule } from '@nestjs/common';
import { BlockFollowingModule } from './block-following.module.js';
import type { Config } from '../../platform/config/config.js';
import { ExplainWorkerModule } from '../../modules/explain/explain-worker.module.js';
import { FulfilmentModule } from '../../modules/fulfilment/fulfilment.module.js';
import type { Log } from '../../platform/observability/logger.js';
import { PlatformModule } from '../../platform/platform.module.js';
import { PoolModule } from '../../modules/pool/pool.module.js';
import { StatementsWorkerModule } from '../../modules/statements/statements-worker.module.js';
import { TestProjectsWorkerModule } from '../../modules/test-projects/test-projects-worker.module.js';
import { WebhookGauges } from '../../modules/webhooks/webhook-gauges.js';

@Module({})
export class WorkerModule {
  static for(config: Config, log: Log): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        PlatformModule.for('worker', config, log),
        PoolModule,
        FulfilmentModule,
        BlockFollowingModule,
        ExplainWorkerModule,
        StatementsWorkerModule,
        TestProjectsWorkerModule,
      ],
      providers: [WebhookGauges],
    };
  }
}
