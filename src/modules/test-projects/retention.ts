/** Deletes old orders of test projects. Rows of live projects are kept for ever. */
import { CLOCK_IS_STEADY, confirmedNow } from '../../platform/database/confirmed-clock.js';
import type { Database } from '../../platform/database/database.js';

/** Days since the last event of an order. */
const KEPT_DAYS = 30;

const PRUNE = {
  name: 'prune_test_orders',
  text: `SELECT CASE WHEN ${CLOCK_IS_STEADY} THEN prune_test_orders($1, $2) ELSE 0 END AS orders`,
};

/**
 * Makes one bounded step and returns the number of deleted orders. Returns 0 while events are being numbered or the
 * clock is not confirmed.
 */
export async function pruneTestOrders(database: Database, ordersMax: number): Promise<number> {
  if ((await confirmedNow(database)) === undefined) return 0;
  const [done] = await database.query<{ orders: number }>(PRUNE, [KEPT_DAYS, ordersMax]);
  return done?.orders ?? 0;
}
