import type { DataSource } from 'typeorm';
import { monotonicMs, sleep } from '../support/clock.js';
import type { Sealers } from '../support/sealers.js';
import { messageOf, reasonOf, StartError } from '../../domain/errors.js';
import type { DatabaseSettings } from '../config/settings.js';
import type { Log } from '../observability/logger.js';
import { createDataSource, endStartPatience, START_CONNECT_LIMIT_MS } from './data-source.js';
import { DatabaseHosts, type TimelineRecord } from './database-hosts.js';
import { checkSchema } from './database-checks.js';
import { Database } from './database.js';
import { databaseFaultOf, databaseFaultText, isDatabaseBusy } from './database-fault.js';
import { checkKeys } from './key-canaries.js';
import { HostsClient } from './hosts-client.js';
import { checkNamedStatements } from './named-statements.js';
import { assertOwnSessions, SESSION_ID } from './own-sessions.js';
import { checkSession } from './session-check.js';

interface Opening {
  /** Part of the connections' application name. */
  readonly role: string;
  readonly sealers: Sealers;
  readonly log: Log;
  readonly lockTimeoutMs?: number;
  /** The longest wait for a database that answers but has no free connection; 30 s by default. */
  readonly busyLimitMs?: number;
  /** Keeps the longer connection limit of a start. For commands, which serve no callers. */
  readonly isPatient?: boolean;
  /** The record of timelines that all processes share. */
  readonly record?: TimelineRecord | undefined;
}

/** Limit of the wait for a connection to a replica; after it the primary answers. */
const REPLICA_CONNECTION_MS = 2000;

const BUSY_LIMIT_MS = 30_000;
const BUSY_RETRY_MS = 500;

/**
 * Connects, and retries up to the limit while the database answers but accepts no connection. Throws the last failure.
 */
async function connect(source: DataSource, log: Log, limitMs: number): Promise<void> {
  const startedMs = monotonicMs();
  for (let attempt = 1; ; attempt += 1) {
    try {
      await source.initialize();
      return;
    } catch (error) {
      if (!isDatabaseBusy(error) || monotonicMs() - startedMs >= limitMs) throw error;
      if (attempt === 1) log.warn({ fault: reasonOf(error) }, 'failed to get a database connection; will retry');
      await sleep(BUSY_RETRY_MS);
    }
  }
}

/**
 * Creates the data source of DATABASE_READ_URL without connecting, so that a process starts while its replica is
 * unreachable.
 */
export function replicaSource(
  { readUrl, namedStatements, poolMax }: Pick<DatabaseSettings, 'readUrl' | 'namedStatements' | 'poolMax'>,
  applicationName: string,
  onChange: (text: string, fields: Readonly<Record<string, unknown>>) => void,
): DataSource | undefined {
  if (readUrl === undefined) return undefined;
  return createDataSource({
    url: new DatabaseHosts(readUrl, { wanted: 'standby', onChange }),
    connectionMs: REPLICA_CONNECTION_MS,
    namedStatements: namedStatements === 'on',
    poolMax,
    applicationName,
  });
}

/** Needs a second connection beside the pool, which may have only one; without it, the check is omitted. */
async function checkNaming({ pool, hosts }: Database): Promise<void> {
  const beside = new HostsClient({ hosts, connectionTimeoutMillis: START_CONNECT_LIMIT_MS });
  try {
    if ((await beside.connect().catch(messageOf)) !== beside) return;
    const client = await pool.connect();
    await checkNamedStatements([client, beside]).finally(() => client.release());
  } finally {
    await beside.end().catch(messageOf);
  }
}

/**
 * Throws StartError if a pooler would lose the announcements to this process. Omitted where two connections cannot be
 * made: a process starts while its database takes no further ones.
 */
async function checkAnnouncements(hosts: DatabaseHosts): Promise<void> {
  const limits = { connectionTimeoutMillis: START_CONNECT_LIMIT_MS, query_timeout: START_CONNECT_LIMIT_MS };
  const clients = [new HostsClient({ hosts, ...limits }), new HostsClient({ hosts, ...limits })];
  try {
    for (const client of clients) await client.connect();
    const asks = clients.map((client) => async () => {
      const { rows } = await client.query<{ pid: number }>(SESSION_ID);
      return rows[0]?.pid ?? 0;
    });
    await assertOwnSessions(asks, 'announcements need');
  } catch (error) {
    if (error instanceof StartError) throw error;
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(messageOf)));
  }
}

/**
 * Opens the database. Throws StartError if its schema is older than this code, or if its secrets are sealed under other
 * keys.
 */
export async function openDatabase(
  settings: DatabaseSettings,
  { role, sealers, log, lockTimeoutMs, busyLimitMs = BUSY_LIMIT_MS, isPatient, record }: Opening,
): Promise<DataSource> {
  const { url, directUrl, namedStatements, poolMax, readLagMaxSec } = settings;
  const onChange = (text: string, fields: Readonly<Record<string, unknown>>): void => log.warn(fields, text);
  const hostsOf = (one: string): DatabaseHosts =>
    new DatabaseHosts(one, { ...(record !== undefined && { record }), onChange });
  const hosts = hostsOf(url);
  const direct = directUrl === undefined ? hosts : hostsOf(directUrl);
  const source = createDataSource({
    url: hosts,
    direct,
    replica: replicaSource(settings, `energy-${role}-reads`, onChange),
    lagMaxMs: readLagMaxSec * 1000,
    namedStatements: namedStatements === 'on',
    connectLimitMs: START_CONNECT_LIMIT_MS,
    poolMax,
    applicationName: `energy-${role}`,
    ...(lockTimeoutMs !== undefined && { lockTimeoutMs }),
  });
  try {
    await connect(source, log, busyLimitMs);
  } catch (error) {
    await hosts.stop();
    const fault = databaseFaultOf(error);
    throw new StartError(fault.code, databaseFaultText(fault), error);
  }
  try {
    const database = new Database(source);
    if (namedStatements === 'on') await checkNaming(database);
    if (isPatient !== true) await checkAnnouncements(direct);
    await checkSession(database);
    await checkSchema(database);
    const missing = await checkKeys(database, sealers.held);
    if (missing.length > 0) {
      log.warn({ purposes: missing }, 'no canary of these keys is in the database: run `npm run -s cli -- migrate`');
    }
    if (!(isPatient ?? false)) endStartPatience(source);
  } catch (error) {
    await source.destroy();
    await hosts.stop();
    throw error;
  }
  return source;
}
