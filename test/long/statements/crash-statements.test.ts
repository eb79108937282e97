// A short run of the programme that kills the worker while it closes months. `npm run crash` runs it five times at each
// point.
import 'reflect-metadata';
import { STATEMENT_POINTS } from '../../../src/platform/support/crash-point.js';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';
import { asRole } from '../../setup/roles.js';
import { statementProgramme } from '../../programmes/crash/statement-programme.js';

it('a worker killed at any moment of closing months closes each once, with all its entries', async () => {
  const [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  try {
    const outcome = await statementProgramme({
      databaseUrl: store.url,
      roleUrl: asRole,
      redisUrl: redis.url,
      points: STATEMENT_POINTS,
      times: 1,
      finishLimitMs: 60_000,
    });
    expect(outcome.violations).toEqual([]);
    expect([...outcome.hits.keys()].sort()).toEqual([...STATEMENT_POINTS].sort());
  } finally {
    await redis.close();
    await store.drop();
  }
}, 400_000);
