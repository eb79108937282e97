/** The API process: the modules that answer requests, on the platform. Nothing here signs or sends a transaction. */
import { Module, type DynamicModule } from '@nestjs/common';
import { AccountsModule } from '../../modules/accounts/accounts.module.js';
import { AuthModule } from '../../modules/auth/auth.module.js';
import { AutoDelegationsApiModule } from '../../modules/auto-delegations/auto-delegations-api.module.js';
import type { Config } from '../../platform/config/config.js';
import { DepositsApiModule } from '../../modules/deposits/deposits-api.module.js';
import type { Log } from '../../platform/observability/logger.js';
import { EnergyModule } from '../../modules/energy/energy.module.js';
import { ExplainModule } from '../../modules/explain/explain.module.js';
import { EventReadingModule } from '../../modules/events/event-reading.module.js';
import { OpenApiModule } from '../../platform/http/openapi/openapi.module.js';
import { OrdersModule } from '../../modules/orders/orders.module.js';
import { PlatformModule } from '../../platform/platform.module.js';
import { RequestsModule } from '../../modules/requests/requests.module.js';
import { QuotesModule } from '../../modules/quotes/quotes.module.js';
import { StatementsApiModule } from '../../modules/statements/statements-api.module.js';
import { WebhooksModule } from '../../modules/webhooks/webhooks.module.js';
import { SimulationModule } from '../../modules/simulation/simulation.module.js';

@Module({})
export class ApiModule {
  /** `config` defaults to the environment, `log` to stdout. */
  static for(config?: Config, log?: Log): DynamicModule {
    const platform = PlatformModule.for('api', config, log);
    return {
      module: ApiModule,
      imports: [
        platform,
        AuthModule,
        QuotesModule,
        SimulationModule,
        ExplainModule,
        OrdersModule,
        AccountsModule,
        EnergyModule,
        EventReadingModule,
        WebhooksModule,
        DepositsApiModule,
        AutoDelegationsApiModule,
        StatementsApiModule,
        RequestsModule,
        OpenApiModule,
      ],
    };
  }
}
