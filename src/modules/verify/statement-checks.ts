/**
 * Rules of monthly statements (I16): each holds exactly its month's entries, they follow each other, and none is
 * missing.
 */
import type { RecordCheck } from './record-check.js';

/** Covers recently closed statements, over several passes. The subquery lets it use the index. */
const LATELY = ` WHERE closed_at >= (SELECT clock_timestamp() - interval '10 minutes')`;

const SUMS: Omit<RecordCheck, 'text'> = {
  check: 'statement-sums',
  rule: 'I16',
  says: 'Every statement consists of the entries of its month that it was the first to close.',
  stops: 'nothing',
};

/** Finds the statement of each entry, rather than the entries of each statement. */
const SUMS_BEGIN = `SELECT 'statement ' || r.number || ' of ' || r.project_id AS subject, r.lines, e.entries,
      r.closing_credits - r.opening_credits AS moved, e.credits
    FROM (SELECT * FROM statement`;
const SUMS_END = `) r CROSS JOIN LATERAL (
      SELECT count(*) AS entries, coalesce(sum(e.credits), 0)::bigint AS credits,
             coalesce(sum(e.credits) FILTER (WHERE e.kind = 'charge'), 0) AS charges,
             coalesce(sum(e.credits) FILTER (WHERE e.kind = 'refund'), 0) AS refunds,
             coalesce(sum(e.credits) FILTER (WHERE e.kind = 'compensation'), 0) AS compensations,
             coalesce(sum(e.credits) FILTER (WHERE e.entry_key LIKE 'deposit:%'), 0) AS deposits,
             coalesce(sum(e.credits) FILTER (WHERE e.kind = 'topup' AND e.entry_key NOT LIKE 'deposit:%'), 0) AS topups
        FROM credit_entry e
       WHERE e.project_id = r.project_id AND e.created_at >= r.first_at AND e.created_at < r.ends_at AND r.number = (
         SELECT min(s.number) FROM statement s
          WHERE s.project_id = e.project_id AND s.entries_to >= e.id AND s.ends_at > e.created_at)) e
   WHERE (r.lines, r.closing_credits - r.opening_credits, r.charge_credits, r.refund_credits, r.compensation_credits, r.deposit_credits, r.topup_credits)
     IS DISTINCT FROM (e.entries, e.credits, e.charges, e.refunds, e.compensations, e.deposits, e.topups)`;

const NUMBERS: RecordCheck = {
  check: 'statement-numbers',
  rule: 'I16',
  says: 'The statements of a project are numbered without gaps, each later than the one before, ending with its month, and opening with the closing balance of the one before.',
  stops: 'nothing',
  text: `SELECT 'statement ' || number || ' of ' || project_id AS subject, month, before, opening_credits, closed_with
      FROM (SELECT project_id, number, month, opening_credits, ends_at, entries_to, lag(number) OVER one_by_one AS before,
                   lag(closing_credits) OVER one_by_one AS closed_with, lag(ends_at) OVER one_by_one AS ended_at,
                   lag(entries_to) OVER one_by_one AS went_to
              FROM statement WINDOW one_by_one AS (PARTITION BY project_id ORDER BY number)) s
     WHERE number <> coalesce(before, 0) + 1 OR opening_credits <> coalesce(closed_with, 0) OR ends_at <= ended_at OR entries_to < went_to
        OR ends_at <> (month + interval '1 month') AT TIME ZONE 'UTC'`,
};

/**
 * Compares statements with all entries by sum and number, so that a lost entry is noticed even if another was counted
 * twice.
 */
const COMPLETE: RecordCheck = {
  check: 'statement-complete',
  rule: 'I16',
  says: 'Every entry of a live project in a closed month is in a statement, and the newest statement closes with the sum of all.',
  stops: 'nothing',
  text: `SELECT 'project ' || project_id AS subject, e.entries, s.lines, e.credits, s.closing_credits
      FROM (
        SELECT e.project_id, count(*) AS entries, sum(e.credits)::bigint AS credits
          FROM (SELECT entries_to, ends_at FROM statement_month WHERE closed_at IS NOT NULL ORDER BY month DESC LIMIT 1) m
          JOIN credit_entry e ON e.id <= m.entries_to AND e.created_at < m.ends_at AND e.contra <> 'test' GROUP BY e.project_id) e
      FULL JOIN (
        SELECT project_id, sum(lines)::bigint AS lines, (array_agg(closing_credits ORDER BY number DESC))[1] AS closing_credits
          FROM statement WHERE month <= (SELECT max(month) FROM statement_month WHERE closed_at IS NOT NULL) GROUP BY project_id) s
      USING (project_id)
     WHERE (e.entries, e.credits) IS DISTINCT FROM (s.lines, s.closing_credits)`,
};

/** Checks over all statements and entries. */
export const STATEMENT_CHECKS: readonly RecordCheck[] = [
  { ...SUMS, text: [SUMS_BEGIN, SUMS_END].join('') },
  NUMBERS,
  COMPLETE,
];

/** Checks over recently closed statements. */
export const NEWER_STATEMENT_CHECKS: readonly RecordCheck[] = [
  { ...SUMS, text: [SUMS_BEGIN, LATELY, SUMS_END].join('') },
];
