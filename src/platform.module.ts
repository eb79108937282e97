/**
 * The global providers of floor 1: what every root needs of the outside, made once per process and closed in order.
 * Knows no feature.
 */
import { Global, Inject, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { Config, readConfig } from './config.js';
import { messageOf } from './errors.js';
import { createProducerConnection } from './queue/connections.js';
import { OrderWakes } from './queue/jobs.js';
import { Sealer } from './seal.js';
import { createDataSource } from './store/data-source.js';
import { Database } from './store/database.js';

export type Role = 'api' | 'worker' | 'cli';

/** One sealer for each purpose, under keys that cannot open each other's. */
export class Sealers {
  readonly apiKey: Sealer;
  readonly poolKey: Sealer;
  readonly quote: Sealer;

  constructor({ masterKey, previousMasterKey }: Config['secrets']) {
    this.apiKey = new Sealer('api-key', masterKey, previousMasterKey);
    this.poolKey = new Sealer('pool-key', masterKey, previousMasterKey);
    this.quote = new Sealer('quote', masterKey, previousMasterKey);
  }
}

/** Opens the database and refuses a schema that is older than this code. */
async function openDatabase(config: Config, role: Role): Promise<DataSource> {
  const source = createDataSource({
    url: config.database.url,
    poolMax: config.database.poolMax,
    applicationName: `energy-${role}`,
  });
  try {
    await source.initialize();
  } catch (error) {
    throw new Error(`The database that DATABASE_URL names did not answer: ${messageOf(error)}`, { cause: error });
  }
  if (role !== 'cli' && (await source.showMigrations())) {
    await source.destroy();
    throw new Error('The database has an older schema than this version: run `npm run -s cli -- migrate` first.');
  }
  return source;
}

@Global()
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(@Inject(Redis) private readonly redis: Redis) {}

  /** Everything of floor 1 for one process; `config` is read from the environment unless given. */
  static for(role: Role, config: Config = readConfig()): DynamicModule {
    return {
      module: PlatformModule,
      providers: [
        { provide: Config, useValue: config },
        { provide: Sealers, useValue: new Sealers(config.secrets) },
        { provide: DataSource, useFactory: () => openDatabase(config, role) },
        Database,
        {
          provide: Redis,
          useFactory: () => {
            const redis = createProducerConnection(config.redis, () => undefined);
            // Never awaited: a process starts, and serves, while Redis is away.
            if (role !== 'cli') redis.connect().catch(() => undefined);
            return redis;
          },
        },
        OrderWakes,
      ],
      exports: [Config, Sealers, DataSource, Database, Redis, OrderWakes],
    };
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
