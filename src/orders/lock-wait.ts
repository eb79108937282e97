/**
 * How long an order waits for locks that others hold: a moment, and less once one was found to be kept, so that
 * orders behind it are answered instead of piling up.
 */
import { monotonicMs } from '../base/clock.js';
import { LOCK_WAIT_MS } from '../store/functions/accept-order.js';

const SHORT_WAIT_MS = 250;
/** How long waits stay short after one that was in vain. */
const SHORT_FOR_MS = 5000;

export class LockWait {
  private shortUntilMs = Number.NEGATIVE_INFINITY;

  get ms(): number {
    return monotonicMs() < this.shortUntilMs ? SHORT_WAIT_MS : LOCK_WAIT_MS;
  }

  /** A lock was not had in time. */
  failed(): void {
    this.shortUntilMs = monotonicMs() + SHORT_FOR_MS;
  }
}
