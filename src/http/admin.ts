/**
 * The admin port: probes and metrics, apart from the API's port so that no caller ever reaches them. Plain node:http:
 * three fixed answers need no framework, and a probe should not fail for one.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { withDeadline } from '../clock.js';
import type { Log } from './logger.js';
import type { Metrics } from './metrics.js';

/** How long one check of readiness may take before it counts as failed. */
const CHECK_LIMIT_MS = 500;

interface AdminOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly metrics: Metrics;
  /** By name: each resolves when its part can serve, and rejects or takes too long when it cannot. */
  readonly checks: Readonly<Record<string, () => Promise<unknown>>>;
  readonly log: Log;
}

/** Listens; the caller closes it. `/live`: the event loop turns. `/ready`: every check passes. `/metrics`: Prometheus. */
export async function openAdmin(options: AdminOptions): Promise<Server> {
  const server = createServer((request, response) => {
    respond(options, request.method === 'GET' ? (request.url ?? '') : '', response).catch((err: unknown) => {
      options.log.error({ err }, 'An admin request failed.');
      response.destroy();
    });
  });
  server.requestTimeout = 5000;
  server.keepAliveTimeout = 5000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return server;
}

async function respond(options: AdminOptions, path: string, response: ServerResponse): Promise<void> {
  switch (path) {
    case '/live': {
      json(response, 200, { live: true });
      return;
    }
    case '/ready': {
      const failed = await failedChecks(options);
      json(response, failed.length === 0 ? 200 : 503, { ready: failed.length === 0, failed });
      return;
    }
    case '/metrics': {
      const { registry } = options.metrics;
      response.writeHead(200, { 'Content-Type': registry.contentType }).end(await registry.metrics());
      return;
    }
    default: {
      json(response, 404, { live: true, paths: ['/live', '/ready', '/metrics'] });
      return;
    }
  }
}

async function failedChecks({ checks, log }: AdminOptions): Promise<string[]> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await withDeadline(check(), CHECK_LIMIT_MS, name);
        return undefined;
      } catch (err) {
        log.warn({ check: name, err }, 'Not ready.');
        return name;
      }
    }),
  );
  return results.filter((name) => name !== undefined);
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
