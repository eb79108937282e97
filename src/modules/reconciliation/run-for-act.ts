import { ChainUnavailableError } from '../../platform/chain/errors.js';
import type { Log } from '../../platform/observability/logger.js';
import { isDatabaseAway } from '../../platform/database/database.js';

/**
 * Runs `work` for one act of the chain. An error of this act alone is logged and the act retried later, so it delays no
 * other. Rethrows if no node or no database answers.
 */
export async function runForAct(log: Log, txid: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ChainUnavailableError || isDatabaseAway(error)) throw error;
    log.error({ err: error, txid }, 'failed to reconcile on-chain transaction; will retry');
  }
}
