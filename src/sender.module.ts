/** The sender process: webhook deliveries only. No Redis, no chain, no key except that of webhook secrets. */
import { Global, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Sealers } from './base/sealers.js';
import { SenderConfig } from './config/sender-config.js';
import { Log } from './observability/logger.js';
import { Metrics } from './observability/metrics.js';
import { DeliveryAttempts } from './sender/delivery-attempts.js';
import { DeliveryClaims } from './sender/delivery-claims.js';
import { EndpointWatch } from './sender/endpoint-watch.js';
import { SenderLoop } from './sender/sender-loop.js';
import { Database } from './store/database.js';
import { openDatabase } from './store/open-database.js';

@Global()
@Module({})
export class SenderModule {
  static for(config: SenderConfig, log: Log): DynamicModule {
    const sealers = new Sealers(config.secrets);
    return {
      module: SenderModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({ retryAttempts: 0 }),
          dataSourceFactory: () => openDatabase(config.database, { role: 'sender', sealers, log }),
        }),
      ],
      providers: [
        { provide: SenderConfig, useValue: config },
        { provide: Sealers, useValue: sealers },
        { provide: Log, useValue: log },
        Database,
        Metrics,
        DeliveryClaims,
        DeliveryAttempts,
        SenderLoop,
        EndpointWatch,
      ],
    };
  }
}
