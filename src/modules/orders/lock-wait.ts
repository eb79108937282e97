/**
 * Limits how long an order waits for locks held by others. After a timeout the limit is shorter for a while, so that
 * the orders behind it are answered instead of piling up.
 */
import { monotonicMs } from '../../platform/support/clock.js';
import { LOCK_WAIT_MS } from '../../platform/database/refusals.js';

const SHORT_WAIT_MS = 250;
/** Time for which waits stay short after a timeout. */
const SHORT_FOR_MS = 5000;

export class LockWait {
  private shortUntilMs = Number.NEGATIVE_INFINITY;

  get limitMs(): number {
    return monotonicMs() < this.shortUntilMs ? SHORT_WAIT_MS : LOCK_WAIT_MS;
  }

  /** Records that a lock was not granted in time. */
  shorten(): void {
    this.shortUntilMs = monotonicMs() + SHORT_FOR_MS;
  }
}
