// A whole service with a test project in it, and a player for which time passes when a test wants it to.
import { Numberer } from '../src/events/numberer.js';
import { Metrics } from '../src/observability/metrics.js';
import { createDataSource } from '../src/store/data-source.js';
import { Database } from '../src/store/database.js';
import { TestOrders } from '../src/test-projects/test-orders.js';
import { HmacCustomer, type Answer } from './client.js';
import { makeCustomer, type TestApi } from './factory.js';
import { openLog } from './log.js';
import { openOrderWorld, type OrderWorld } from './order-world.js';
import { ledgerOn } from './services.js';
import { asRole } from './setup/roles.js';

export interface TestProjectWorld extends OrderWorld {
  /** What a worker plays test orders by, in the worker's role of the database. */
  readonly player: TestOrders;
  readonly playerDatabase: Database;
  /** A project with credits; a test project unless said. */
  readonly customer: (options?: { readonly isTest?: boolean; readonly balance?: bigint }) => Promise<HmacCustomer>;
  /** Makes the next move of each test order due, and has it made. Returns how many. */
  readonly move: () => Promise<number>;
  /** Every event of the project that has happened so far. */
  readonly eventsOf: (customer: HmacCustomer) => Promise<TestEvent[]>;
}

export interface TestEvent {
  readonly type: string;
  readonly test?: true;
  readonly position: number;
  readonly data: { readonly order?: Answer['body'] };
}

export async function openTestProjectWorld(extra: Record<string, string> = {}): Promise<TestProjectWorld> {
  const world = await openOrderWorld(extra);
  const { api } = world;
  const playerDatabase = await openPlayerDatabase(world);
  const player = playerOn(playerDatabase);
  return {
    ...world,
    player,
    playerDatabase,
    customer: async ({ isTest = true, balance = 1_000_000_000n } = {}) => {
      const { merchant, apiKey } = await makeCustomer(api, balance, { kind: 'prepaid' }, isTest);
      return new HmacCustomer(api.baseUrl, merchant, apiKey);
    },
    move: async () => {
      await makeDue(api);
      return player.playDue();
    },
    eventsOf: async (customer) => {
      const numberer = new Numberer(api.database, new Metrics(), openLog('silent'));
      while ((await numberer.numberBatch()) > 0);
      return (await customer.get('/v1/events?limit=100')).body.items as TestEvent[];
    },
    close: async () => {
      await playerDatabase.source.destroy();
      await world.close();
    },
  };
}

/** Of one worker: its own connections, with a worker's rights. */
export async function openPlayerDatabase(world: Pick<OrderWorld, 'env'>): Promise<Database> {
  const url = asRole(world.env['DATABASE_URL']!, 'worker');
  const source = createDataSource({
    url,
    namedStatements: world.env['PG_NAMED_STATEMENTS'] !== 'off',
    poolMax: 4,
    applicationName: 'energy-test',
  });
  return new Database(await source.initialize());
}

export const playerOn = (database: Database): TestOrders =>
  new TestOrders(database, ledgerOn(database), openLog('silent'));

/** As if time had passed. */
export const makeDue = async (api: Pick<TestApi, 'database'>): Promise<void> => {
  await api.database.query(`UPDATE orders SET play_at = clock_timestamp() - interval '1 ms', lease_until = NULL
    WHERE play_at IS NOT NULL`);
};
