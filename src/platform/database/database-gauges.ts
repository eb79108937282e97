/** Metrics of the connection pool, the database's faults and its hosts. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { addGauge, addGaugeBy } from '../observability/metrics.js';
import type { Database } from './database.js';

/** Faults that show load or outages. Other errors are ordinary answers. */
const WATCHED_FAULTS: Readonly<Record<string, string>> = {
  '40P01': 'deadlock',
  '40001': 'serialization',
  '55P03': 'lock_timeout',
  '57014': 'statement_timeout',
  '53300': 'too_many_connections',
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '25006': 'read_only',
  EMFILE: 'no_descriptors',
  ENFILE: 'no_descriptors',
  connection: 'connection',
};

/** Further SQLSTATEs of the same faults: the server stopped or ended the connection, lacks something, fails to read. */
const WATCHED_CLASSES: readonly (readonly [RegExp, string])[] = [
  [/^(08|57P0|25P03)/, 'connection'],
  [/^53/, 'no_resources'],
  [/^58/, 'io_error'],
];

const HOST_STATES = ['writable', 'standby', 'read_only', 'old', 'foreign', 'away', 'unknown'] as const;

/**
 * Shows the serving host, the state of each and the highest timeline. A single host is not asked, so it stays unknown.
 */
function watchHosts(registry: Registry, { hosts }: Database): void {
  addGaugeBy(
    registry,
    { name: 'pg_host_serving', help: '1 for the `host` that gets new connections.', label: 'host' },
    () => hosts.all.map(({ name }) => [name, hosts.serving === name ? 1 : 0]),
  );
  new Gauge({
    name: 'pg_host_state',
    help: '1 for the last known `state` of a `host` (`old`: abandoned timeline; `foreign`: other cluster; `unknown`: the only host, not asked).',
    labelNames: ['host', 'state'] as const,
    registers: [registry],
    collect() {
      for (const [host, { state: is }] of hosts.known)
        for (const state of HOST_STATES) this.set({ host, state }, state === is ? 1 : 0);
    },
  });
  addGauge(
    registry,
    'pg_timeline',
    'Highest known timeline; rises with each failover; 0 with one host.',
    () => hosts.timeline,
  );
}

export function watchDatabase(registry: Registry, database: Database): void {
  addGaugeBy(
    registry,
    { name: 'pg_pool_connections', help: 'Connections to Postgres, by `state`.', label: 'state' },
    () => [
      ['in_use', database.pool.totalCount - database.pool.idleCount],
      ['idle', database.pool.idleCount],
    ],
  );
  addGauge(registry, 'pg_pool_waiting', 'Requests that wait for a connection.', () => database.pool.waitingCount);
  watchHosts(registry, database);
  const faults = new Counter({
    name: 'pg_faults_total',
    help: 'Failed statements, by `fault`.',
    labelNames: ['fault'] as const,
    registers: [registry],
  });
  // Created with 0, so that the first fault shows as an increase.
  for (const fault of new Set([...Object.values(WATCHED_FAULTS), ...WATCHED_CLASSES.map(([, fault]) => fault)]))
    faults.inc({ fault }, 0);
  database.onFault = (kind) => {
    const fault = WATCHED_FAULTS[kind] ?? WATCHED_CLASSES.find(([states]) => states.test(kind))?.[1];
    if (fault !== undefined) faults.inc({ fault });
  };
}
