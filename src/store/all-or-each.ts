/** Many orders in one transaction, so that one of them can neither stop the others nor hide among them. */
import { isRowFault } from './database.js';

export interface OrderFailure {
  readonly order: bigint;
  readonly error: unknown;
}

/**
 * Does `work` for all items at once; when a row of theirs makes it fail, for each order alone. Returns what failed
 * then. Faults of the database itself (away, too slow, a lock not had) are no order's fault and are thrown.
 */
export async function allOrEach<T>(
  items: readonly T[],
  orderOf: (item: T) => bigint,
  work: (items: readonly T[]) => Promise<void>,
): Promise<OrderFailure[]> {
  try {
    await work(items);
    return [];
  } catch (error) {
    if (!isRowFault(error)) throw error;
  }
  const failures: OrderFailure[] = [];
  for (const order of new Set(items.map(orderOf))) {
    try {
      await work(items.filter((item) => orderOf(item) === order));
    } catch (error) {
      if (!isRowFault(error)) throw error;
      failures.push({ order, error });
    }
  }
  return failures;
}
