// An API, projects with credits and a filled pool for tests, made through the services themselves.
import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ApiModule } from '../../../src/apps/api/api.module.js';
import type { Ledger } from '../../../src/modules/billing/ledger.js';
import { type BillingTerms } from '../../../src/modules/billing/ledger.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import type { Config } from '../../../src/platform/config/config.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { createHttpApp, serverOf } from '../../../src/platform/http/pipeline/server.js';
import { credits } from '../../../src/domain/units.js';
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import type { Projects } from '../../../src/modules/projects/projects.js';
import { PoolSync } from '../../../src/modules/pool/pool-sync.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database } from '../../../src/platform/database/database.js';
import { Customer } from './client.js';
import { openLog } from '../log.js';
import { TEST_MASTER_KEY } from '../cli.js';
import type { OrderChain, Owner } from '../chain/order-chain.js';
import { pastPooler } from '../../setup/admin.js';
import { keepSaid, noteKeysOf } from '../../setup/canary.js';
import { databaseEnv } from '../../setup/pooler.js';
import { envAs } from '../../setup/roles.js';
import { ledgerOn, projectsOn, walletsOn } from './services.js';

export const AUTHOR = { actor: 'test', reason: 'a test wants it' };
const PREPAID: BillingTerms = { kind: 'prepaid' };

/** An API in this process, with the real modules behind the real pipeline. */
export interface TestApi {
  readonly baseUrl: string;
  readonly app: NestExpressApplication;
  readonly config: Config;
  /** The owner's connection. The API itself has fewer rights. */
  readonly database: Database;
  readonly ledger: Ledger;
  readonly projects: Projects;
  readonly close: () => Promise<void>;
}

/** Returns the settings of a service on the test's database, Redis and chain. */
export function serviceEnv(databaseUrl: string, redisUrl: string, chain: OrderChain): Record<string, string> {
  return {
    ...chain.env,
    ...databaseEnv(databaseUrl),
    DATABASE_POOL_MAX: '8',
    REDIS_URL: redisUrl,
    MASTER_KEY: TEST_MASTER_KEY,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'error',
    POOL_SYNC_SEC: '1',
  };
}

/** Starts an API on a free port. `env` holds every setting that `readConfig` requires. */
export async function openApi(env: Record<string, string>): Promise<TestApi> {
  const config = readConfig(envAs(env, 'api'));
  noteKeysOf(env);
  const log = openLog(config.logLevel);
  const app = await createHttpApp(ApiModule.for(config, log), config);
  await app.listen(0, '127.0.0.1');
  const address = serverOf(app).address();
  if (address === null || typeof address === 'string') throw new Error('the API has no port');
  const database = await openAsOwner(env['DATABASE_URL']!);
  const ledger = ledgerOn(database);
  return {
    baseUrl: `http://127.0.0.1:${address.port.toString()}`,
    app,
    config,
    database,
    ledger,
    projects: projectsOn(database, app),
    close: () => closeApp(app, database),
  };
}

/** Keeps the metrics for the canary, and ends the application and the test's connection. */
export async function closeApp(app: INestApplication, database: Database): Promise<void> {
  keepSaid('metrics', await app.get(Metrics).registry.metrics());
  serverOf(app).closeAllConnections();
  await app.close();
  if (database.source.isInitialized) await database.source.destroy();
}

/** Opens the owner's connection. The service itself has fewer rights. */
export async function openAsOwner(url: string): Promise<Database> {
  const source = createDataSource({ url: pastPooler(url), poolMax: 8, applicationName: 'energy-test' });
  return new Database(await source.initialize());
}

/** Adds a wallet to the pool, with its owner's key, and fills its slots. */
export async function addWallet(
  { app, database, config }: TestApi,
  owner: Owner,
  role: 'pool' | 'activation',
): Promise<void> {
  const wallets = walletsOn(database, app);
  const { address, privateKey } = owner;
  await wallets.add(
    { address, role, permissionId: 0, key: { keyAddress: address, privateKey }, slots: config.pool.slotsPerWallet },
    AUTHOR,
  );
  // Syncs by address: a worker of the same test may hold the turn of the periodic sync.
  await new PoolSync(database, app.get(TronClient), config).syncWallet(address);
}

/** Adds both wallets of the chain to the pool and fills their slots from the chain. */
export async function fillPool(api: TestApi, chain: OrderChain): Promise<void> {
  for (const role of ['pool', 'activation'] as const) await addWallet(api, chain[role], role);
  await keepSelling(api.database);
}

/** Keeps the pool selling in tests without a worker, which would read the wallets. */
export async function keepSelling(database: Database): Promise<void> {
  await database.query(`UPDATE pool_wallet SET sells_until = clock_timestamp() + interval '1 day'`);
}

export interface ApiProcess {
  readonly baseUrl: string;
  readonly process: NodeProcess<string>;
}

/** Starts an API process from dist and waits until it listens. */
export async function startApi(env: Record<string, string>): Promise<ApiProcess> {
  const child = await startNode<string>('dist/bundle/main.api.js', {
    name: 'the API',
    env: { ...envAs(env, 'api'), LOG_LEVEL: 'info' },
    readyWhen: (line) => {
      const port = /"address":\{[^}]*"port":(\d+)[^}]*\},.*"msg":"listening"/.exec(line)?.[1];
      return port === undefined ? undefined : `http://127.0.0.1:${port}`;
    },
  });
  return { baseUrl: child.ready!, process: child };
}

let made = 0;

/** Creates a project with credits. Returns a client of it. */
export async function makeCustomer(
  api: Pick<TestApi, 'baseUrl' | 'ledger' | 'projects'>,
  balance = 1_000_000_000n,
  terms: BillingTerms = PREPAID,
  isTest = false,
): Promise<Customer> {
  made += 1;
  const { id, apiKey } = await api.projects.create(`project ${made.toString()}`, terms, AUTHOR, isTest);
  if (balance > 0n) await api.ledger.topUp(id, credits(balance), `first-${id}`, AUTHOR);
  return new Customer(api.baseUrl, id, apiKey);
}
