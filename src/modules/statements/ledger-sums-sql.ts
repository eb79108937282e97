// Parts of the statements that sum the entries after a project's newest statement.

/** Kind of an entry in statements: the ledger books a deposit as a top-up under the deposit's key. */
export const ENTRY_KIND = `CASE WHEN entry_key LIKE 'deposit:%' THEN 'deposit' ELSE kind END`;

/** The newest statement of the project `PROJECT`, or zeros. */
export const newestStatement = (
  PROJECT: string,
): string => `SELECT number, closing_credits, ends_at, entries_to, rest_from FROM (
      (SELECT number, closing_credits, ends_at, entries_to, rest_from FROM statement s
        WHERE s.project_id = ${PROJECT} ORDER BY s.number DESC LIMIT 1)
      UNION ALL SELECT 0, 0, '-infinity', 0, 0) newest ORDER BY number DESC LIMIT 1`;

const sumOf = (KIND: string, CONDITION: string): string =>
  `coalesce(sum(credits) FILTER (WHERE ${CONDITION} AND kind = '${KIND}'), 0)::bigint`;

/** The sums of the entries that meet a condition, by kind. */
export const sumsByKind = (CONDITION: string): string => `${sumOf('charge', CONDITION)} AS charges,
             ${sumOf('refund', CONDITION)} AS refunds,
             ${sumOf('compensation', CONDITION)} AS compensations,
             ${sumOf('deposit', CONDITION)} AS deposits,
             ${sumOf('topup', CONDITION)} AS topups,
             ${sumOf('adjustment', CONDITION)} AS adjustments`;
