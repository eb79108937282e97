/** Lists the acts of operators and people with the names of their subjects, newest first. Reads only. */
import { Injectable } from '@nestjs/common';
import type { ActKind } from '../../domain/act-kinds.js';
import { momentOf } from '../../domain/moment.js';
import type { Queryable } from '../../platform/database/database.js';
import type { CsvCell } from '../../platform/support/csv.js';
import { withoutNull } from './answers.js';
import { STRETCH, type Stretch } from './lists.js';
import type { ServiceAct } from './system-shapes.js';

/** An absent member does not restrict. */
export interface ActFilter {
  /** A part of the person's name, in any case. */
  readonly by?: string | undefined;
  readonly kind?: ActKind | undefined;
  /** A prefix of the action. */
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  /** The id of a project, or the beginning of its name. */
  readonly project?: string | undefined;
  /** Times as `momentOf` takes them: `from` inclusive, `to` exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Lists also the acts that only say that a person looked at a project. */
  readonly hasLooks?: boolean | undefined;
}

export interface ActRow {
  readonly id: bigint;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly reason: string | null;
  readonly detail: Readonly<Record<string, unknown>> | null;
  readonly login_role: string | null;
  readonly project_id: string | null;
  readonly project_name: string | null;
  readonly person: string | null;
}

export const ACT_COLUMNS = [
  ...['entry', 'time', 'person', 'action', 'project', 'project_name', 'subject', 'subject_person', 'reason'],
  ...['database_role', 'detail'],
];

const LOOK = 'console.look';
const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
const NUMBER = String.raw`^\d{1,18}$`;

/** The project that an act was on: named by its detail, or that of the order or deposit, or the subject itself. */
const PROJECT_OF_ACT = `CASE
    WHEN e.detail ->> 'projectId' ~ '${UUID}' THEN (e.detail ->> 'projectId')::uuid
    WHEN e.action LIKE 'orders.%' AND e.subject ~ '${NUMBER}' THEN (SELECT o.project_id FROM orders o WHERE o.id = e.subject::bigint)
    WHEN e.action LIKE 'deposits.%' AND e.subject ~ '${NUMBER}' THEN (SELECT d.project_id FROM deposit d WHERE d.id = e.subject::bigint)
    WHEN e.subject ~ '${UUID}' THEN e.subject::uuid
  END`;

/** Ids are numbered by time with few gaps, so a range of STRETCH ids holds at most that many rows. */
const NEWEST = {
  name: 'console_newest_act',
  text: 'SELECT max(id) AS id FROM audit_log WHERE id < $1',
};

const IS_ANY_BEFORE = {
  name: 'console_acts_before',
  text: 'SELECT EXISTS (SELECT FROM audit_log WHERE id < $1) AS is_any',
};

const ACTS_OF = {
  name: 'console_acts_of_all',
  text: `SELECT e.id, e.at, e.actor, e.action, e.subject, e.reason, e.detail, e.login_role,
      p.id AS project_id, p.name AS project_name, r.email AS person
    FROM audit_log e
    LEFT JOIN project p ON p.id = ${PROJECT_OF_ACT}
    LEFT JOIN person r ON p.id IS NULL AND r.id = CASE WHEN e.subject ~ '${UUID}' THEN e.subject::uuid END
   WHERE e.id BETWEEN $1 AND $2
     AND ($4::text IS NULL OR strpos(lower(e.actor), lower($4)) > 0)
     AND ($5::text IS NULL OR starts_with(e.action, $5))
     AND ($6::text IS NULL OR e.subject = $6)
     AND ($7::text IS NULL OR p.id::text = $7 OR starts_with(lower(p.name), lower($7)))
     AND ($8::timestamptz IS NULL OR e.at >= $8) AND ($9::timestamptz IS NULL OR e.at < $9)
     AND ($10 OR e.action <> '${LOOK}')
     AND ($11::text IS NULL OR starts_with(e.action, $11))
   ORDER BY e.id DESC LIMIT $3`,
};

@Injectable()
export class AuditList {
  /** Reads up to `limit + 1` acts before an entry, out of a stretch of the newest entries. */
  async before(on: Queryable, filter: ActFilter, before: bigint, limit: number): Promise<Stretch<ActRow>> {
    const [newest] = await on.query<{ id: bigint | null }>(NEWEST, [before]);
    const last = newest?.id ?? undefined;
    if (last === undefined) return { rows: [], endedAt: undefined };
    const first = last - BigInt(STRETCH - 1);
    const rows = await on.query<ActRow>(ACTS_OF, [first, last, limit + 1, ...termsOf(filter)]);
    if (rows.length > limit) return { rows, endedAt: undefined };
    const [older] = await on.query<{ is_any: boolean }>(IS_ANY_BEFORE, [first]);
    return { rows, endedAt: older?.is_any === true ? first : undefined };
  }
}

function termsOf({ by, kind, action, subject, project, from, to, hasLooks }: ActFilter): readonly unknown[] {
  const momentIn = (text: string | undefined) => (text === undefined ? null : (momentOf(text) ?? null));
  return [
    ...[by ?? null, action ?? null, subject ?? null, project?.trim() ?? null],
    ...[momentIn(from), momentIn(to), hasLooks === true || action === LOOK],
    kind === undefined ? null : `${kind}.`,
  ];
}

export function serviceAct(row: ActRow): ServiceAct {
  return withoutNull<ServiceAct>({
    id: row.id.toString(),
    at: row.at.toISOString(),
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    project: projectOf(row),
    person: row.person,
    reason: row.reason,
    detail: row.detail,
    role: row.login_role,
  });
}

export function actCells(row: ActRow): readonly CsvCell[] {
  const { id, at, actor, action, subject, person, reason, login_role: role, detail } = row;
  const project = projectOf(row);
  return [
    ...[id, at, actor, action, project?.id, project?.name, subject, person, reason, role],
    detail === null ? undefined : JSON.stringify(detail),
  ];
}

function projectOf({ project_id: id, project_name: name }: ActRow): ServiceAct['project'] {
  return id === null || name === null ? undefined : { id, name };
}
