import pg from 'pg';
import { sleep, withDeadline } from '../support/clock.js';
import type { PostgresHost } from '../support/postgres-url.js';
import { reasonOf } from '../../domain/errors.js';
import { reportOf, type HostReport } from './host-report.js';

/** The longest wait for one host's report; all are asked concurrently. */
const ASK_LIMIT_MS = 4000;
/** The further wait once one host reports the wanted kind: another one may know a higher timeline. */
const GRACE_MS = 1000;

/**
 * Returns the hosts' reports in the hosts' order. Once a host of the `wanted` kind has answered, waits at most 1 s more
 * for silent ones.
 */
export async function reportsFrom(
  hosts: readonly PostgresHost[],
  wanted: HostReport['kind'],
): Promise<(readonly [PostgresHost, HostReport])[]> {
  const reports = new Map<PostgresHost, HostReport>();
  const over = new AbortController();
  const asked = hosts.map(async (host) => {
    const report = await reportFrom(host);
    reports.set(host, report);
    if (report.kind !== wanted) throw new Error('of no use');
  });
  const enough = Promise.any(asked).then(
    async () => sleep(GRACE_MS, over.signal),
    async () => Promise.allSettled(asked),
  );
  await Promise.race([Promise.allSettled(asked), enough]);
  over.abort();
  return hosts.map((host) => [host, reports.get(host) ?? { kind: 'away', reason: 'it has not answered yet' }] as const);
}

/** Returns a host's report within a time limit; never throws. */
async function reportFrom(host: PostgresHost): Promise<HostReport> {
  const client = new pg.Client({
    connectionString: host.url,
    connectionTimeoutMillis: ASK_LIMIT_MS,
    query_timeout: ASK_LIMIT_MS,
    application_name: 'energy-hosts',
  });
  client.on('error', () => undefined);
  try {
    const asked = client.connect().then(async () => reportOf(client));
    return await withDeadline(asked, ASK_LIMIT_MS, 'it');
  } catch (error) {
    return { kind: 'away', reason: reasonOf(error) };
  } finally {
    void client.end().catch(() => undefined);
  }
}
