// Statements that close months, and their row types.
import { ENTRY_KIND, newestStatement, sumsByKind } from './ledger-sums-sql.js';

/** Key of an advisory lock, distinct from that of the event numberer. */
const CLOSING = 4_202_002;

/**
 * Tries to take the closing lock, so that one transaction closes at a time. Later statements of the transaction see all
 * that the previous holder committed.
 */
export const HOLD = {
  name: 'hold_statement_closing',
  text: `SELECT pg_try_advisory_xact_lock(${CLOSING.toString()}) AS held`,
};

/** Wait after a month's end. By then few transactions of the month are open, so the cut waits for fewer of them. */
const MARGIN = `interval '10 minutes'`;

/**
 * Finds the oldest month after $1 (null: of all) that has ended by $2 and is not closed, and how long it has been
 * overdue. The month is already cut off, or, with a null `entries_to`, follows the last cut one. Without any cut month
 * it is the month of the first entry.
 */
export const OPEN_MONTH = {
  name: 'open_statement_month',
  text: `SELECT month::text, entries_to, extract(epoch FROM $2::timestamptz - ends_at - ${MARGIN})::float8 AS overdue_sec FROM (
      (SELECT month, ends_at, entries_to FROM statement_month
         WHERE closed_at IS NULL AND ($1::date IS NULL OR month > $1) ORDER BY month LIMIT 1)
      UNION ALL
      (SELECT next.month::date, (next.month + interval '1 month') AT TIME ZONE 'UTC', NULL FROM (
         SELECT coalesce((SELECT max(month) + interval '1 month' FROM statement_month),
           (SELECT date_trunc('month', created_at AT TIME ZONE 'UTC') FROM credit_entry WHERE contra <> 'test' ORDER BY id LIMIT 1)) AS month) next)
    ) months WHERE ends_at + ${MARGIN} <= $2::timestamptz ORDER BY month LIMIT 1`,
};
export interface OpenMonthRow {
  readonly month: string;
  readonly entries_to: bigint | null;
  readonly overdue_sec: number;
}

/** Reads the last entry's id and the server's mark; must run before WRITERS. */
export const LAST_ENTRY = {
  name: 'last_ledger_entry',
  text: `SELECT coalesce((SELECT max(id) FROM credit_entry), 0)::bigint AS id, server_mark() AS mark`,
};

/**
 * Lists transactions that may hold an uncommitted entry. An entry's id is drawn under its table's lock, so a
 * transaction without that lock now will draw a higher id.
 */
export const WRITERS = {
  name: 'ledger_writers',
  text: `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
    WHERE locktype = 'relation' AND relation = 'credit_entry'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`,
};

/** Writes nothing on a server that may have lost the awaited entries, because it draws their ids again. */
export const CUT = {
  name: 'cut_statement_month',
  text: `INSERT INTO statement_month (month, ends_at, entries_to)
    SELECT $1::date, ($1::date + interval '1 month') AT TIME ZONE 'UTC', $2 WHERE server_mark() = $3 ON CONFLICT DO NOTHING`,
};

const NEWEST_STATEMENT = newestStatement('p.id');

/**
 * Finds the first live project, by id, with entries for this month, and its previous statement, or zeros. The project
 * must wait while an earlier open month has entries of it: closing now would include them, and that month could never
 * be closed.
 */
export const NEXT_PROJECT = {
  name: 'next_project_to_close',
  text: `SELECT m.ends_at, m.entries_to, m.skipped, p.*, EXISTS (
          SELECT FROM statement_month o JOIN credit_entry e ON e.id <= o.entries_to AND e.created_at < o.ends_at
           WHERE o.month < m.month AND o.closed_at IS NULL AND e.project_id = p.id AND e.id >= p.rest_from
             AND (e.id > p.before_entries_to OR e.created_at >= p.before_ends_at)) AS waits
      FROM statement_month m LEFT JOIN LATERAL (
        SELECT p.id, b.number, b.closing_credits, b.ends_at AS before_ends_at, b.entries_to AS before_entries_to, b.rest_from
          FROM project p CROSS JOIN LATERAL (${NEWEST_STATEMENT}) b
         WHERE (m.projects_after IS NULL OR p.id > m.projects_after) AND NOT p.test AND EXISTS (
           SELECT FROM credit_entry e WHERE e.project_id = p.id AND e.id >= b.rest_from AND e.id <= m.entries_to
              AND e.created_at < m.ends_at AND (e.id > b.entries_to OR e.created_at >= b.ends_at))
         ORDER BY p.id LIMIT 1) p ON true
     WHERE m.month = $1::date AND m.closed_at IS NULL`,
};
export interface NextProjectRow {
  readonly ends_at: Date;
  readonly entries_to: bigint;
  readonly skipped: boolean;
  /** Null if there is none. */
  readonly id: string | null;
  readonly number: number;
  readonly closing_credits: bigint;
  /** `-infinity` before the first. */
  readonly before_ends_at: Date | number;
  readonly before_entries_to: bigint;
  readonly rest_from: bigint;
  readonly waits: boolean;
}

