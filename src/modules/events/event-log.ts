/**
 * Reads a project's log by position. A reader that has reached a position has received every event up to it, each once.
 */
import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import type { EventType } from '../../domain/event-types.js';

/** Maximum number of events that one read examines when it filters by type. */
const SCAN_MAX = 1000;

/**
 * Reads events and the bounds of the log in one snapshot. $1 project, $2 after, $3 types or null, $4 maximum number of
 * events.
 */
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
  /** The event as JSON. */
  readonly payload: string;
}

export interface EventPage {
  /** In position order. */
  readonly items: readonly EventItem[];
  /** The position to continue after. It includes skipped events of other types. */
  readonly lastPosition: bigint;
  /** True if more events may already exist. */
  readonly hasMore: boolean;
}

/** Events after the wanted position have been deleted. */
export interface ExpiredPosition {
  readonly oldestPosition: bigint;
}

@Injectable()
export class EventLog {
  constructor(private readonly database: Database) {}

  /**
   * Returns up to `limit` events after `after`; undefined starts at the oldest kept. `types` limits them to these
   * types.
   */
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

  /** Returns the position of the newest event; 0 before the first. */
  async readLastPosition(projectId: string): Promise<bigint> {
    const [row] = await this.database.query<{ position: bigint }>(LAST_POSITION, [projectId]);
    return row?.position ?? 0n;
  }
}
