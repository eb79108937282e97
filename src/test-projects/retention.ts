/** Deletes what orders of test projects leave behind, once it is old: the rows of live ones are kept for ever. */
import { CLOCK_IS_STEADY, confirmedNow } from '../store/confirmed-clock.js';
import type { Database } from '../store/database.js';

/** Since the last event of an order. */
const KEPT_DAYS = 30;

const PRUNE = {
  name: 'prune_test_orders',
  text: `SELECT CASE WHEN ${CLOCK_IS_STEADY} THEN prune_test_orders($1, $2) ELSE 0 END AS orders`,
};

/** One bounded step. Returns how many orders went; 0 while events are being numbered or the clock is not confirmed. */
export async function pruneTestOrders(database: Database, ordersMax: number): Promise<number> {
  if ((await confirmedNow(database)) === undefined) return 0;
  const [done] = await database.query<{ orders: number }>(PRUNE, [KEPT_DAYS, ordersMax]);
  return done?.orders ?? 0;
}
