/**
 * Runs checks of the records inside one snapshot. A check is one read, over whole tables or over some orders with their
 * dependent rows. Its rows are the violations: a column `subject`, a column `wallet_id` if one wallet is affected, and
 * the figures.
 */
import type { Queryable } from '../../platform/database/database.js';
import { findingOf, type CheckResult, type RuleId, type Stops } from './finding.js';

export interface RecordTerms {
  /** Time within which an order must be settled or refunded, in seconds; 0 means that everything must be final. */
  readonly settleWithinSec: number;
  /** Rows of a broken rule to list. */
  readonly findingsMax: number;
}

export interface RecordCheck {
  readonly check: string;
  readonly rule: RuleId;
  readonly says: string;
  readonly stops: Stops;
  /** Columns that distinguish this disagreement from others on the same subject; never a sum. Default: none. */
  readonly identity?: readonly string[];
  /** Column with the size of the disagreement; an explanation covers up to that. */
  readonly size?: string;
  /** If this read returns a row, the check cannot be made, for the given reason. */
  readonly unless?: { readonly text: string; readonly params: readonly unknown[]; readonly why: string };
  readonly text: string;
  readonly params?: (terms: RecordTerms) => readonly unknown[];
}

/** Makes one check inside a snapshot, and stores its result or the reason why it could not be made. */
export type TryCheck = (check: string, run: () => Promise<CheckResult>) => Promise<CheckResult | undefined>;

/** The orders that a check reads, each with its dependent rows. */
export type OrderScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'some'; readonly ids: readonly bigint[] }
  | { readonly kind: 'between'; readonly after: bigint; readonly upTo: bigint };

/**
 * A check of individual orders. It reads from `the_orders`, `the_legs`, `the_transactions`, `the_moves`, `the_events`,
 * `the_extensions` and `the_entries` (charges, refunds and compensations), which hold the rows of a scope. The column
 * `of_order` names the order.
 */
export type OrderCheck = RecordCheck;

const ALL_ROWS = {
  the_orders: 'SELECT * FROM orders',
  the_legs: 'SELECT * FROM leg',
  the_transactions: 'SELECT * FROM chain_tx',
  the_moves: 'SELECT * FROM (SELECT * FROM event WHERE to_status IS NOT NULL) moves',
  the_events: 'SELECT * FROM event',
  the_extensions: 'SELECT * FROM order_extension',
  the_entries: 'SELECT * FROM credit_entry',
};

/**
 * Finds an order's entries by key, or by the index of compensations. Entries under another key are found by the ledger
 * checks.
 */
const ENTRIES_BEGIN = 'SELECT e.* FROM (SELECT id FROM orders WHERE ';
const ENTRIES_END = `) i CROSS JOIN LATERAL (
      SELECT * FROM credit_entry WHERE entry_key IN ('charge:' || i.id, 'refund:' || i.id) AND order_id = i.id
      UNION ALL SELECT * FROM credit_entry WHERE kind = 'compensation' AND order_id = i.id
      UNION ALL SELECT c.* FROM order_extension x JOIN credit_entry c ON c.entry_key = 'charge:' || x.order_id || ':ext:' || x.number
       WHERE x.order_id = i.id AND c.order_id = i.id) e`;

/** Returns the CTEs that define the rows of `scope` for a statement. Their parameters follow the first `given` ones. */
export function rowsOf(
  scope: OrderScope,
  given: number,
): { readonly prefix: string; readonly params: readonly unknown[] } {
  const first = `$${(given + 1).toString()}::bigint`;
  const second = `$${(given + 2).toString()}::bigint`;
  const chosen = (id: string): string =>
    scope.kind === 'some' ? `${id} = ANY (${first}[])` : `${id} > ${first} AND ${id} <= ${second}`;
  const named = Object.entries(ALL_ROWS).map(([name, all]) => {
    const where = scope.kind === 'all' ? [] : [' WHERE ', chosen(name === 'the_orders' ? 'id' : 'order_id')];
    const text =
      name === 'the_entries' && scope.kind !== 'all' ? [ENTRIES_BEGIN, chosen('id'), ENTRIES_END] : [all, ...where];
    // Not materialized, so that each use goes through the indexes instead of reading the whole table first.
    return [name, ' AS NOT MATERIALIZED (', ...text, ')'].join('');
  });
  const params = scope.kind === 'all' ? [] : scope.kind === 'some' ? [scope.ids] : [scope.after, scope.upTo];
  return { prefix: ['WITH ', named.join(', '), ' '].join(''), params };
}

/** Makes one check of the orders within `scope`. Throws if it cannot be made. */
export async function runOrderCheck(
  tx: Queryable,
  check: OrderCheck,
  terms: RecordTerms,
  scope: OrderScope,
): Promise<CheckResult> {
  const own = check.params?.(terms) ?? [];
  const { prefix, params } = rowsOf(scope, own.length);
  const text = [prefix, check.text].join('');
  return runRecordCheck(tx, { ...check, text, params: () => [...own, ...params] }, terms);
}

// A check's text is a constant of this module; only values come from outside.
const FIRST_ROWS = 'SELECT v.*, count(*) OVER () AS rows_found FROM (';
const ROWS_END = ') v LIMIT ';

/** A read over whole tables takes longer than the connection's usual timeout. */
export const CHECK_LIMIT_MS = 300_000;

type CheckRow = Readonly<Record<string, unknown>>;

/** Makes one check. Throws if it cannot be made. */
export async function runRecordCheck(tx: Queryable, check: RecordCheck, terms: RecordTerms): Promise<CheckResult> {
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
    findings: rows.map(({ rows_found: _count, subject, wallet_id, of_order, ...facts }) =>
      findingOf({
        check: check.check,
        rule: check.rule,
        subject: typeof subject === 'string' ? subject : 'a row',
        facts,
        walletId: typeof wallet_id === 'number' ? wallet_id : undefined,
        orderId: typeof of_order === 'bigint' ? of_order : undefined,
        identity: check.identity,
        amount: check.size === undefined ? undefined : sizeOf(facts[check.size]),
      }),
    ),
  };
}

/** A sum is a bigint, or text if its type is numeric. */
function sizeOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'string' && /^-?\d+$/.test(value) ? BigInt(value) : undefined;
}
