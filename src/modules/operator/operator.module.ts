/** Wires the services for the operator's commands. Nothing here serves requests or sends transactions. */
import { Module, type DynamicModule, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AutoDelegationsModule } from '../auto-delegations/auto-delegations.module.js';
import { DepositsModule } from '../deposits/deposits.module.js';
import { BillingModule } from '../billing/billing.module.js';
import { readConfig, type Config } from '../../platform/config/config.js';
import { ExplainReadingModule } from '../explain/explain-reading.module.js';
import { createLogger } from '../../platform/observability/logger.js';
import { OrderHistoryModule } from '../orders/order-history.module.js';
import { PeopleModule } from '../people/people.module.js';
import { PlatformModule } from '../../platform/platform.module.js';
import { PoolModule } from '../pool/pool.module.js';
import { ProjectsModule } from '../projects/projects.module.js';
import { PricesModule } from '../quotes/prices.module.js';
import { RequestHistoryModule } from '../requests/request-history.module.js';
import { ReportsModule } from '../reports/reports.module.js';
import { TransferOutlookModule } from '../simulation/transfer-outlook.module.js';
import { StatementsModule } from '../statements/statements.module.js';
import { AuditModule } from '../../platform/database/audit.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { KeyRewrap } from './key-rewrap.js';

@Module({})
export class OperatorModule {
  static for(config: Config): DynamicModule {
    const platform = PlatformModule.for('cli', config, createLogger({ logLevel: 'silent' }));
    return {
      module: OperatorModule,
      imports: [
        platform,
        AuditModule,
        AutoDelegationsModule,
        BillingModule,
        DepositsModule,
        ExplainReadingModule,
        OrderHistoryModule,
        PeopleModule,
        PoolModule,
        PricesModule,
        ProjectsModule,
        WebhooksModule,
        RequestHistoryModule,
        ReportsModule,
        StatementsModule,
        TransferOutlookModule,
      ],
      providers: [KeyRewrap],
    };
  }
}

/** Builds the services from the settings in `env`; the caller closes them. Throws ConfigError. */
export async function openParts(env: Readonly<Record<string, string | undefined>>): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(OperatorModule.for(readConfig(env)), {
    logger: false,
    abortOnError: false,
  });
}
