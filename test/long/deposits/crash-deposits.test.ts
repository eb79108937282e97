// A short run of the programme that kills the deposit reader. `npm run crash` runs it five times at each point.
import 'reflect-metadata';
import { DEPOSIT_POINTS } from '../../../src/platform/support/crash-point.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';
import { asRole } from '../../setup/roles.js';
import { depositProgramme } from '../../programmes/crash/deposit-programme.js';

it('a worker killed at any moment of reading deposits credits each once, and misses none', async () => {
  const [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  try {
    const outcome = await depositProgramme({
      databaseUrl: store.url,
      roleUrl: asRole,
      redisUrl: redis.url,
      points: DEPOSIT_POINTS,
      times: 1,
      finishLimitMs: 60_000,
    });
    expect(outcome.violations).toEqual([]);
    expect([...outcome.hits.keys()].sort()).toEqual([...DEPOSIT_POINTS].sort());
    expect(outcome.made).toBeGreaterThan(20);
  } finally {
    await redis.close();
    await store.drop();
  }
}, 400_000);
