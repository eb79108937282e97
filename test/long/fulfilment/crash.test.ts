// A short run of the crash programme. `npm run crash` kills at every point, five times.
import 'reflect-metadata';
import { createTestDatabase } from '../../setup/database.js';
import { createTestRedis } from '../../setup/redis.js';
import { asRole } from '../../setup/roles.js';
import { crashProgramme } from '../../programmes/crash/programme.js';

/** Points around the moments after which a restart must find exactly the previous state. */
const POINTS = [
  'record-built.after',
  'record-signed.after',
  'record-sending.after',
  'broadcast.after',
  'record-included.after',
  'record-solid.after',
  'number-events.before',
  'webhook-send.after',
  'webhook-record.after',
] as const;

it('a worker or a sender killed at any moment loses, doubles and forgets nothing, and every event arrives signed', async () => {
  const [store, redis] = await Promise.all([createTestDatabase(), createTestRedis()]);
  try {
    const outcome = await crashProgramme({
      databaseUrl: store.url,
      roleUrl: asRole,
      redisUrl: redis.url,
      points: POINTS,
      times: 1,
      finishLimitMs: 60_000,
    });
    expect(outcome.violations).toEqual([]);
    expect([...outcome.hits.keys()].sort()).toEqual([...POINTS].sort());
  } finally {
    await redis.close();
    await store.drop();
  }
}, 300_000);
