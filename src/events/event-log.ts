/** Reads a project's log by position: whoever has read up to a position has seen all events up to it, and each once. */
import { Injectable } from '@nestjs/common';
import { Database } from '../store/database.js';
import type { EventType } from './payload.js';

/** Events that a read passes over at most for the sake of the wanted types. */
const SCAN_MAX = 1000;

/** One snapshot for the events and for where the log begins and ends. $1 project, $2 after, $3 types or null, $4 the most events. */
const READ = {
  name: 'read_events',
  text: `SELECT log.position AS last_position, log.pruned_to, e.position, e.payload
    FROM (SELECT coalesce(max(position), 0) AS position, coalesce(max(pruned_to), 0) AS pruned_to
            FROM event_position WHERE project_id = $1) log
    LEFT JOIN LATERAL (
      SELECT position, CASE WHEN $3::text[] IS NULL OR type = ANY ($3) THEN payload END AS payload FROM event
       WHERE project_id = $1 AND payload IS NOT NULL AND position > greatest($2::bigint, log.pruned_to)
       ORDER BY position LIMIT $4) e ON true
    ORDER BY e.position`,
};

const LAST_POSITION = {
  name: 'last_event_position',
  text: `SELECT position FROM event_position WHERE project_id = $1`,
};

interface ReadRow {
  readonly last_position: bigint;
  readonly pruned_to: bigint;
  readonly position: bigint | null;
  readonly payload: string | null;
}

export interface EventItem {
  readonly position: bigint;
  /** As JSON. */
  readonly payload: string;
}

export interface EventPage {
  /** In order. */
  readonly items: readonly EventItem[];
  /** What to go on after: it passes what the wanted types left out. */
  readonly lastPosition: bigint;
  /** Whether more may be there already. */
  readonly hasMore: boolean;
}

/** Events after the wanted position are not kept any more. */
export interface ExpiredPosition {
  readonly oldestPosition: bigint;
}

@Injectable()
export class EventLog {
  constructor(private readonly database: Database) {}

  /** Up to `limit` events after `after`; undefined = from the oldest kept. `types`: these alone. */
  async read(
    projectId: string,
    after: bigint | undefined,
    types: readonly EventType[] | undefined,
    limit: number,
  ): Promise<EventPage | ExpiredPosition> {
    const rowsMax = types === undefined ? limit : SCAN_MAX;
    const rows = await this.database.query<ReadRow>(READ, [projectId, after ?? 0n, types ?? null, rowsMax]);
    const prunedTo = rows[0]?.pruned_to ?? 0n;
    if (after !== undefined && after < prunedTo) return { oldestPosition: rows[0]?.position ?? prunedTo + 1n };
    const items: EventItem[] = [];
    let lastPosition = after === undefined || after < prunedTo ? prunedTo : after;
    for (const { position, payload } of rows) {
      if (position === null || items.length === limit) break;
      lastPosition = position;
      if (payload !== null) items.push({ position, payload });
    }
    return { items, lastPosition, hasMore: items.length === limit || rows.length === rowsMax };
  }

  /** Of the newest event; 0 before the first. */
  async lastPosition(projectId: string): Promise<bigint> {
    const [row] = await this.database.query<{ position: bigint }>(LAST_POSITION, [projectId]);
    return row?.position ?? 0n;
  }
}
