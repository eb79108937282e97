/** Many orders in one transaction, so that one of them can neither stop the others nor hide among them. */
import { isLockTimeout, isRowFault } from './database.js';

export interface OrderFailure {
  readonly order: bigint;
  readonly error: unknown;
}

/** So many orders may each wait in vain for what another session holds; with more of them it is the table that is held. */
const HELD_MAX = 2;

/**
 * Does `work` for all items at once; when a row of theirs makes it fail, or is held by another session, for each order
 * alone. Returns what failed then. Faults of the database itself (away, too slow, a lock that none or hardly any of them
 * has) are no order's fault and are thrown.
 */
export async function allOrEach<T>(
  items: readonly T[],
  orderOf: (item: T) => bigint,
  work: (items: readonly T[]) => Promise<void>,
): Promise<OrderFailure[]> {
  const orders = new Set(items.map(orderOf));
  try {
    await work(items);
    return [];
  } catch (error) {
    if (!isRowFault(error) && !(isLockTimeout(error) && orders.size > 1)) throw error;
  }
  const failures: OrderFailure[] = [];
  let held = 0;
  for (const order of orders) {
    try {
      await work(items.filter((item) => orderOf(item) === order));
    } catch (error) {
      if (isLockTimeout(error)) held += 1;
      if ((!isRowFault(error) && !isLockTimeout(error)) || held > HELD_MAX) throw error;
      failures.push({ order, error });
    }
  }
  return failures;
}
