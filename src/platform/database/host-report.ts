/** Reports and judgements of one database host. Pure, except for one statement. */
import type pg from 'pg';

/** Some providers do not report `system` and `timeline`; hosts are then not judged by them. */
export type HostReport =
  | { readonly kind: 'writable' | 'standby' | 'read_only'; readonly system?: string; readonly timeline?: number }
  | { readonly kind: 'away'; readonly reason: string };

export interface HostState {
  /** old: it takes writes, on a timeline that was left. foreign: it is of another cluster. */
  readonly state: 'writable' | 'standby' | 'read_only' | 'old' | 'foreign' | 'away' | 'unknown';
  /** The reason if it is not used. */
  readonly reason?: string;
  readonly timeline?: number;
}

const SAYS = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only`;

/**
 * A primary's timeline is that of its WAL. A standby's timeline is the newest that it has followed. Any role may ask.
 */
const SAYS_ALL = `${SAYS},
  (SELECT system_identifier::text FROM pg_control_system()) AS system,
  CASE WHEN pg_is_in_recovery() THEN (SELECT greatest(c.timeline_id, r.min_recovery_end_timeline)
      FROM pg_control_checkpoint() c, pg_control_recovery() r)
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END AS timeline`;

interface Row {
  readonly standby: boolean;
  readonly read_only: boolean;
  readonly system?: string | null;
  readonly timeline?: number | null;
}

const QUERY_LIMIT_MS = 4000;

/** Returns the host's report over this connection. Throws errors of the connection. */
export async function reportOf(client: pg.Client): Promise<HostReport> {
  const row = await ask(client, SAYS_ALL).catch(async (error: unknown) => {
    // Some providers lack the functions; a host is then judged only by its readiness for writes.
    if (!(error instanceof Error && 'code' in error && /^(42|0A|55)/.test(String(error.code)))) throw error;
    return ask(client, SAYS);
  });
  return {
    kind: row?.standby === true ? 'standby' : row?.read_only === true ? 'read_only' : 'writable',
    ...(typeof row?.system === 'string' && { system: row.system }),
    ...(typeof row?.timeline === 'number' && { timeline: row.timeline }),
  };
}

async function ask(client: pg.Client, text: string): Promise<Row | undefined> {
  const limited: pg.QueryConfig & { readonly query_timeout: number } = { text, query_timeout: QUERY_LIMIT_MS };
  return (await client.query<Row>(limited)).rows[0];
}

/** Judges a host by its report and the highest timeline seen. */
export function judgeHost(
  report: HostReport,
  seen: { readonly system: string | undefined; readonly timeline: number },
): HostState {
  if (report.kind === 'away') return { state: 'away', reason: `refuses the connection (${report.reason})` };
  const { kind, system, timeline } = report;
  const at = timeline === undefined ? {} : { timeline };
  if (seen.system !== undefined && system !== undefined && system !== seen.system) {
    return { state: 'foreign', reason: 'is of another cluster', ...at };
  }
  if (kind === 'standby') return { state: 'standby', reason: 'is a standby', ...at };
  if (kind === 'read_only') return { state: 'read_only', reason: 'takes no writes', ...at };
  if (timeline !== undefined && timeline < seen.timeline) {
    const reason = `is of timeline ${timeline.toString()}, and ${seen.timeline.toString()} was seen: an old primary`;
    return { state: 'old', reason, ...at };
  }
  return { state: 'writable', ...at };
}

/** Judges a host that should serve reads: a standby that follows the primary. The primary itself may be unreachable. */
export function judgeReplica(report: HostReport, seen: Parameters<typeof judgeHost>[1]): HostState {
  const judged = judgeHost(report, seen);
  const { timeline } = judged;
  if (judged.state === 'writable') return { ...judged, reason: 'takes writes: it is no standby' };
  if (judged.state !== 'standby') return judged;
  // A standby on an older timeline may hold commits that the promoted server never received.
  if (timeline !== undefined && timeline < seen.timeline) {
    const reason = `follows timeline ${timeline.toString()}, and ${seen.timeline.toString()} was seen`;
    return { ...judged, state: 'old', reason };
  }
  return { state: 'standby', ...(timeline !== undefined && { timeline }) };
}
