/**
 * Runs checks of the books inside one snapshot. A check is one read over whole tables whose rows are what breaks its
 * rule: a column `subject`, a column `wallet_id` where one wallet answers for it, and the figures.
 */
import type { Queryable } from '../store/database.js';
import { FINDINGS_MAX, findingOf, type CheckResult, type RuleId } from './finding.js';

export interface BookTerms {
  /** How long an order may take until it is settled or refunded, in seconds; 0 = everything must be over by now. */
  readonly settleWithinSec: number;
}

export interface BookCheck {
  readonly check: string;
  readonly rule: RuleId;
  readonly says: string;
  readonly text: string;
  readonly params?: (terms: BookTerms) => readonly unknown[];
}

// A check's own text is a constant of this room; only values ever come from outside.
const FIRST_ROWS = 'SELECT v.*, count(*) OVER () AS rows_found FROM (';
const ROWS_END = `) v LIMIT ${FINDINGS_MAX.toString()}`;

type CheckRow = Readonly<Record<string, unknown>>;

export async function runBookCheck(tx: Queryable, check: BookCheck, terms: BookTerms): Promise<CheckResult> {
  const text = [FIRST_ROWS, check.text, ROWS_END].join('');
  const rows = await tx.query<CheckRow>(text, check.params?.(terms) ?? []);
  return {
    check: check.check,
    rule: check.rule,
    says: check.says,
    count: Number(rows[0]?.['rows_found'] ?? 0),
    findings: rows.map(({ rows_found: _count, subject, wallet_id, ...facts }) =>
      findingOf(
        check.check,
        check.rule,
        typeof subject === 'string' ? subject : 'a row',
        facts,
        typeof wallet_id === 'number' ? wallet_id : undefined,
      ),
    ),
  };
}
