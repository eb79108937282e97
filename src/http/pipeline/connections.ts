/**
 * How many connections the API keeps open: fewer than the descriptors of the process, so that what comes beyond is
 * turned away by us, counted and logged, and not silently by the event loop's library; and fewer from one address than
 * in all, so that none of them shuts out the others.
 */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { monotonicMs } from '../../base/clock.js';
import type { Log } from '../../observability/logger.js';
import type { Metrics } from '../../observability/metrics.js';
import { AddressList, networkOf, peerOf } from './source-address.js';

/** Descriptors that are not callers': stores, nodes, exchanges, files. */
const DESCRIPTORS_KEPT = 128;
/** At most this part of the descriptors is kept for others where there are few. */
const KEPT_SHARE = 0.25;
/** Unless set: where descriptors are plenty, memory is what connections use up. */
const DEFAULT_MAX = 16_384;
/** The part of all connections that one address may have. */
const SHARE_OF_ONE = 0.5;
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

interface ConnectionLimits {
  /** 0 takes what the system's limit of descriptors leaves, and at most DEFAULT_MAX. */
  readonly maxConnections: number;
  /** 0 takes half of all. */
  readonly maxConnectionsPerAddress: number;
  /** Their connections are many callers', and are limited by their own settings. */
  readonly trustedProxies: readonly string[];
}

/** The connections to accept, in all and from one address. */
export function connectionLimits(
  { maxConnections, maxConnectionsPerAddress }: ConnectionLimits,
  descriptors: number | undefined,
): { readonly all: number; readonly ofOne: number } {
  const most = descriptors === undefined ? Number.POSITIVE_INFINITY : connectionsFor(descriptors);
  const all = Math.min(maxConnections === 0 ? DEFAULT_MAX : maxConnections, most);
  const ofOne = maxConnectionsPerAddress === 0 ? Math.max(1, Math.floor(all * SHARE_OF_ONE)) : maxConnectionsPerAddress;
  return { all, ofOne: Math.min(ofOne, all) };
}

/** Limits the connections of `server`, in all and from one address. Those turned away are counted and logged. */
export function limitConnections(server: Server, configured: ConnectionLimits, log: Log, metrics: Metrics): void {
  const { all, ofOne } = connectionLimits(configured, descriptorLimit());
  const tooMany = new CountedLog((dropped) => {
    log.error({ dropped, limit: all }, 'connections were turned away: as many are open as this process may have');
  });
  const tooManyOfOne = new CountedLog((dropped, address) => {
    log.warn(
      { dropped, limit: ofOne, address },
      'connections were turned away: one address has as many open as it may',
    );
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

/** One line in ten seconds about what happens often, with how often and the newest address. */
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
