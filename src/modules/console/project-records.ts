/** Reads events and acts of a project, newest first. Reads only. */
import type { Queryable } from '../../platform/database/database.js';
import { STRETCH, type Stretch } from './lists.js';

interface EventRow {
  /** The event's position, which pages are cut at. */
  readonly id: bigint;
  readonly payload: string;
}

interface ActRow {
  readonly id: bigint;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly reason: string | null;
  readonly detail: Readonly<Record<string, unknown>> | null;
}

const EVENTS = {
  name: 'console_events',
  text: `SELECT position AS id, payload FROM event WHERE project_id = $1 AND payload IS NOT NULL AND position < $2
    ORDER BY position DESC LIMIT $3`,
};

/** Positions are unique, so a range of STRETCH positions below the newest holds at most that many rows. */
const NEWEST = {
  name: 'console_newest_event',
  text: 'SELECT max(position) AS position FROM event WHERE project_id = $1 AND payload IS NOT NULL AND position < $2',
};

const EVENTS_OF_TYPES = {
  name: 'console_events_of_types',
  text: `SELECT position AS id, payload FROM event
    WHERE project_id = $1 AND payload IS NOT NULL AND position BETWEEN $2 AND $3 AND type = ANY ($4)
    ORDER BY position DESC LIMIT $5`,
};

export const IS_ANY_BEFORE = {
  name: 'console_events_before',
  text: `SELECT min(position) IS NOT NULL AS is_any FROM event
    WHERE project_id = $1 AND payload IS NOT NULL AND position < $2`,
};

const ACTS = { name: 'console_acts', text: 'SELECT * FROM project_acts($1, $2)' };

export async function eventsBefore(
  on: Queryable,
  { projectId, types }: { readonly projectId: string; readonly types: readonly string[] | undefined },
  before: bigint,
  limit: number,
): Promise<Stretch<EventRow>> {
  if (types === undefined) {
    const rows = await on.query<EventRow>(EVENTS, [projectId, before, limit + 1]);
    return { rows, endedAt: undefined };
  }
  const [newest] = await on.query<{ position: bigint | null }>(NEWEST, [projectId, before]);
  const last = newest?.position ?? undefined;
  if (last === undefined) return { rows: [], endedAt: undefined };
  const first = last - BigInt(STRETCH - 1);
  const rows = await on.query<EventRow>(EVENTS_OF_TYPES, [projectId, first, last, types, limit + 1]);
  if (rows.length > limit) return { rows, endedAt: undefined };
  const [older] = await on.query<{ is_any: boolean }>(IS_ANY_BEFORE, [projectId, first]);
  return { rows, endedAt: older?.is_any === true ? first : undefined };
}

/** Returns acts of the project in scope. */
export async function actsBefore(on: Queryable, before: bigint, limit: number): Promise<Stretch<ActRow>> {
  return { rows: await on.query<ActRow>(ACTS, [before, limit + 1]), endedAt: undefined };
}
