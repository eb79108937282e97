/** The API process: the modules that answer requests, on the platform. Nothing here signs or sends a transaction. */
import { Module, type DynamicModule } from '@nestjs/common';
import { AccountsModule } from './accounts/accounts.module.js';
import { AuthModule } from './auth/auth.module.js';
import { AutoDelegationsApiModule } from './auto-delegations/auto-delegations-api.module.js';
import type { Config } from './config/config.js';
import { DepositsApiModule } from './deposits/deposits-api.module.js';
import type { Log } from './observability/logger.js';
import { EnergyModule } from './energy/energy.module.js';
import { ExplainModule } from './explain/explain.module.js';
import { EventReadingModule } from './events/event-reading.module.js';
import { OpenApiModule } from './http/openapi/openapi.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { PlatformModule } from './platform.module.js';
import { RequestsModule } from './requests/requests.module.js';
import { QuotesModule } from './quotes/quotes.module.js';
import { StatementsApiModule } from './statements/statements-api.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';
import { SimulationModule } from './simulation/simulation.module.js';

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
