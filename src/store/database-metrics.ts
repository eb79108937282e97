/** What a process's pool of connections is doing, and the faults Postgres answered with. Only watches. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Database } from './database.js';

/** Faults that say something about load or outages; the others are answers, not trouble. */
const WATCHED_FAULTS: Readonly<Record<string, string>> = {
  '40P01': 'deadlock',
  '40001': 'serialization',
  '55P03': 'lock_timeout',
  '57014': 'statement_timeout',
  '53300': 'too_many_connections',
  connection: 'connection',
};

export function watchDatabase(registry: Registry, database: Database): void {
  const registers = [registry];
  new Gauge({
    name: 'pg_pool_connections',
    help: 'Connections of this process to Postgres: in_use, idle.',
    labelNames: ['state'] as const,
    registers,
    collect() {
      const { totalCount, idleCount } = database.pool;
      this.set({ state: 'in_use' }, totalCount - idleCount);
      this.set({ state: 'idle' }, idleCount);
    },
  });
  new Gauge({
    name: 'pg_pool_waiting',
    help: 'Requests of this process that wait for a connection.',
    registers,
    collect() {
      this.set(database.pool.waitingCount);
    },
  });
  const faults = new Counter({
    name: 'pg_faults_total',
    help: 'Statements that failed by deadlock, serialization, lock_timeout, statement_timeout or a lost connection.',
    labelNames: ['fault'] as const,
    registers,
  });
  // Present from the start, so that the first fault is a rise.
  for (const fault of new Set(Object.values(WATCHED_FAULTS))) faults.inc({ fault }, 0);
  database.onFault = (kind) => {
    // The server stopped, or ended the connection: SQLSTATEs of the same fault.
    const fault = /^(08|57P0|25P03)/.test(kind) ? 'connection' : WATCHED_FAULTS[kind];
    if (fault !== undefined) faults.inc({ fault });
  };
}
