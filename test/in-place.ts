/** What a pool says of whoever found no connection in time; nothing was asked of the database then. */
const NO_PLACE = ['timeout exceeded when trying to connect', 'Connection terminated due to connection timeout'];
const NO_PLACE_MAX = 20;

/** Of so many at once some find no connection in time, and come again; one that never finds any fails. */
export async function inPlace<T>(work: () => Promise<T>): Promise<T> {
  for (let left = NO_PLACE_MAX; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left === 0 || !(error instanceof Error) || !NO_PLACE.includes(error.message)) throw error;
    }
  }
}
