/** The parts of the service that the operator's commands use. Nothing here serves requests or sends transactions. */
import { Module, type DynamicModule, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BillingModule } from '../billing/billing.module.js';
import { HeldRates } from '../billing/held-rates.js';
import { readConfig, type Config } from '../config/config.js';
import { createLogger } from '../observability/logger.js';
import { PlatformModule } from '../platform.module.js';
import { PoolSync } from '../pool/pool-sync.js';
import { SalesHold } from '../pool/sales-hold.js';
import { KeyRewrap } from '../store/key-rewrap.js';
import { LegEnds } from '../pool/leg-ends.js';
import { OrderStories } from './order-history.js';
import { PoolWallets } from '../pool/pool-wallets.js';
import { Prices } from '../quotes/prices.js';
import { Projects } from '../projects/projects.js';

@Module({})
export class OperatorModule {
  static for(config: Config): DynamicModule {
    return {
      module: OperatorModule,
      imports: [PlatformModule.for('cli', config, createLogger({ logLevel: 'silent' })), BillingModule],
      providers: [HeldRates, Projects, Prices, PoolWallets, OrderStories, LegEnds, KeyRewrap, PoolSync, SalesHold],
    };
  }
}

/** Builds the parts from the settings in `env`; the caller closes them. Throws ConfigError. */
export async function openParts(env: Readonly<Record<string, string | undefined>>): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(OperatorModule.for(readConfig(env)), {
    logger: false,
    abortOnError: false,
  });
}
