// A purchase wakes a worker through the queue, so that its delivery does not wait for the next sweep. No worker runs
// here, so the jobs stay in the queue.
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { until } from '../../../packages/local/src/wait.js';
import { Config } from '../../../src/platform/config/config.js';
import { Database } from '../../../src/platform/database/database.js';
import { aroundStatements } from '../../../src/platform/database/statement-hook.js';
import { ORDERS_QUEUE, queuePrefix, type OrderDueJob } from '../../../src/platform/queue/jobs.js';
import type { Customer } from '../../support/api/client.js';
import { makeCustomer } from '../../support/api/factory.js';
import { openOrderFixture, withKey, type OrderFixture } from '../../support/api/order-fixture.js';

const START_LIMIT_MS = 120_000;
const JOB_LIMIT_MS = 30_000;

let fixture: OrderFixture;
let redis: Redis;
let queue: Queue<OrderDueJob>;
let customer: Customer;
let isLosing = false;

beforeAll(async () => {
  fixture = await openOrderFixture();
  customer = await makeCustomer(fixture.api);
  redis = new Redis(fixture.env['REDIS_URL']!, { maxRetriesPerRequest: null });
  queue = new Queue(ORDERS_QUEUE, { connection: redis, prefix: queuePrefix(fixture.api.app.get(Config).redis) });
  aroundStatements(fixture.api.app.get(Database, { strict: false }), ['accept-order'], {
    after: () => {
      if (!isLosing) return;
      isLosing = false;
      throw Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' });
    },
  });
}, START_LIMIT_MS);

afterAll(async () => {
  await queue.close();
  redis.disconnect();
  await fixture.close();
}, START_LIMIT_MS);

async function buy(key: string): Promise<string> {
  const body = { receive_address: fixture.receiver(), energy: 65_000 };
  const answer = await customer.post('/v1/orders', body, withKey(key));
  expect([200, 202]).toContain(answer.status);
  return String(answer.body.id);
}

/** The orders that the waiting jobs name, in the order of the jobs. */
const awaited = async (): Promise<string[]> =>
  (await queue.getJobs(['waiting'], 0, -1, true)).map(({ data }) => data.orderId);

const isAwaited = (orderId: string): Promise<true> =>
  until(
    async () => ((await awaited()).includes(orderId) ? true : undefined),
    JOB_LIMIT_MS,
    `the job of order ${orderId}`,
  );

/** Makes the next replay reach the statement, as in a process that has not seen its key. */
async function forgetKeys(): Promise<void> {
  const { prefix } = fixture.api.app.get(Config).redis;
  const forgotten = async (): Promise<true | undefined> => {
    const names = await redis.keys(`${prefix}:key:*`);
    if (names.length === 0) return undefined;
    await redis.del(names);
    return true;
  };
  await until(forgotten, JOB_LIMIT_MS, 'the key in the cache');
}

it('a new order wakes a worker once, and a replay of it wakes none', async () => {
  const first = await buy('first');
  await isAwaited(first);
  await forgetKeys();
  expect(await buy('first')).toBe(first);
  const second = await buy('second');
  await isAwaited(second);
  expect(await awaited()).toEqual([first, second]);
});

it('an order whose first answer was lost wakes a worker', async () => {
  isLosing = true;
  await isAwaited(await buy('lost answer'));
  expect(isLosing).toBe(false);
});
