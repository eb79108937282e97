// A short run of the programme that kills the worker during refills. `npm run crash` runs it five times at each point.
import 'reflect-metadata';
import { REFILL_POINTS } from '../../../src/platform/support/crash-point.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';
import { asRole } from '../../setup/roles.js';
import { refillProgramme } from '../../programmes/crash/refill-programme.js';

it('a worker killed at any moment of a refill leaves a shortfall that is bought once', async () => {
  const [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  try {
    const outcome = await refillProgramme({
      databaseUrl: store.url,
      roleUrl: asRole,
      redisUrl: redis.url,
      points: REFILL_POINTS,
      times: 1,
      finishLimitMs: 60_000,
    });
    expect(outcome.violations).toEqual([]);
    expect([...outcome.hits.keys()].sort()).toEqual([...REFILL_POINTS].sort());
  } finally {
    await redis.close();
    await store.drop();
  }
}, 400_000);
