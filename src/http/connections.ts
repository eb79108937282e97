/**
 * How many connections the API keeps open: fewer than the descriptors of the process, so that what comes beyond is
 * turned away by us, counted and told, and not silently by the event loop's library.
 */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { monotonicMs } from '../clock.js';
import type { Log } from './logger.js';
import type { Metrics } from './metrics.js';

/** Descriptors that are not callers': stores, nodes, exchanges, files. */
const DESCRIPTORS_KEPT = 128;
/** At most this part of the descriptors is kept for others where there are few. */
const KEPT_SHARE = 0.25;
const LINE_EVERY_MS = 10_000;

/** The most files this process may open; undefined where the system does not say. */
export function descriptorLimit(path = '/proc/self/limits'): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync(path, 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** The connections to accept with `descriptors` open files: some are kept for everything else. */
export function connectionsFor(descriptors: number): number {
  return Math.max(1, descriptors - Math.min(DESCRIPTORS_KEPT, Math.ceil(descriptors * KEPT_SHARE)));
}

/** Limits the connections of `server`; 0 takes what the system's limit leaves. Those turned away are counted and told. */
export function limitConnections(server: Server, configured: number, log: Log, metrics: Metrics): void {
  const descriptors = descriptorLimit();
  const most = descriptors === undefined ? undefined : connectionsFor(descriptors);
  const limit = configured === 0 ? most : Math.min(configured, most ?? configured);
  if (limit === undefined) return;
  server.maxConnections = limit;
  let untold = 0;
  let toldMs = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    metrics.droppedConnections.inc();
    untold += 1;
    if (monotonicMs() - toldMs < LINE_EVERY_MS) return;
    log.error({ dropped: untold, limit }, 'connections were turned away: as many are open as this process may have');
    untold = 0;
    toldMs = monotonicMs();
  });
}
