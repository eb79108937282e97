/** The sender process: webhook deliveries only. No Redis, no chain, no key except that of webhook secrets. */
import { Global, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Sealers } from '../../platform/support/sealers.js';
import { SenderConfig } from '../../platform/config/sender-config.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { DeliveryAttempts } from '../../modules/sender/delivery-attempts.js';
import { DeliveryClaims } from '../../modules/sender/delivery-claims.js';
import { DeliveryRecords } from '../../modules/sender/delivery-records.js';
import { DestinationSlots } from '../../modules/sender/destination-slots.js';
import { EndpointWatch } from '../../modules/sender/endpoint-watch.js';
import { SenderLoop } from '../../modules/sender/sender-loop.js';
import { Database } from '../../platform/database/database.js';
import { openDatabase } from '../../platform/database/open-database.js';

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
        DeliveryRecords,
        DestinationSlots,
        DeliveryAttempts,
        SenderLoop,
        EndpointWatch,
      ],
    };
  }
}
