// The statements that close months, and the shapes of their rows.

/** One of the service's advisory locks; that of numbering events has another. */
const CLOSING = 4_202_002;

/** Whether this transaction closes; one does at a time. Statements after it see whatever the one before it has committed. */
export const HOLD = {
  name: 'hold_statement_closing',
  text: `SELECT pg_try_advisory_xact_lock(${CLOSING.toString()}) AS held`,
};

/** A month is over when nothing that was begun in it is likely to be on its way still: less is to be waited for. */
const MARGIN = `interval '10 minutes'`;

/**
 * The oldest month after $1 (null: of all) that is over at $2 and not closed, and for how long that could have been done by now.
 * Cut off, or, when `entries_to` is null, the one after the last that was, or that of the first entry there is.
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

/** The last entry there is, and of which server; asked before WRITERS. */
export const LAST_ENTRY = {
  name: 'last_ledger_entry',
  text: `SELECT coalesce((SELECT max(id) FROM credit_entry), 0)::bigint AS id, server_mark() AS mark`,
};

/**
 * Transactions that may have an entry which is not committed. An entry's id is drawn under its table's lock: whoever does
 * not hold that by now draws a higher one than there is.
 */
export const WRITERS = {
  name: 'ledger_writers',
  text: `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
    WHERE locktype = 'relation' AND relation = 'credit_entry'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`,
};

/** Not on a server that may have lost the entries that were waited for: it draws their ids again. */
export const CUT = {
  name: 'cut_statement_month',
  text: `INSERT INTO statement_month (month, ends_at, entries_to)
    SELECT $1::date, ($1::date + interval '1 month') AT TIME ZONE 'UTC', $2 WHERE server_mark() = $3 ON CONFLICT DO NOTHING`,
};

/**
 * The first live project, in the order of their ids, with entries for this month; with the statement before, or zeros. It
 * waits while an earlier month has entries of it: what is closed now would take them, and that month could never be.
 */
export const NEXT_PROJECT = {
  name: 'next_project_to_close',
  text: `SELECT m.ends_at, m.entries_to, m.skipped, p.*, EXISTS (
          SELECT FROM statement_month o JOIN credit_entry e ON e.id <= o.entries_to AND e.created_at < o.ends_at
           WHERE o.month < m.month AND o.closed_at IS NULL AND e.project_id = p.id AND e.id >= p.rest_from
             AND (e.id > p.before_entries_to OR e.created_at >= p.before_ends_at)) AS waits
      FROM statement_month m LEFT JOIN LATERAL (
        SELECT p.id, b.number, b.closing_credits, b.ends_at AS before_ends_at, b.entries_to AS before_entries_to, b.rest_from
          FROM project p CROSS JOIN LATERAL (
            SELECT number, closing_credits, ends_at, entries_to, rest_from FROM (
              (SELECT number, closing_credits, ends_at, entries_to, rest_from FROM statement s
                WHERE s.project_id = p.id ORDER BY s.number DESC LIMIT 1)
              UNION ALL SELECT 0, 0, '-infinity', 0, 0) newest ORDER BY number DESC LIMIT 1) b
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
  /** Null when there is none. */
  readonly id: string | null;
  readonly number: number;
  readonly closing_credits: bigint;
  /** `-infinity` before the first. */
  readonly before_ends_at: Date | number;
  readonly before_entries_to: bigint;
  readonly rest_from: bigint;
  readonly waits: boolean;
}

/**
 * Closes one project's month, $2, up to $3 and $4, behind the statement before: $5 its number, $6 what it closed with, $7 and $8 what it
 * went up to, $9 from where on entries may be in none. One statement, and so one moment: with what the entries that are
 * in no statement come to (`rest`) and with the balance, which is the sum of all.
 */
export const CLOSE = {
  name: 'close_statement',
  text: `WITH open AS (
      SELECT id, created_at, credits, id <= $4::bigint AND created_at < $3::timestamptz AS is_due,
             CASE WHEN entry_key LIKE 'deposit:%' THEN 'deposit' ELSE kind END AS kind
        FROM credit_entry
       WHERE project_id = $1 AND id >= $9::bigint AND (id > $8::bigint OR created_at >= $7::timestamptz)),
    sums AS (
      SELECT count(*) FILTER (WHERE is_due) AS lines, min(created_at) FILTER (WHERE is_due) AS first_at,
             coalesce(min(id) FILTER (WHERE NOT is_due AND id <= $4::bigint), $4::bigint + 1) AS rest_from,
             coalesce(sum(credits) FILTER (WHERE is_due), 0)::bigint AS moved,
             coalesce(sum(credits) FILTER (WHERE NOT is_due), 0)::bigint AS rest,
             coalesce(sum(credits) FILTER (WHERE is_due AND kind = 'charge'), 0)::bigint AS charges,
             coalesce(sum(credits) FILTER (WHERE is_due AND kind = 'refund'), 0)::bigint AS refunds,
             coalesce(sum(credits) FILTER (WHERE is_due AND kind = 'compensation'), 0)::bigint AS compensations,
             coalesce(sum(credits) FILTER (WHERE is_due AND kind = 'deposit'), 0)::bigint AS deposits,
             coalesce(sum(credits) FILTER (WHERE is_due AND kind = 'topup'), 0)::bigint AS topups,
             coalesce(sum(credits) FILTER (WHERE is_due AND kind = 'adjustment'), 0)::bigint AS adjustments
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
  /** By how much the operator knows the balance to be more than its entries, or less. */
  readonly explained_credits: bigint | null;
}

/** $2 the project that was closed; $3 whether it was not, and is to be come back to. */
export const PASS_PROJECT = {
  name: 'pass_statement_project',
  text: `UPDATE statement_month SET projects_after = $2, skipped = skipped OR $3 WHERE month = $1::date AND closed_at IS NULL`,
};

export const BEGIN_AGAIN = {
  name: 'begin_statement_month_again',
  text: `UPDATE statement_month SET projects_after = NULL, skipped = false WHERE month = $1::date AND closed_at IS NULL`,
};

/** Not before an earlier one: of what is closed none before is open. */
export const END_MONTH = {
  name: 'end_statement_month',
  text: `UPDATE statement_month SET closed_at = clock_timestamp() WHERE month = $1::date AND closed_at IS NULL
      AND NOT EXISTS (SELECT FROM statement_month o WHERE o.month < $1::date AND o.closed_at IS NULL) RETURNING month::text`,
};
