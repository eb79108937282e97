/** Gives the purchases of all projects their turns before the database. */
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { FairQueue } from '../../platform/support/fair-queue.js';

/** Limit of a request's wait for the first one of its key, and for its turn (docs/interface.md §10). */
export const WAIT_MS = 10_000;
/** Connections that purchases never use, for reads and balances. */
const CONNECTIONS_KEPT_FREE = 2;
/** More would only queue on the project's balance row while holding connections. */
const PER_PROJECT_MAX = 8;
const WAITING_MAX = 20_000;
const WAITING_PER_PROJECT = 10_000;

/** Purchases are never refused for their rate (docs/interface.md §4): a burst waits here, without a connection. */
@Injectable()
export class PurchaseQueue extends FairQueue {
  constructor({ database }: Config) {
    const total = Math.max(1, database.poolMax - CONNECTIONS_KEPT_FREE);
    super({
      total,
      perProject: Math.min(total, PER_PROJECT_MAX),
      waitingMax: WAITING_MAX,
      waitingPerProject: WAITING_PER_PROJECT,
      waitMs: WAIT_MS,
    });
  }
}
