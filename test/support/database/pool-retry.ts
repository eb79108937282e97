/** Errors of a pool that had no free connection in time. The database was not asked. */
const NO_PLACE = ['timeout exceeded when trying to connect', 'Connection terminated due to connection timeout'];
const NO_PLACE_MAX = 20;

/**
 * Retries `work` when the pool has no free connection in time: many concurrent callers share it. Throws after 20
 * retries.
 */
export async function retryWithoutConnection<T>(work: () => Promise<T>): Promise<T> {
  for (let left = NO_PLACE_MAX; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left === 0 || !(error instanceof Error) || !NO_PLACE.includes(error.message)) throw error;
    }
  }
}
