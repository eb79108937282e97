/** Events and acts of a project, newest first. Reads only. */
import type { Queryable } from '../store/database.js';
import { STRETCH, type Stretch } from './lists.js';

interface EventRow {
  /** Its position, by which a page is cut. */
  readonly id: bigint;
  readonly payload: string;
}

/** Of another type than is wanted when the payload is null. */
interface PassedRow {
  readonly id: bigint;
  readonly payload: string | null;
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

const EVENTS_OF_TYPES = {
  name: 'console_events_of_types',
  text: `SELECT position AS id, CASE WHEN type = ANY ($4) THEN payload END AS payload FROM event
    WHERE project_id = $1 AND payload IS NOT NULL AND position < $2 ORDER BY position DESC LIMIT $3`,
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
  const found = await on.query<PassedRow>(EVENTS_OF_TYPES, [projectId, before, STRETCH, types]);
  const rows = found.flatMap(({ id, payload }) => (payload === null ? [] : [{ id, payload }])).slice(0, limit + 1);
  return { rows, endedAt: found.length < STRETCH ? undefined : found.at(-1)?.id };
}

/** Of the project of the scope. */
export async function actsBefore(on: Queryable, before: bigint, limit: number): Promise<Stretch<ActRow>> {
  return { rows: await on.query<ActRow>(ACTS, [before, limit + 1]), endedAt: undefined };
}
