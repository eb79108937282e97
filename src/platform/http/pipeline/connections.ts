/**
 * Limits the API's open connections. The total stays below the process's descriptors, so that our code rejects, counts
 * and logs excess connections. Otherwise the event loop's library would drop them silently. One address gets fewer than
 * the total, so that it cannot shut out the others.
 */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { monotonicMs } from '../../support/clock.js';
import type { Log } from '../../observability/logger.js';
import type { Metrics } from '../../observability/metrics.js';
import { AddressList, networkOf, peerOf } from './source-address.js';

/** Descriptors for other uses than callers: stores, nodes, exchanges, files. */
const DESCRIPTORS_KEPT = 128;
/** With few descriptors, at most this share of them is kept for other uses. */
const KEPT_SHARE = 0.25;
/** Default: with plenty of descriptors, memory is the limit. */
const DEFAULT_MAX = 16_384;
/** The share of all connections that one address may have. */
const SHARE_OF_ONE = 0.5;
const LINE_EVERY_MS = 10_000;

/** Returns the maximum number of open files of this process; undefined if the system does not report it. */
export function descriptorLimit(path = '/proc/self/limits'): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync(path, 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Returns the number of connections to accept with `descriptors` open files: some are kept for other uses. */
export function connectionsFor(descriptors: number): number {
  return Math.max(1, descriptors - Math.min(DESCRIPTORS_KEPT, Math.ceil(descriptors * KEPT_SHARE)));
}

interface ConnectionLimits {
  /** 0: as many as the descriptor limit allows, at most DEFAULT_MAX. */
  readonly maxConnections: number;
  /** 0: half of all. */
  readonly maxConnectionsPerAddress: number;
  /** A proxy's connections carry many callers, and are limited by its own settings. */
  readonly trustedProxies: readonly string[];
}

/** Returns the number of connections to accept, in total and from one address. */
export function connectionLimits(
  { maxConnections, maxConnectionsPerAddress }: ConnectionLimits,
  descriptors: number | undefined,
): { readonly all: number; readonly ofOne: number } {
  const most = descriptors === undefined ? Number.POSITIVE_INFINITY : connectionsFor(descriptors);
  const all = Math.min(maxConnections === 0 ? DEFAULT_MAX : maxConnections, most);
  const ofOne = maxConnectionsPerAddress === 0 ? Math.max(1, Math.floor(all * SHARE_OF_ONE)) : maxConnectionsPerAddress;
  return { all, ofOne: Math.min(ofOne, all) };
}

/** Limits the connections of `server`, in total and from one address. Rejected connections are counted and logged. */
export function limitConnections(server: Server, configured: ConnectionLimits, log: Log, metrics: Metrics): void {
  const { all, ofOne } = connectionLimits(configured, descriptorLimit());
  const tooMany = new CountedLog((dropped) => {
    log.error({ dropped, limit: all, limitOf: 'process' }, 'connections refused');
  });
  const tooManyOfOne = new CountedLog((dropped, address) => {
    log.warn({ dropped, limit: ofOne, limitOf: 'address', address }, 'connections refused');
  });
  server.maxConnections = all;
  server.on('drop', () => {
    metrics.droppedConnections.inc({ limit: 'all' });
    tooMany.count('');
  });
  const proxies = new AddressList(configured.trustedProxies);
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = peerOf(socket);
    if (proxies.has(address)) return;
    const network = networkOf(address);
    const count = open.get(network) ?? 0;
    if (count >= ofOne) {
      metrics.droppedConnections.inc({ limit: 'address' });
      tooManyOfOne.count(address);
      socket.destroy();
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
}

/** Logs a frequent event at most once in ten seconds, with the count and the newest address. */
class CountedLog {
  private unlogged = 0;
  private loggedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly write: (count: number, address: string) => void) {}

  count(address: string): void {
    this.unlogged += 1;
    if (monotonicMs() - this.loggedMs < LINE_EVERY_MS) return;
    this.write(this.unlogged, address);
    this.unlogged = 0;
    this.loggedMs = monotonicMs();
  }
}
