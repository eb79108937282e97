/**
 * Runs checks of the books inside one snapshot. A check is one read over whole tables whose rows are what breaks its
 * rule: a column `subject`, a column `wallet_id` where one wallet answers for it, and the figures.
 */
import type { Queryable } from '../store/database.js';
import { findingOf, type CheckResult, type RuleId, type Stops } from './finding.js';

export interface BookTerms {
  /** How long an order may take until it is settled or refunded, in seconds; 0 = everything must be over by now. */
  readonly settleWithinSec: number;
  /** How many rows of a broken rule are listed. */
  readonly findingsMax: number;
}

export interface BookCheck {
  readonly check: string;
  readonly rule: RuleId;
  readonly says: string;
  readonly stops: Stops;
  /** The columns that tell this disagreement from another on the same subject; never a sum. None unless said. */
  readonly identity?: readonly string[];
  /** The column that says how large it is; an explanation holds up to that. */
  readonly size?: string;
  /** When this read has a row, the check cannot be made, for the reason given. */
  readonly unless?: { readonly text: string; readonly params: readonly unknown[]; readonly why: string };
  readonly text: string;
  readonly params?: (terms: BookTerms) => readonly unknown[];
}

// A check's own text is a constant of this room; only values ever come from outside.
const FIRST_ROWS = 'SELECT v.*, count(*) OVER () AS rows_found FROM (';
const ROWS_END = ') v LIMIT ';

/** A read over whole tables takes longer than a connection otherwise waits for an answer. */
export const CHECK_LIMIT_MS = 300_000;

type CheckRow = Readonly<Record<string, unknown>>;

/** Makes one check. Throws when it cannot be made. */
export async function runBookCheck(tx: Queryable, check: BookCheck, terms: BookTerms): Promise<CheckResult> {
  if (check.unless !== undefined && (await tx.query(check.unless.text, check.unless.params)).length > 0) {
    throw new Error(check.unless.why);
  }
  const text = [FIRST_ROWS, check.text, ROWS_END, terms.findingsMax.toString()].join('');
  const statement = { text, query_timeout: CHECK_LIMIT_MS };
  const rows = await tx.query<CheckRow>(statement, check.params?.(terms) ?? []);
  return {
    check: check.check,
    rule: check.rule,
    says: check.says,
    stops: check.stops,
    count: Number(rows[0]?.['rows_found'] ?? 0),
    findings: rows.map(({ rows_found: _count, subject, wallet_id, ...facts }) =>
      findingOf(check.check, check.rule, typeof subject === 'string' ? subject : 'a row', facts, {
        walletId: typeof wallet_id === 'number' ? wallet_id : undefined,
        identity: check.identity,
        amount: check.size === undefined ? undefined : sizeOf(facts[check.size]),
      }),
    ),
  };
}

/** A sum comes as a bigint, or as a text where it is a numeric. */
function sizeOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'string' && /^-?\d+$/.test(value) ? BigInt(value) : undefined;
}
