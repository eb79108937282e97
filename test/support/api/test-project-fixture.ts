// A service with a test project, and a player of test orders whose time a test controls.
import { Numberer } from '../../../src/modules/events/numberer.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database } from '../../../src/platform/database/database.js';
import { TestOrders } from '../../../src/modules/test-projects/test-orders.js';
import { HmacCustomer, type Answer } from './client.js';
import { makeCustomer, type TestApi } from './factory.js';
import { openLog } from '../log.js';
import { openOrderFixture, type OrderFixture } from './order-fixture.js';
import { ledgerOn } from './services.js';
import { asRole } from '../../setup/roles.js';

export interface TestProjectFixture extends OrderFixture {
  /** The worker's service that plays test orders, on a connection with the worker's role. */
  readonly player: TestOrders;
  readonly playerDatabase: Database;
  /** Creates a project with credits, by default a test project. */
  readonly customer: (options?: { readonly isTest?: boolean; readonly balance?: bigint }) => Promise<HmacCustomer>;
  /** Makes the next move of each test order due and runs it. Returns the number of moves. */
  readonly move: () => Promise<number>;
  /** Returns up to 100 events of the project. */
  readonly eventsOf: (customer: HmacCustomer) => Promise<TestEvent[]>;
}

export interface TestEvent {
  readonly type: string;
  readonly test?: true;
  readonly position: number;
  readonly data: { readonly order?: Answer['body'] };
}

export async function openTestProjectFixture(extra: Record<string, string> = {}): Promise<TestProjectFixture> {
  const fixture = await openOrderFixture(extra);
  const { api } = fixture;
  const playerDatabase = await openPlayerDatabase(fixture);
  const player = playerOn(playerDatabase);
  return {
    ...fixture,
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
      await fixture.close();
    },
  };
}

/** Opens a separate connection pool with a worker's rights. */
export async function openPlayerDatabase(fixture: Pick<OrderFixture, 'env'>): Promise<Database> {
  const url = asRole(fixture.env['DATABASE_URL']!, 'worker');
  const source = createDataSource({
    url,
    namedStatements: fixture.env['PG_NAMED_STATEMENTS'] !== 'off',
    poolMax: 4,
    applicationName: 'energy-test',
  });
  return new Database(await source.initialize());
}

export const playerOn = (database: Database): TestOrders =>
  new TestOrders(database, ledgerOn(database), openLog('silent'));

/** Makes the next move of all test orders due. */
export const makeDue = async (api: Pick<TestApi, 'database'>): Promise<void> => {
  await api.database.query(`UPDATE orders SET play_at = clock_timestamp() - interval '1 ms', lease_until = NULL
    WHERE play_at IS NOT NULL`);
};
