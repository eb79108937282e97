import { monotonicMs } from '../support/clock.js';

/**
 * TRON (hosted nodes): backends behind one name are up to a block apart, so the next one may not have a block yet that
 * another one has just returned.
 */
const WAIT_MS = 5_000;

/** The bounded wait for a block that the answering backend does not have yet. */
export class BackendWait {
  private sinceMs: number | undefined;

  /** Begins the wait if nothing was missing. Returns true while it is shorter than the limit. */
  keepWaiting(): boolean {
    this.sinceMs ??= monotonicMs();
    return monotonicMs() - this.sinceMs < WAIT_MS;
  }

  /** Records that nothing is missing. */
  end(): void {
    this.sinceMs = undefined;
  }
}
