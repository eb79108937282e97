// A short run of the programme that kills the player of test orders. `npm run crash` runs it five times at each point.
import 'reflect-metadata';
import { TEST_ORDER_POINTS } from '../../../src/platform/support/crash-point.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';
import { asRole } from '../../setup/roles.js';
import { testOrderProgramme } from '../../programmes/crash/test-order-programme.js';

it('a worker killed at any moment of playing test orders plays each to its end once', async () => {
  const [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  try {
    const outcome = await testOrderProgramme({
      databaseUrl: store.url,
      roleUrl: asRole,
      redisUrl: redis.url,
      points: TEST_ORDER_POINTS,
      times: 1,
      finishLimitMs: 60_000,
    });
    expect(outcome.violations).toEqual([]);
    expect([...outcome.hits.keys()].sort()).toEqual([...TEST_ORDER_POINTS].sort());
  } finally {
    await redis.close();
    await store.drop();
  }
}, 400_000);
