/** How a process reaches Postgres: one pool, bounded in size and in every wait. */
import { DataSource } from 'typeorm';
import { Initial1760000000001 } from './migrations/0001-initial.js';

export const MIGRATIONS = [Initial1760000000001];

interface DataSourceOptions {
  readonly url: string;
  readonly poolMax: number;
  readonly applicationName: string;
  /** The longest one statement may take, 0 = no limit (migrations). */
  readonly statementTimeoutMs?: number;
}

export function createDataSource(options: DataSourceOptions): DataSource {
  const statementTimeoutMs = options.statementTimeoutMs ?? 12_000;
  return new DataSource({
    type: 'postgres',
    url: options.url,
    migrations: MIGRATIONS,
    migrationsTransactionMode: 'each',
    applicationName: options.applicationName,
    extra: {
      max: options.poolMax,
      // pg waits for ever by default, for a connection as for a free place in the pool.
      connectionTimeoutMillis: 2000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      // A same-key request waits for the first up to 10 s (Contract 6); the statement outlives that wait a little.
      options: [
        `-c statement_timeout=${statementTimeoutMs.toString()}`,
        '-c lock_timeout=10000',
        '-c idle_in_transaction_session_timeout=10000',
        '-c timezone=UTC',
      ].join(' '),
    },
  });
}
