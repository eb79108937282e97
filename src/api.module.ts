/** The API process: the rooms that answer requests, on the platform. Nothing here signs or sends a transaction. */
import { Module, type DynamicModule } from '@nestjs/common';
import type { Config } from './config.js';
import type { Log } from './http/logger.js';
import { PlatformModule } from './platform.module.js';

@Module({})
export class ApiModule {
  /** `config` is read from the environment unless given, `log` writes to stdout. */
  static for(config?: Config, log?: Log): DynamicModule {
    return { module: ApiModule, imports: [PlatformModule.for('api', config, log)] };
  }
}
