// The meaning of a Redis job: active while its order is being checked, completed afterwards, failed on an exception.
// Postgres still decides: whatever happens to a job, the sweep finds the order.
import 'reflect-metadata';
import { Queue, Worker, type Job } from 'bullmq';
import { Redis } from 'ioredis';
import { ChainView } from '../../../src/modules/fulfilment/follow/chain-view.js';
import { FulfilmentLoop } from '../../../src/modules/fulfilment/loop/fulfilment-loop.js';
import { OrdersProcessor } from '../../../src/modules/fulfilment/loop/orders.processor.js';
import { Metrics } from '../../../src/platform/observability/metrics.js';
import { until } from '../../../packages/local/src/wait.js';
import { ORDER_DUE_JOB, ORDERS_QUEUE } from '../../../src/platform/queue/jobs.js';
import {
  api,
  clearFixture,
  closeFixture,
  env,
  full,
  SteppedWorker,
  mine,
  openFixture,
  orderOf,
  receivers,
  rent,
  START_LIMIT_MS,
  statusesOf,
  fixtureDatabaseUrl,
} from '../../support/worker/fulfilment-fixture.js';
import { asAdmin } from '../../setup/admin.js';

const LIMIT_MS = 20_000;
const PREFIX = 'ter:queue';
/** No sweep runs within a test, so every claim was named by a job. */
const NO_SWEEP = { WORKER_SWEEP_MS: '60000' };
const NO_ORDER = 999_999_999n;

let redis: Redis;
let queue: Queue;
let workers: SteppedWorker[] = [];

beforeAll(async () => {
  await openFixture();
  redis = new Redis(env['REDIS_URL']!, { maxRetriesPerRequest: null });
  queue = new Queue(ORDERS_QUEUE, { connection: redis, prefix: PREFIX });
}, START_LIMIT_MS);

afterEach(async () => {
  full.rest();
  for (const worker of workers) await worker.close();
  workers = [];
  await redis.flushdb();
  await clearFixture();
}, START_LIMIT_MS);

afterAll(async () => {
  await queue.close();
  redis.disconnect();
  await closeFixture();
}, START_LIMIT_MS);

/** Starts a worker as in its own process, without pool sync and reconciler. */
async function startWorker(extra: Record<string, string> = {}): Promise<SteppedWorker> {
  const worker = await SteppedWorker.open(extra);
  workers.push(worker);
  await mine();
  const loop = worker.part(FulfilmentLoop);
  loop.start();
  worker.part(OrdersProcessor).start();
  // Later purchases are found by their jobs: the first sweep is over, and orders can be processed.
  const isWorking = () => Number.isFinite(loop.sweepAgeSec) && worker.part(ChainView).current !== undefined;
  await until(() => Promise.resolve(isWorking() || undefined), LIMIT_MS, 'the worker being at work', 20);
  return worker;
}

const add = (orderId: unknown, name: string = ORDER_DUE_JOB) => queue.add(name, { orderId: String(orderId) });

const jobOf = async (orderId: bigint, state: 'active' | 'completed' | 'failed'): Promise<Job | undefined> =>
  (await queue.getJobs([state])).find((job) => (job.data as { orderId: string }).orderId === orderId.toString());

const jobBecomes = (orderId: bigint, state: 'active' | 'completed' | 'failed'): Promise<Job> =>
  until(() => jobOf(orderId, state), LIMIT_MS, `the job of order ${orderId.toString()} being ${state}`, 20);

const sent = (key: string): Promise<true> =>
  until(
    async () => ((await statusesOf(key)).includes('sending') ? true : undefined),
    LIMIT_MS,
    `${key} being sent`,
    20,
  );

/** Holds broadcasts until `release`. `arrived` resolves with the first one. */
function holdBroadcasts(): { readonly arrived: Promise<void>; readonly release: () => void } {
  let release = (): void => undefined;
  const free = new Promise<void>((resolve) => (release = resolve));
  const arrived = new Promise<void>((resolve) => {
    full.before = async (path) => {
      if (path !== 'wallet/broadcasthex') return undefined;
      resolve();
      await free;
      return undefined;
    };
  });
  return { arrived, release };
}

/** Makes the database refuse every new chain transaction, or accept them again. */
async function refuseTransactions(isRefused: boolean): Promise<void> {
  await asAdmin(fixtureDatabaseUrl(), async (client) => {
    await client.query('DROP TRIGGER IF EXISTS refuse_all ON chain_tx');
    if (!isRefused) return;
    await client.query(
      `CREATE OR REPLACE FUNCTION refuse_all() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'no transaction today'; END $$`,
    );
    await client.query(
      'CREATE TRIGGER refuse_all BEFORE INSERT ON chain_tx FOR EACH ROW EXECUTE FUNCTION refuse_all()',
    );
  });
}

