/** Work for many orders in one transaction, repeated per order if one of them fails. */
import { isLockTimeout, isRowFault } from './database.js';

export interface OrderFailure {
  readonly order: bigint;
  readonly error: unknown;
}

/** At most this many orders may each time out on a lock. With more of them, another session holds the table. */
const HELD_MAX = 2;

/**
 * Runs `work` for all items together. If one of their rows makes it fail, or another session holds a row, runs it for
 * each order alone. Returns the failures of those runs. Throws faults that concern no single order: an unreachable or
 * slow database, a lock timeout with only one order, or more than HELD_MAX of them.
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
