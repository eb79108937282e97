import { ChainUnavailableError } from '../../platform/chain/errors.js';
import type { Log } from '../../platform/observability/logger.js';
import { isDatabaseAway } from '../../platform/database/database.js';
import type { ActPosition } from './act-pages.js';

/**
 * Runs `work` for one act of the chain. An error of this act alone is logged and the act retried later, so it delays no
 * other. Rethrows if no node or no database answers.
 */
export async function runForAct(log: Log, { txid }: ActPosition, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ChainUnavailableError || isDatabaseAway(error)) throw error;
    log.error({ err: error, txid: txid.toString('hex') }, 'failed to reconcile on-chain transaction; will retry');
  }
}
