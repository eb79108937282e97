/** The HTTP application of a console: host and origin checks, its pages, and the routes under /api. */
import type { DynamicModule } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request, Response } from 'express';
import type { ConsoleConfig } from '../../platform/config/console-config.js';
import { createServedApp, type PipelineOptions } from '../../platform/http/pipeline/server.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { answerConsoleError } from './console-answer.js';
import { CSP_REPORT_PATH, CspReports } from './csp-reports.js';
import { refuseNulInTarget } from './no-nul.js';
import { Pages } from './pages.js';
import { requireOwnHost, requireSameOrigin } from './same-origin.js';
import { UNSUBSCRIBE_PATH, Unsubscriptions } from './unsubscriptions.js';

const YEAR_SEC = 365 * 24 * 3600;

/** Headers of every answer, JSON and files alike; a page sets its own policy. */
function headersOf({ isSecure }: ConsoleConfig): ReadonlyMap<string, string> {
  return new Map([
    ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
    ['X-Frame-Options', 'DENY'],
    ['X-Content-Type-Options', 'nosniff'],
    ['Referrer-Policy', 'no-referrer'],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['Permissions-Policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
    ...(isSecure ? [['Strict-Transport-Security', `max-age=${YEAR_SEC.toString()}; includeSubDomains`] as const] : []),
  ]);
}

/**
 * Creates the console's application, not listening yet. `pagesFolder` is the build output of packages/console. Throws
 * StartError.
 */
export async function createConsoleApp(
  module: DynamicModule,
  config: ConsoleConfig,
  pagesFolder: string,
): Promise<NestExpressApplication> {
  const pages = new Pages(pagesFolder, config.audience);
  // Set later, because they need the application's services.
  const later: { reports?: CspReports; unsubscriptions?: Unsubscriptions } = {};
  const before = (request: Request, response: Response): boolean => {
    requireOwnHost(request, config.url);
    const [path = ''] = request.url.split('?', 1);
    if (path === '/api' || path.startsWith('/api/')) {
      requireSameOrigin(request, config.url);
      refuseNulInTarget(request.url);
      return false;
    }
    if (path === CSP_REPORT_PATH && request.method === 'POST') {
      requireSameOrigin(request, config.url);
      later.reports?.take(request, response);
      return true;
    }
    if (path === UNSUBSCRIBE_PATH && request.method === 'POST') {
      later.unsubscriptions?.take(request, response);
      return true;
    }
    pages.serve(request, response);
    return true;
  };
  const { http, sales } = config;
  const options: PipelineOptions = { http, sales, headers: headersOf(config), answerError: answerConsoleError, before };
  const app = await createServedApp(module, options);
  later.reports = new CspReports(app.get(Log), app.get(Metrics));
  later.unsubscriptions = app.get(Unsubscriptions);
  return app;
}
