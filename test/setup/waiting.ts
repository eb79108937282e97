// Sessions that wait for what another one holds: what a test makes happen before that one is done.
import { until } from '../../packages/local/src/wait.js';
import type { Database } from '../../src/store/database.js';

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
const LIMIT_MS = 10_000;

/** Until so many sessions of the database wait for a lock, or `isOver` says that there is nothing to wait for. */
export async function untilWaiting(database: Database, count: number, isOver = () => false): Promise<void> {
  const waits = async () => (isOver() || (await database.query(WAITING)).length >= count ? true : undefined);
  await until(waits, LIMIT_MS, `${count.toString()} waiting sessions`, 10);
}
