/** What goes wrong with one act of the chain holds up no other. */
import { ChainUnavailableError } from '../chain/errors.js';
import type { Log } from '../observability/logger.js';
import { isDatabaseAway } from '../store/database.js';

/** Does `work` for one act; a fault of it alone is logged, and it comes again. Throws when no node or no database answers. */
export async function oneAct(log: Log, txid: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ChainUnavailableError || isDatabaseAway(error)) throw error;
    log.error({ err: error, txid }, 'an act on chain could not be held against the records; it comes again');
  }
}