describe('a job', () => {
  test('is active until the look at its order is over, and completed then', async () => {
    const broadcasts = holdBroadcasts();
    await startWorker({ ...NO_SWEEP, TRON_BROADCAST_TIMEOUT_MS: '20000' });
    const key = await rent(receivers[0]!);
    const { id } = await orderOf(key);
    await broadcasts.arrived;
    expect(await jobOf(id, 'completed')).toBeUndefined();
    expect(await jobOf(id, 'active')).toBeDefined();
    broadcasts.release();
    await jobBecomes(id, 'completed');
    const [row] = await api.database.query<{ answers: number; leased: boolean }>(
      `SELECT lease_until IS NOT NULL AS leased, (SELECT count(*)::int FROM broadcast b JOIN chain_tx t ON t.id = b.chain_tx_id
          WHERE t.order_id = o.id) AS answers FROM orders o WHERE id = $1`,
      [id],
    );
    expect(row).toEqual({ answers: 1, leased: false });
  });

  test('fails with the reason when the look at its order throws, and the sweep delivers the order', async () => {
    await refuseTransactions(true);
    try {
      await startWorker(NO_SWEEP);
      const key = await rent(receivers[0]!);
      const { id } = await orderOf(key);
      expect((await jobBecomes(id, 'failed')).failedReason).toContain('no transaction today');
      await refuseTransactions(false);
      await startWorker();
      await api.database.query('UPDATE orders SET next_run_at = clock_timestamp() WHERE id = $1', [id]);
      await sent(key);
    } finally {
      await refuseTransactions(false);
    }
  });

  test('does not delay an order that no other job names, however many other jobs there are', async () => {
    const worker = await SteppedWorker.open();
    workers.push(worker);
    await mine();
    const loop = worker.part(FulfilmentLoop);
    loop.start();
    const over = new AbortController();
    const ask = async (first: bigint): Promise<void> => {
      for (let id = first; !over.signal.aborted; id += 1n) await loop.advanceOrder(id);
    };
    await loop.opened;
    // More checks than a round takes, so that new ones keep arriving.
    const asking = Promise.all(Array.from({ length: 100 }, (_, n) => ask(NO_ORDER + BigInt(n) * 1_000_000n)));
    try {
      await sent(await rent(receivers[0]!));
    } finally {
      over.abort();
      await asking;
    }
  });

  test('that names an order which is not due, or none at all, is completed: there is nothing to look at', async () => {
    await startWorker(NO_SWEEP);
    await add(NO_ORDER);
    await jobBecomes(NO_ORDER, 'completed');
  });

  test('with invalid content fails, and causes no work', async () => {
    await startWorker(NO_SWEEP);
    const forged = await add('1; DROP TABLE orders');
    const unknown = await add(1, 'order-forgotten');
    const failed = await until(
      async () => {
        const jobs = await queue.getJobs(['failed']);
        return jobs.length === 2 ? jobs : undefined;
      },
      LIMIT_MS,
      'two failed jobs',
      20,
    );
    const reasons = new Map(failed.map((job) => [job.id, job.failedReason]));
    expect(reasons.get(forged.id)).toBe('the job names no order');
    expect(reasons.get(unknown.id)).toBe('no handler for a job order-forgotten');
  });

  test('of a worker that died is taken by another one', async () => {
    await add(NO_ORDER);
    const dead = new Worker(ORDERS_QUEUE, null, { connection: redis, prefix: PREFIX, lockDuration: 50 });
    const job = await dead.getNextJob('dead');
    await dead.close();
    const lock = `${PREFIX}:${ORDERS_QUEUE}:${job.id!}:lock`;
    await until(async () => ((await redis.exists(lock)) === 0 ? true : undefined), LIMIT_MS, 'the end of the lock', 20);
    // The entry that BullMQ's stalled check would have written half a minute before.
    await redis.sadd(`${PREFIX}:${ORDERS_QUEUE}:stalled`, job.id!);
    await startWorker(NO_SWEEP);
    expect((await jobBecomes(NO_ORDER, 'completed')).stalledCounter).toBe(1);
  });

  test('whose look is over when the worker stops is left completed, not active', async () => {
    const broadcasts = holdBroadcasts();
    const worker = await startWorker({ ...NO_SWEEP, TRON_BROADCAST_TIMEOUT_MS: '20000' });
    const { id } = await orderOf(await rent(receivers[0]!));
    await broadcasts.arrived;
    const closing = worker.close();
    broadcasts.release();
    await closing;
    expect(await jobOf(id, 'active')).toBeUndefined();
    expect(await jobOf(id, 'completed')).toBeDefined();
  });
});

describe('Redis', () => {
  test('losing every job loses no order', async () => {
    const key = await rent(receivers[0]!);
    await redis.flushdb();
    await startWorker();
    await sent(key);
  });

  test('keeps a hundred completed and a hundred failed jobs, however many there were', async () => {
    await startWorker(NO_SWEEP);
    const jobs = (orderId: string) => Array.from({ length: 150 }, () => ({ name: ORDER_DUE_JOB, data: { orderId } }));
    await queue.addBulk([...jobs(NO_ORDER.toString()), ...jobs('none')]);
    const counts = () => queue.getJobCounts('waiting', 'active', 'completed', 'failed');
    await until(
      async () => {
        const { waiting, active } = await counts();
        return waiting === 0 && active === 0 ? true : undefined;
      },
      LIMIT_MS,
      'every job being over',
      20,
    );
    expect(await counts()).toEqual({ waiting: 0, active: 0, completed: 100, failed: 100 });
  });

  test('accepts no further wake-ups while a thousand wait that no worker takes', async () => {
    const data = { orderId: NO_ORDER.toString() };
    await queue.addBulk(Array.from({ length: 1000 }, () => ({ name: ORDER_DUE_JOB, data })));
    const failures = async (): Promise<number> => {
      const values = await api.app.get(Metrics).registry.getSingleMetric('order_wakes_failed_total')?.get();
      return values?.values[0]?.value ?? 0;
    };
    const before = await failures();
    await rent(receivers[0]!);
    await until(
      async () => ((await failures()) > before ? true : undefined),
      LIMIT_MS,
      'a wake-up being left to the sweep',
      20,
    );
    expect(await queue.getWaitingCount()).toBe(1000);
  });
});
