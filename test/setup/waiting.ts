// Waits for sessions that block on a lock, so that a test can act while the lock is held.
import { until } from '../../packages/local/src/wait.js';
import type { Database } from '../../src/platform/database/database.js';

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
/** Condition on `pg_locks`, which shows all databases of the server: those of tests that run beside this one too. */
export const OF_THIS_DATABASE = `database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
const LIMIT_MS = 10_000;

/** Returns once `count` sessions of the database wait for a lock, or `isOver` returns true. */
export async function untilWaiting(database: Database, count: number, isOver = () => false): Promise<void> {
  const waits = async () => (isOver() || (await database.query(WAITING)).length >= count ? true : undefined);
  await until(waits, LIMIT_MS, `${count.toString()} waiting sessions`, 10);
}
