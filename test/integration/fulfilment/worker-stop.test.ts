// A worker that is told to stop claims nothing more, however long its work in progress waits.
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { until } from '../../../packages/local/src/wait.js';
import { Refills } from '../../../src/modules/auto-delegations/refills.js';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { Numberer } from '../../../src/modules/events/numberer.js';
import { WorkerLoops } from '../../../src/modules/fulfilment/worker-loops.js';
import { StatementClosing } from '../../../src/modules/statements/statement-closing.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { TestOrders } from '../../../src/modules/test-projects/test-orders.js';
import { WorkerModule } from '../../../src/apps/worker/worker.module.js';
import { openLog } from '../../support/log.js';
import { settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import { envAs } from '../../setup/roles.js';

const LIMIT_MS = 60_000;
/** One claim statement of each kind of work that polls while idle. */
const CLAIMS = [
  'claim_due',
  'claim_ending',
  'claim_auto_delegations_due',
  'claim_test_orders',
  'claim_deposit_cursor',
  'hold_numbering',
] as const;

let store: TestDatabase;
let redis: TestRedis;
let chain: Devnet;

beforeAll(async () => {
  [store, redis, chain] = await Promise.all([
    createTestDatabase(),
    createTestRedis(),
    startDevnet({ genesis: { accounts: [{ address: newChainAccount().address, balance: 1_000_000 }] }, blockMs: 300 }),
  ]);
});

afterAll(async () => {
  await chain.stop();
  await redis.close();
  await store.drop();
});

test('stops every kind of claim before it waits for the work of any', async () => {
  const env = envAs(
    settings(store.url, {
      REDIS_URL: redis.url,
      TRON_FULL_NODE_URLS: chain.fullUrl,
      TRON_SOLIDITY_NODE_URLS: chain.solidUrl,
      DATABASE_POOL_MAX: '16',
    }),
    'worker',
  );
  const parts = WorkerModule.for(readConfig(env, 'worker'), openLog('silent'));
  const app = await NestFactory.createApplicationContext(parts, { logger: false });
  const claimed = new Map<string, number>();
  for (const name of CLAIMS) {
    const before = (): unknown => claimed.set(name, (claimed.get(name) ?? 0) + 1);
    aroundStatements(app.get(Database), [name], { before });
  }
  const holder = new pg.Client({ connectionString: store.url });
  await holder.connect();
  try {
    app.get(BlockFollower).start();
    await app.get(WorkerLoops).start();
    for (const part of [Refills, StatementClosing, TestOrders]) app.get<{ start(): void }>(part).start();
    await until(
      () => CLAIMS.every((name) => (claimed.get(name) ?? 0) > 1) || undefined,
      LIMIT_MS,
      'a claim of each kind',
    );
    // The work in progress waits: the pool sync for its row, and the stop for the pool sync.
    await holder.query('BEGIN; LOCK TABLE pool_wallet, pool_wallet_day IN ACCESS EXCLUSIVE MODE');
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until(
      async () => ((await holder.query(waiting)).rowCount ?? 0) > 0 || undefined,
      LIMIT_MS,
      'work that waits',
    );
    const closing = app.close();
    // The shutdown hooks that only end claims run completely before anything else.
    await new Promise((turn) => setImmediate(turn));
    const atStop = new Map(claimed);
    // A transaction that had begun before the stop still sends its claim.
    await app.get(Numberer).stop();
    atStop.set('hold_numbering', claimed.get('hold_numbering') ?? 0);
    // Waits until the blocked work has hit its own limit, then for the end.
    await until(async () => ((await holder.query(waiting)).rowCount ?? 0) === 0 || undefined, LIMIT_MS, 'its limit');
    await holder.query('ROLLBACK');
    await closing;
    expect(claimed).toEqual(atStop);
  } finally {
    await holder.end();
  }
});
