/**
 * Limits the log lines per second about refused requests, and counts the rest in a summary line. Lines about requests
 * that charged, or may have charged, are never suppressed.
 */
import { monotonicMs } from '../../support/clock.js';
import type { RequestContext } from './request-context.js';
import type { Log } from '../../observability/logger.js';
import type { Metrics } from '../../observability/metrics.js';

/** Seconds' worth of lines allowed in a burst. */
const BURST_SEC = 10;
/** Lines about authenticated projects and internal errors, for each line about other callers. */
const PROJECT_FACTOR = 10;
const SUMMARY_MS = 5000;
const CLIENT_GONE = 499;

export class RefusalLog {
  private readonly unknown: LineBudget;
  private readonly projects: LineBudget;
  /** Lines suppressed since the last summary, by error code: a closed set. */
  private readonly suppressed = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: Log,
    private readonly metrics: Metrics,
    linesPerSec: number,
  ) {
    this.unknown = new LineBudget(linesPerSec);
    this.projects = new LineBudget(linesPerSec * PROJECT_FACTOR);
  }

  /** Returns true if the lines of this request are to be written; otherwise counts them. */
  admits(requestContext: RequestContext, status: number): boolean {
    const isKnown = requestContext.caller !== undefined;
    const mayHaveCharged =
      isKnown && requestContext.route?.isPurchase === true && (status === CLIENT_GONE || status >= 500);
    if (status < 400 || mayHaveCharged) return true;
    if ((isKnown || requestContext.errorCode === 'INTERNAL_ERROR' ? this.projects : this.unknown).take()) return true;
    const code = requestContext.errorCode ?? status.toString();
    this.suppressed.set(code, (this.suppressed.get(code) ?? 0) + 1);
    this.metrics.suppressedLines.inc();
    this.timer ??= setTimeout(() => this.flush(), SUMMARY_MS).unref();
    return false;
  }

  /** Writes the summary of suppressed lines, if there are any. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.suppressed.size === 0) return;
    const codes = Object.fromEntries(this.suppressed);
    const count = [...this.suppressed.values()].reduce((sum, each) => sum + each, 0);
    this.suppressed.clear();
    this.log.warn({ count, codes }, 'further refused requests not logged');
  }
}

/** A token bucket: `perSec` lines a second, with a burst. */
class LineBudget {
  private left: number;
  private seenMs = monotonicMs();

  constructor(private readonly perSec: number) {
    this.left = perSec * BURST_SEC;
  }

  take(): boolean {
    const now = monotonicMs();
    this.left = Math.min(this.perSec * BURST_SEC, this.left + ((now - this.seenMs) / 1000) * this.perSec);
    this.seenMs = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }
}
