/**
 * The admin port: probes and metrics, separate from the API's port so that no caller can reach them. Plain node:http:
 * three fixed answers need no framework, and a probe must not fail because of one.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { monotonicMs, sleep, withDeadline } from '../support/clock.js';
import { reasonOf } from '../../domain/errors.js';
import { opened } from '../support/fatal.js';
import { isAdminHost } from './admin-hosts.js';
import { scrub, type Log } from './logger.js';
import type { Metrics } from './metrics.js';

/** A readiness check that takes longer counts as failed. */
const CHECK_LIMIT_MS = 500;
/** Probes and scrapers are few. More connections are a mistake or an attack. */
const CONNECTIONS_MAX = 256;
/**
 * Minimum interval between computations, shared by all waiting requests. Scrapers poll every few seconds, and each
 * computation takes time from other requests.
 */
const METRICS_EVERY_MS = 1000;
const CHECKS_EVERY_MS = 100;

interface AdminOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly metrics: Metrics;
  /** Checks by name. Each resolves if its part can serve; it rejects or takes too long if it cannot. */
  readonly checks: Readonly<Record<string, () => Promise<unknown>>>;
  /** Further members of the `/ready` answer, independent of the checks. */
  readonly about?: () => Readonly<Record<string, unknown>>;
  readonly log: Log;
}

/**
 * Listens; the caller closes the server. `/live`: the event loop turns. `/ready`: every check passes. `/metrics`:
 * Prometheus.
 */
export async function openAdmin(options: AdminOptions): Promise<Server> {
  const { registry } = options.metrics;
  const logged = new Set<string>();
  const shared = {
    contentType: registry.contentType,
    metrics: new SharedRuns(METRICS_EVERY_MS, () => registry.metrics()),
    about: options.about ?? (() => ({})),
    checks: new SharedRuns(CHECKS_EVERY_MS, () => failedChecks(options, logged)),
  };
  const server = createServer((request, response) => {
    if (!isAdminHost(request.headers.host, options.host)) {
      json(response, 421, { error: 'The admin port answers to its address or a private name, not to this Host.' });
      return;
    }
    respond(shared, request.method === 'GET' ? (request.url ?? '') : '', response).catch((err: unknown) => {
      options.log.error({ err }, 'failed to answer an admin request');
      response.destroy();
    });
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.requestTimeout = 5000;
  server.keepAliveTimeout = 5000;
  const listening = new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  await opened(listening, { port: 'ADMIN_PORT', host: 'ADMIN_HOST' });
  return server;
}

interface Shared {
  readonly contentType: string;
  readonly metrics: SharedRuns<string>;
  readonly about: () => Readonly<Record<string, unknown>>;
  readonly checks: SharedRuns<Reasons>;
}

async function respond(shared: Shared, path: string, response: ServerResponse): Promise<void> {
  switch (path) {
    case '/live': {
      json(response, 200, { live: true });
      return;
    }
    case '/ready': {
      const reasons = await shared.checks.next();
      const failed = Object.keys(reasons);
      json(response, failed.length === 0 ? 200 : 503, {
        ready: failed.length === 0,
        failed,
        reasons,
        ...shared.about(),
      });
      return;
    }
    case '/metrics': {
      const text = await shared.metrics.next();
      response.writeHead(200, { 'Content-Type': shared.contentType }).end(text);
      return;
    }
    default: {
      json(response, 404, { live: true, paths: ['/live', '/ready', '/metrics'] });
      return;
    }
  }
}

/**
 * Runs `work` at most once in `everyMs`, each time for all requests from before its start. So no request gets a result
 * older than itself, and a polling caller waits.
 */
class SharedRuns<T> {
  private begunMs = Number.NEGATIVE_INFINITY;
  /** The run that has not begun yet. */
  private following: Promise<T> | undefined;
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly everyMs: number,
    private readonly work: () => Promise<T>,
  ) {}

  next(): Promise<T> {
    this.following ??= this.run(this.running);
    return this.following;
  }

  private async run(before: Promise<unknown>): Promise<T> {
    await before;
    await sleep(Math.max(0, this.begunMs + this.everyMs - monotonicMs()));
    this.begunMs = monotonicMs();
    const run = this.work();
    this.running = run.catch(() => undefined);
    this.following = undefined;
    return run;
  }
}

/** The reason of each failed check, by its name. */
type Reasons = Readonly<Record<string, string>>;

/** Runs the checks. Logs each failing check once, until it passes again. */
async function failedChecks({ checks, log }: AdminOptions, logged: Set<string>): Promise<Reasons> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]): Promise<[string, string][]> => {
      try {
        await withDeadline(check(), CHECK_LIMIT_MS, name);
        logged.delete(name);
        return [];
      } catch (err) {
        if (!logged.has(name)) log.warn({ check: name, err }, 'readiness check failed');
        logged.add(name);
        return [[name, scrub(reasonOf(err))]];
      }
    }),
  );
  return Object.fromEntries(results.flat());
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
