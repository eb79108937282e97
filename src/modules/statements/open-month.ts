/** The open month of a project: its ledger entries that are in no statement yet. Reads only. */
import { Injectable } from '@nestjs/common';
import { invariant } from '../../domain/errors.js';
import type { LedgerStatement } from '../../platform/database/entities/statement.entity.js';
import { ownedBy } from '../../platform/database/owner-order.js';
import { Replica } from '../../platform/database/replica.js';
import { ENTRY_KIND, newestStatement, sumsByKind } from './ledger-sums-sql.js';

/** Entries that are summed. Beyond this number only the file has all of them. */
const ENTRIES_MAX = 100_000;

const NEWEST_STATEMENT = newestStatement('$1');
const IS_OF_PROJECT = ownedBy('e.project_id', '$1::uuid');
const SUMS_BY_KIND = sumsByKind('true');

/**
 * $1 project, $2 limit of entries. The end is a millisecond later than the newest entry can be, because a Date has no
 * microseconds.
 */
export const OPEN = {
  name: 'open_statement',
  text: `WITH last AS (${NEWEST_STATEMENT}),
    open AS (
      SELECT e.id, e.created_at, e.credits, ${ENTRY_KIND} AS kind
        FROM last l JOIN credit_entry e ON ${IS_OF_PROJECT} AND e.id >= l.rest_from
         AND (e.id > l.entries_to OR e.created_at >= l.ends_at)
       ORDER BY e.project_id, e.id LIMIT $2),
    sums AS (
      SELECT count(*) AS lines, min(created_at) AS first_at, coalesce(max(id), 0)::bigint AS last_id,
             coalesce(sum(credits), 0)::bigint AS moved,
             ${SUMS_BY_KIND}
        FROM open)
    SELECT l.number + 1 AS number, l.closing_credits AS opening, s.*, c.now,
           to_char(coalesce(s.first_at, c.now) AT TIME ZONE 'UTC', 'YYYY-MM-01') AS month
      FROM last l CROSS JOIN sums s CROSS JOIN (SELECT clock_timestamp() + interval '1 millisecond' AS now) c`,
};

interface OpenRow {
  readonly number: number;
  readonly opening: bigint;
  readonly lines: bigint;
  readonly first_at: Date | null;
  readonly last_id: bigint;
  readonly moved: bigint;
  readonly charges: bigint;
  readonly refunds: bigint;
  readonly compensations: bigint;
  readonly deposits: bigint;
  readonly topups: bigint;
  readonly adjustments: bigint;
  readonly now: Date;
  /** The first day of the month of the earliest entry. */
  readonly month: string;
}

export interface OpenMonth {
  /** As if it closed now. */
  readonly statement: LedgerStatement;
  /** False if there are more entries than are summed: the totals and the closing balance are then unknown. */
  readonly isWhole: boolean;
}

@Injectable()
export class OpenMonths {
  constructor(private readonly replica: Replica) {}

  async read(projectId: string): Promise<OpenMonth> {
    const [row] = await this.replica.readNow((on) => on.query<OpenRow>(OPEN, [projectId, ENTRIES_MAX + 1]));
    invariant(row !== undefined, 'an aggregate has one row');
    const isWhole = row.lines <= BigInt(ENTRIES_MAX);
    return { statement: statementOf(projectId, row, isWhole), isWhole };
  }
}

function statementOf(projectId: string, row: OpenRow, isWhole: boolean): LedgerStatement {
  return {
    projectId,
    number: row.number,
    month: row.month,
    endsAt: row.now,
    entriesTo: isWhole ? row.last_id : ID_MAX,
    restFrom: row.last_id + 1n,
    firstAt: row.first_at ?? row.now,
    lines: row.lines,
    openingCredits: row.opening,
    chargeCredits: row.charges,
    refundCredits: row.refunds,
    compensationCredits: row.compensations,
    depositCredits: row.deposits,
    topupCredits: row.topups,
    adjustmentCredits: row.adjustments,
    closingCredits: row.opening + row.moved,
    closedAt: row.now,
  };
}

const ID_MAX = 9_223_372_036_854_775_807n;
