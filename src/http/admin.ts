/**
 * The admin port: probes and metrics, apart from the API's port so that no caller ever reaches them. Plain node:http:
 * three fixed answers need no framework, and a probe should not fail for one.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { monotonicMs, sleep, withDeadline } from '../clock.js';
import { reasonOf } from '../errors.js';
import { opened } from '../fatal.js';
import { scrub, type Log } from './logger.js';
import type { Metrics } from './metrics.js';

/** How long one check of readiness may take before it counts as failed. */
const CHECK_LIMIT_MS = 500;
/** Probes and scrapers are few; more connections than this are a mistake or an attack. */
const CONNECTIONS_MAX = 256;
/** Pace of scrapes: so many at once, then one in so long. A scraper asks every few seconds. */
const SCRAPE_BURST = 20;
const SCRAPE_EVERY_MS = 100;
const SCRAPE_WAIT_MAX_MS = 2000;

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
  const shared = { scrapes: new Scrapes(options.metrics), failed: shareRuns(() => failedChecks(options)) };
  const server = createServer((request, response) => {
    respond(shared, request.method === 'GET' ? (request.url ?? '') : '', response).catch((err: unknown) => {
      options.log.error({ err }, 'An admin request failed.');
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
  readonly scrapes: Scrapes;
  readonly failed: () => Promise<Readonly<Record<string, string>>>;
}

async function respond({ scrapes, failed: check }: Shared, path: string, response: ServerResponse): Promise<void> {
  switch (path) {
    case '/live': {
      json(response, 200, { live: true });
      return;
    }
    case '/ready': {
      const reasons = await check();
      const failed = Object.keys(reasons);
      json(response, failed.length === 0 ? 200 : 503, { ready: failed.length === 0, failed, reasons });
      return;
    }
    case '/metrics': {
      const text = await scrapes.next();
      if (text === undefined) json(response, 503, { busy: true });
      else response.writeHead(200, { 'Content-Type': scrapes.contentType }).end(text);
      return;
    }
    default: {
      json(response, 404, { live: true, paths: ['/live', '/ready', '/metrics'] });
      return;
    }
  }
}

/** Hands out the metrics at a steady pace: who asks in a loop waits, and takes no time from the requests beside. */
class Scrapes {
  private nextMs = monotonicMs();
  private last: { readonly text: string; readonly readMs: number } | undefined;
  private readonly read: () => Promise<string>;
  readonly contentType: string;

  constructor({ registry }: Metrics) {
    this.contentType = registry.contentType;
    this.read = shareRuns(async () => {
      const text = await registry.metrics();
      this.last = { text, readMs: monotonicMs() };
      return text;
    });
  }

  /** The metrics of this moment, or of the second before when many ask; undefined when too many wait already. */
  async next(): Promise<string | undefined> {
    const now = monotonicMs();
    this.nextMs = Math.max(this.nextMs, now - SCRAPE_BURST * SCRAPE_EVERY_MS);
    const waitMs = this.nextMs - now;
    if (waitMs > SCRAPE_WAIT_MAX_MS) {
      await sleep(SCRAPE_WAIT_MAX_MS);
      return undefined;
    }
    this.nextMs += SCRAPE_EVERY_MS;
    if (waitMs <= 0) return this.read();
    await sleep(waitMs);
    const isRecent = this.last !== undefined && monotonicMs() - this.last.readMs < 1000;
    return isRecent && this.last !== undefined ? this.last.text : this.read();
  }
}

/** Runs `work` once for all who ask while it runs. */
function shareRuns<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Why, by the name of each check that failed. */
async function failedChecks({ checks, log }: AdminOptions): Promise<Readonly<Record<string, string>>> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]): Promise<[string, string][]> => {
      try {
        await withDeadline(check(), CHECK_LIMIT_MS, name);
        return [];
      } catch (err) {
        log.warn({ check: name, err }, 'Not ready.');
        return [[name, scrub(reasonOf(err))]];
      }
    }),
  );
  return Object.fromEntries(results.flat());
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
