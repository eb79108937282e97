/** The parts of the service that the operator's commands use. Nothing here serves requests or sends transactions. */
import { Module, type DynamicModule, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BillingModule } from '../billing/billing.module.js';
import { NodePool } from '../chain/node-pool.js';
import { TronNode } from '../chain/node.js';
import { TronClient } from '../chain/tron.client.js';
import { Config, readConfig } from '../config.js';
import { PlatformModule } from '../platform.module.js';
import { PoolWallets } from './pool-wallets.js';
import { Prices } from './prices.js';
import { Projects } from './projects.js';

/** A command asks a few questions and ends, so the nodes are not watched in between. */
function createTronClient({ chain }: Config): TronClient {
  const nodes = chain.fullNodeUrls.map(
    (fullUrl, index) => new TronNode({ ...chain, fullUrl, solidUrl: chain.solidityNodeUrls[index] ?? fullUrl }),
  );
  return new TronClient(new NodePool(nodes, chain.pollMs));
}

@Module({})
export class OperatorModule {
  static for(config: Config): DynamicModule {
    return {
      module: OperatorModule,
      imports: [PlatformModule.for('cli', config), BillingModule],
      providers: [
        { provide: TronClient, useFactory: createTronClient, inject: [Config] },
        Projects,
        Prices,
        PoolWallets,
      ],
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
