/** How every process begins with its database. */
import type { DataSource } from 'typeorm';
import type { Sealers } from '../base/sealers.js';
import { reasonOf, StartError } from '../domain/errors.js';
import type { DatabaseSettings } from '../config/settings.js';
import type { Log } from '../observability/logger.js';
import { createDataSource } from './data-source.js';
import { DatabaseHosts, type TimelineRecord } from './database-hosts.js';
import { checkSchema } from './database-checks.js';
import { Database } from './database.js';
import { checkKeys } from './key-canaries.js';

interface Opening {
  /** As the connections are named. */
  readonly role: string;
  readonly sealers: Sealers;
  readonly log: Log;
  readonly lockTimeoutMs?: number;
  /** What other processes have seen of the hosts. */
  readonly record?: TimelineRecord | undefined;
}

/** Opens the database and refuses a schema that is older than this code, or keys that its secrets are not sealed under. */
export async function openDatabase(
  { url, directUrl, namedStatements, poolMax }: DatabaseSettings,
  { role, sealers, log, lockTimeoutMs, record }: Opening,
): Promise<DataSource> {
  const hostsOf = (one: string): DatabaseHosts =>
    new DatabaseHosts(one, {
      ...(record !== undefined && { record }),
      onChange: (text, fields) => log.warn(fields, text),
    });
  const hosts = hostsOf(url);
  const direct = directUrl === undefined ? hosts : hostsOf(directUrl);
  const source = createDataSource({
    url: hosts,
    direct,
    namedStatements: namedStatements === 'on',
    poolMax,
    applicationName: `energy-${role}`,
    ...(lockTimeoutMs !== undefined && { lockTimeoutMs }),
  });
  try {
    await source.initialize();
  } catch (error) {
    const message = `The database of DATABASE_URL cannot be reached (${reasonOf(error)}): start it, or correct DATABASE_URL.`;
    await hosts.stop();
    throw new StartError('DATABASE_UNAVAILABLE', message, error);
  }
  try {
    const database = new Database(source);
    await checkSchema(database);
    const missing = await checkKeys(database, sealers.held);
    if (missing.length > 0) {
      log.warn({ purposes: missing }, 'no canary of these keys is in the database: run `npm run -s cli -- migrate`');
    }
  } catch (error) {
    await source.destroy();
    await hosts.stop();
    throw error;
  }
  return source;
}
