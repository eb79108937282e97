/** The doctor's check that the replica of DATABASE_READ_URL follows the primary in time. Reads only. */
import type pg from 'pg';
import { monotonicMs, sleep } from '../../platform/support/clock.js';
import type { DatabaseSettings } from '../../platform/config/settings.js';
import { reasonOf } from '../../domain/errors.js';
import { DatabaseHosts } from '../../platform/database/database-hosts.js';
import { HostsClient } from '../../platform/database/hosts-client.js';
import { markOf } from '../../platform/database/read-mark.js';
import { REPLAYED, WRITTEN_BY, type Replayed, type Written } from '../../platform/database/replica.js';
import { ok, warning, type DoctorFinding } from './doctor-finding.js';

const CONNECT_MS = 4000;
const POLL_MS = 100;

/** Checks that the replica has replayed the primary's recent writes. Returns no findings without a replica. */
export async function checkReplica(
  primary: pg.Client,
  { readUrl, readLagMaxSec }: DatabaseSettings,
): Promise<DoctorFinding[]> {
  if (readUrl === undefined) return [];
  const hosts = new DatabaseHosts(readUrl, { wanted: 'standby' });
  const client = new HostsClient({
    hosts,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
    application_name: 'energy-doctor',
  });
  client.on('error', () => undefined);
  try {
    const [written] = (await primary.query<Written>(WRITTEN_BY)).rows;
    if (written === undefined) throw new Error('the primary does not report its position');
    hosts.recordServer(written.system, written.timeline);
    await client.connect();
    const tookMs = await replayed(client, written.lsn, readLagMaxSec * 1000);
    const name = hosts.serving ?? 'it';
    if (tookMs !== undefined) {
      return [ok('replica', `${name} received a write within ${(Math.ceil(tookMs / 100) / 10).toFixed(1)} s.`)];
    }
    const says = `${name} is more than ${readLagMaxSec.toString()} s behind, so it gets no reads.`;
    const todo = 'Check pg_stat_replication and long reads on the replica, which may block its replay.';
    return [warning('replica', says, todo)];
  } catch (error) {
    const todo = 'Start the standby, or correct DATABASE_READ_URL. Until then, the primary answers all reads.';
    return [warning('replica', `It gets no reads: ${reasonOf(error)}.`, todo)];
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Returns the milliseconds until it was replayed, or undefined after the time limit. */
async function replayed(client: pg.Client, lsn: string, limitMs: number): Promise<number | undefined> {
  const beganMs = monotonicMs();
  for (;;) {
    const [row] = (await client.query<Replayed>(REPLAYED)).rows;
    const tookMs = monotonicMs() - beganMs;
    if (row?.standby === true && row.lsn !== null && markOf(row.lsn) >= markOf(lsn)) return tookMs;
    if (tookMs > limitMs) return undefined;
    await sleep(POLL_MS);
  }
}