const SUMS_BY_KIND = sumsByKind('is_due');

/**
 * Closes one project's month, $2, up to $3 and $4. The previous statement supplies $5 its number, $6 its closing
 * balance, $7 and $8 its limits, and $9 the id from which entries may be in no statement.
 *
 * One statement gives one snapshot. It also returns the sum of the entries in no statement (`rest`) and the balance,
 * which must equal the sum of all entries.
 */
export const CLOSE = {
  name: 'close_statement',
  text: `WITH open AS (
      SELECT id, created_at, credits, id <= $4::bigint AND created_at < $3::timestamptz AS is_due,
             ${ENTRY_KIND} AS kind
        FROM credit_entry
       WHERE project_id = $1 AND id >= $9::bigint AND (id > $8::bigint OR created_at >= $7::timestamptz)),
    sums AS (
      SELECT count(*) FILTER (WHERE is_due) AS lines, min(created_at) FILTER (WHERE is_due) AS first_at,
             coalesce(min(id) FILTER (WHERE NOT is_due AND id <= $4::bigint), $4::bigint + 1) AS rest_from,
             coalesce(sum(credits) FILTER (WHERE is_due), 0)::bigint AS moved,
             coalesce(sum(credits) FILTER (WHERE NOT is_due), 0)::bigint AS rest,
             ${SUMS_BY_KIND}
        FROM open),
    closed AS (
      INSERT INTO statement (project_id, number, month, ends_at, entries_to, rest_from, first_at, lines, opening_credits,
        charge_credits, refund_credits, compensation_credits, deposit_credits, topup_credits, adjustment_credits, closing_credits)
      SELECT $1, $5::integer + 1, $2::date, $3, $4, rest_from, first_at, lines, $6::bigint,
             charges, refunds, compensations, deposits, topups, adjustments, $6::bigint + moved
        FROM sums RETURNING number, closing_credits)
    SELECT c.number, c.closing_credits, s.rest, a.balance_credits,
           (SELECT amount::bigint FROM explained_finding
             WHERE check_name = 'ledger-balance' AND subject = 'project ' || $1::text) AS explained_credits
      FROM closed c CROSS JOIN sums s JOIN credit_account a ON a.project_id = $1`,
};
export interface ClosedRow {
  readonly number: number;
  readonly closing_credits: bigint;
  readonly rest: bigint;
  readonly balance_credits: bigint;
  /** Accepted difference between the balance and its entries, if the operator explained one. */
  readonly explained_credits: bigint | null;
}

/** $2: the last project; $3: true if it was not closed and must be tried again. */
export const PASS_PROJECT = {
  name: 'pass_statement_project',
  text: `UPDATE statement_month SET projects_after = $2, skipped = skipped OR $3 WHERE month = $1::date AND closed_at IS NULL`,
};

export const BEGIN_AGAIN = {
  name: 'begin_statement_month_again',
  text: `UPDATE statement_month SET projects_after = NULL, skipped = false WHERE month = $1::date AND closed_at IS NULL`,
};

/** Refuses while an earlier month is open, so that no open month precedes a closed one. */
export const END_MONTH = {
  name: 'end_statement_month',
  text: `UPDATE statement_month SET closed_at = clock_timestamp() WHERE month = $1::date AND closed_at IS NULL
      AND NOT EXISTS (SELECT FROM statement_month o WHERE o.month < $1::date AND o.closed_at IS NULL) RETURNING month::text`,
};
