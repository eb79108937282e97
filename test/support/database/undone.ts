import type { Database, Transaction } from '../../../src/platform/database/database.js';

class Undone extends Error {}

/** Runs `work` in a transaction that is rolled back, and returns its result. */
export async function undone<T>(database: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const results: T[] = [];
  const all = database.transaction(async (tx) => {
    results.push(await work(tx));
    throw new Undone();
  });
  await expect(all).rejects.toThrow(Undone);
  return results[0]!;
}

/** As `undone`, without the triggers, so that any records can be made. */
export const undoneBare = <T>(database: Database, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  undone(database, async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    return work(tx);
  });
