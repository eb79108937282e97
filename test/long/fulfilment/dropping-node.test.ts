// A single node behind a connection that loses answers: slower, but no order is given up.
import 'reflect-metadata';
import { until } from '../../../packages/local/src/wait.js';
import { CrashCluster } from '../../programmes/crash/cluster.js';
import { openFaultyNode, type FaultyNode } from '../../support/nodes/faulty-node.js';
import { OrderProbe } from '../../support/worker/order-probe.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import { asRole } from '../../setup/roles.js';

const ORDERS = 50;
const START_LIMIT_MS = 180_000;
const DELIVERY_LIMIT_MS = 120_000;

let store: TestDatabase;
let redis: TestRedis;
let cluster: CrashCluster;
let full: FaultyNode;
let solid: FaultyNode;

beforeAll(async () => {
  [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  cluster = await CrashCluster.open({
    databaseUrl: store.url,
    roleUrl: asRole,
    redisUrl: redis.url,
    blockMs: 300,
    solidLag: 3,
    walletsTrx: [500_000, 500_000, 500_000],
  });
  full = await openFaultyNode(cluster.service.fullUrls[0]!);
  solid = await openFaultyNode(cluster.service.solidUrls[0]!);
}, START_LIMIT_MS);

afterAll(async () => {
  await cluster.close();
  await Promise.all([full.close(), solid.close()]);
  await redis.close();
  await store.drop();
}, START_LIMIT_MS);

it(
  'a lone node that loses every fifth answer delivers fifty orders at once, and refunds none',
  async () => {
    full.fail({ kind: 'drops', every: 5 });
    solid.fail({ kind: 'drops', every: 5 });
    await cluster.service.startWorker({ TRON_FULL_NODE_URLS: full.url, TRON_SOLIDITY_NODE_URLS: solid.url });
    const probe = new OrderProbe(cluster);
    const receivers = cluster.service.accounts.map(({ address }) => address);
    const keys = await Promise.all(
      Array.from({ length: ORDERS }, (_, index) => probe.rent(receivers[index % receivers.length]!, 32_000, 3600)),
    );
    const counts = async (): Promise<Record<string, number>> => {
      const rows = await cluster.database.query<{ status: string; count: number }>(
        'SELECT status, count(*)::int AS count FROM orders WHERE key = ANY ($1) GROUP BY status',
        [keys],
      );
      return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
    };
    await until(
      async () => {
        const { delivered = 0, refunded = 0 } = await counts();
        return delivered + refunded === ORDERS ? true : undefined;
      },
      DELIVERY_LIMIT_MS,
      'every order being over one way or the other',
    );
    expect(await counts()).toEqual({ delivered: ORDERS });
    // Every attempt is recorded, also one without an answer.
    const silent = await cluster.database.query(
      'SELECT id FROM chain_tx t WHERE sends > 0 AND NOT EXISTS (SELECT FROM broadcast b WHERE b.chain_tx_id = t.id)',
    );
    expect(silent).toEqual([]);
  },
  START_LIMIT_MS + DELIVERY_LIMIT_MS,
);
