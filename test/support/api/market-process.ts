// The market of one process beside others, on the database and chain of a quote fixture.
import { nodeOptionsOf } from '../../../src/platform/chain/configured-nodes.js';
import { NodePool } from '../../../src/platform/chain/node-pool.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { Market } from '../../../src/modules/quotes/market.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database } from '../../../src/platform/database/database.js';
import { openLog } from '../log.js';
import { settings } from '../cli.js';
import { WHO } from '../chain/quote-chain.js';
import type { QuoteFixture } from './quote-fixture.js';
import { asRole } from '../../setup/roles.js';
import { PoolWallet } from '../../../src/platform/database/entities/pool-wallet.entity.js';

export interface MarketProcess {
  readonly market: Market;
  readonly database: Database;
  readonly close: () => Promise<void>;
}

/** Opens a market. `forget` clears the readings of other processes. */
export async function openMarketOf(
  fixture: QuoteFixture,
  env: Record<string, string>,
  forget: boolean,
): Promise<MarketProcess> {
  const config = readConfig(
    settings(asRole(fixture.database.url, 'api'), {
      TRON_FULL_NODE_URLS: fixture.node.url,
      TRON_READ_TIMEOUT_MS: '1000',
      TOKEN_CONTRACT: WHO.token,
      SIZING_HOLDER: WHO.bank,
      MARKET_REFRESH_SEC: '1',
      SIZING_REFRESH_SEC: '1',
      ...env,
      TRON_SOLIDITY_NODE_URLS: (env['TRON_FULL_NODE_URLS'] ?? fixture.node.url)
        .split(',')
        .map(() => fixture.chain.solidUrl)
        .join(','),
    }),
  );
  const source = createDataSource({
    url: config.database.url,
    namedStatements: config.database.namedStatements === 'on',
    poolMax: 2,
    applicationName: 'market-test',
  });
  await source.initialize();
  const database = new Database(source);
  if (forget) await database.query(`DELETE FROM market_state WHERE name IN ('chain', 'sizing')`);
  const nodes = nodeOptionsOf(config.chain).map((options) => new TronNode(options));
  const pool = database.source.getRepository(PoolWallet);
  const market = new Market(config, new TronClient(new NodePool(nodes, 1000)), database, pool, openLog('silent'));
  await market.onModuleInit();
  return {
    market,
    database,
    close: async () => {
      await market.beforeApplicationShutdown();
      await source.destroy();
    },
  };
}
