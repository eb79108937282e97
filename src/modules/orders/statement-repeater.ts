/** Repeats the statement of a purchase until its outcome is known, with a limit for its lock waits. */
import { Injectable } from '@nestjs/common';
import { isConnectionFault, isLockTimeout, isRefusal, isRetryable } from '../../platform/database/database.js';
import { LOCK_WAIT_MS } from '../../platform/database/refusals.js';
import { monotonicMs, sleep } from '../../platform/support/clock.js';

/** Time for which a statement with a lost answer is repeated. After it, the caller must retry. */
const RECOVERY_MS = 8000;
const RECOVERY_STEP_MS = 50;
const RECOVERY_STEP_MS_MAX = 500;
/** Attempts of a statement whose error Postgres calls retryable. */
const RETRIES_MAX = 3;
/**
 * After a lock was not granted in time, waits are this short for a while. So the purchases behind it are answered
 * instead of piling up.
 */
const SHORT_LOCK_WAIT_MS = 250;
const SHORT_FOR_MS = 5000;

export interface KnownOutcome<T> {
  readonly row: T;
  /** True if an answer was lost, so that the row found may be the one this request created. */
  readonly isRecovered: boolean;
}

@Injectable()
export class StatementRepeater {
  private shortUntilMs = Number.NEGATIVE_INFINITY;

  /**
   * Runs a statement until its outcome is known. After a broken connection the commit may or may not have happened.
   * Repeating the statement resolves this: it finds the result by its key, or creates it now. Rethrows refusals of the
   * database.
   */
  async repeatUntilKnown<T>(run: (lockWaitMs: number) => Promise<T>): Promise<KnownOutcome<T>> {
    const deadlineMs = monotonicMs() + RECOVERY_MS;
    let isRecovered = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return { row: await run(this.lockWaitMs), isRecovered };
      } catch (error) {
        if (isRefusal(error)) throw error;
        if (isLockTimeout(error)) this.shortUntilMs = monotonicMs() + SHORT_FOR_MS;
        const isLost = isConnectionFault(error);
        isRecovered ||= isLost;
        const mayRetry = isLost ? monotonicMs() < deadlineMs : isRetryable(error) && attempt < RETRIES_MAX;
        if (!mayRetry) throw error;
        await sleep(Math.min(RECOVERY_STEP_MS * attempt, RECOVERY_STEP_MS_MAX) * (0.5 + Math.random()));
      }
    }
  }

  private get lockWaitMs(): number {
    return monotonicMs() < this.shortUntilMs ? SHORT_LOCK_WAIT_MS : LOCK_WAIT_MS;
  }
}
