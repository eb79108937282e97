/**
 * Counts the browsers' reports of violated content security policies, and logs one every 10 s. Anyone can send such
 * reports.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter } from 'prom-client';
import { monotonicMs } from '../../platform/support/clock.js';
import { receiveBytes } from '../../platform/http/body/read-body.js';
import type { Log } from '../../platform/observability/logger.js';
import type { Metrics } from '../../platform/observability/metrics.js';

const BYTES_MAX = 8 * 1024;
const TIMEOUT_MS = 5000;
const LINE_EVERY_MS = 10_000;
const SHOWN_LENGTH = 200;

export const CSP_REPORT_PATH = '/csp-report';

export class CspReports {
  private loggedMs = Number.NEGATIVE_INFINITY;
  private readonly reports: Counter;

  constructor(
    private readonly log: Log,
    metrics: Metrics,
  ) {
    this.reports = new Counter({
      name: 'console_csp_reports_total',
      help: 'Browser reports of a broken content security policy: must not rise.',
      registers: [metrics.registry],
    });
  }

  /** Always answers 204, so that the sender learns nothing. */
  take(request: IncomingMessage, response: ServerResponse): void {
    this.reports.inc();
    const answer = (): void => {
      if (response.headersSent || response.destroyed) return;
      response.statusCode = 204;
      response.end();
    };
    receiveBytes(request, { limitBytes: BYTES_MAX, timeoutMs: TIMEOUT_MS })
      .then((bytes) => this.note(bytes))
      .then(answer, answer);
  }

  private note(bytes: Buffer): void {
    if (monotonicMs() - this.loggedMs < LINE_EVERY_MS) return;
    this.loggedMs = monotonicMs();
    const report = partsOf(bytes);
    if (report !== undefined) this.log.warn(report, 'content security policy violated');
  }
}

/** Returns directive and blocked URI. The page's address is omitted, because paths contain keys of orders. */
function partsOf(bytes: Buffer): Record<string, string> | undefined {
  try {
    const body = JSON.parse(bytes.toString('utf8')) as { readonly 'csp-report'?: Readonly<Record<string, unknown>> };
    const report = body['csp-report'] ?? {};
    const shown = (name: string): string => {
      const value = report[name];
      return typeof value === 'string' ? value.slice(0, SHOWN_LENGTH) : '';
    };
    return { directive: shown('violated-directive'), blocked: shown('blocked-uri') };
  } catch {
    return undefined;
  }
}
