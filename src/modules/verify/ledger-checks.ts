/**
 * Rules of the ledger (I1, I2, I8). Entries are append-only, so judged ones are kept as sums per project and one digest
 * per thousand. A pass reads only newer entries, and the digests reveal a changed older one.
 */
import { newerLedgerShape } from './ledger-act-checks.js';
import type { RecordCheck } from './record-check.js';

/** Ids per range of judged entries. */
export const ENTRIES_RANGE = 1000;
/** Ranges whose digest each pass verifies. */
const RANGES_AGAIN = 2;

/**
 * Digest of the entries `e`, independent of the session's time format. It excludes entries of test projects, which are
 * deleted at some time.
 */
export const ENTRIES_DIGEST = `encode(sha256(convert_to(coalesce(string_agg(concat_ws('|', e.id, e.entry_key, e.project_id, e.contra, e.kind,
  e.credits, e.order_id, e.actor, e.reason, extract(epoch FROM e.created_at)), ',' ORDER BY e.id)
  FILTER (WHERE e.contra <> 'test'), ''), 'UTF8')), 'hex')`;

const BALANCE = {
  check: 'ledger-balance',
  rule: 'I1',
  says: 'Every balance is the sum of its entries.',
  stops: 'everything',
  size: 'drift',
} as const;

/** Sums every entry; also used if the stored sums may be wrong. */
export const WHOLE_BALANCE: RecordCheck = {
  ...BALANCE,
  text: `SELECT 'project ' || project_id AS subject, a.balance_credits AS balance, coalesce(e.total, 0) AS entries,
      a.balance_credits - coalesce(e.total, 0) AS drift
    FROM credit_account a
    FULL JOIN (SELECT project_id, sum(credits)::bigint AS total FROM credit_entry GROUP BY project_id) e
    USING (project_id)
    WHERE a.balance_credits IS DISTINCT FROM coalesce(e.total, 0)`,
};

/** True if the entry's key names a deposit credited with the same amount to the same project. */
const HAS_DEPOSIT = `EXISTS (SELECT FROM deposit d WHERE d.txid = decode(split_part(e.entry_key, ':', 2), 'hex')
    AND d.kind = split_part(e.entry_key, ':', 3) AND d.place = split_part(e.entry_key, ':', 4)::integer
    AND d.status = 'credited' AND d.project_id = e.project_id AND d.credits = e.credits)`;

/** True if the entry's key names the extension that it pays for. */
const IS_EXTENSION = `EXISTS (SELECT FROM order_extension x WHERE x.order_id = e.order_id
    AND e.entry_key = 'charge:' || x.order_id || ':ext:' || x.number AND x.credits = -e.credits)`;

const ENTRY: RecordCheck = {
  check: 'ledger-entry',
  rule: 'I2',
  says: 'Every entry belongs to a known order, deposit or project, under the key that prevents a second booking.',
  stops: 'everything',
  text: `SELECT 'entry ' || e.id AS subject, e.entry_key, e.kind, e.credits
    FROM credit_entry e LEFT JOIN orders o ON o.id = e.order_id LEFT JOIN project p ON p.id = e.project_id
    WHERE e.id > $1::bigint AND (p.id IS NULL OR (e.order_id IS NOT NULL AND o.id IS NULL)
       OR (e.order_id IS NOT NULL AND e.project_id <> o.project_id)
       OR (e.api_key_id IS NOT NULL AND NOT EXISTS (SELECT FROM api_key k WHERE k.id = e.api_key_id AND k.project_id = e.project_id))
       OR (e.kind IN ('charge', 'refund') AND e.entry_key <> e.kind || ':' || e.order_id AND NOT (e.kind = 'charge' AND ${IS_EXTENSION}))
       OR (e.kind = 'compensation' AND e.entry_key NOT LIKE 'compensation:' || e.order_id || ':%')
       OR (e.kind = 'adjustment' AND e.entry_key NOT LIKE 'adjustment:%')
       OR (e.kind = 'topup' AND e.entry_key NOT LIKE 'topup:%'
         AND CASE WHEN e.entry_key ~ '^deposit:[0-9a-f]{64}:(native|log|internal):[0-9]{1,9}$' THEN NOT ${HAS_DEPOSIT} ELSE true END))`,
  params: () => [0],
};

const KEPT = {
  check: 'ledger-kept',
  rule: 'I1',
  says: 'Ledger entries are unchanged since they were checked.',
  stops: 'everything',
  identity: ['says_now'],
} as const;

const RANGE_BEGINS = (ENTRIES_RANGE - 1).toString();

const CHANGED_RANGES = `SELECT 'entries ' || j.to_id - ${RANGE_BEGINS} || ' to ' || j.to_id AS subject, j.digest AS said, d.digest AS says_now
    FROM (SELECT * FROM judged_entries WHERE to_id > $1::bigint ORDER BY to_id LIMIT $2::bigint) j CROSS JOIN LATERAL (
      SELECT ${ENTRIES_DIGEST} AS digest FROM credit_entry e WHERE e.id >= j.to_id - ${RANGE_BEGINS} AND e.id <= j.to_id) d
    WHERE d.digest <> j.digest`;

const OVERDRAFT: RecordCheck = {
  check: 'overdraft',
  rule: 'I8',
  says: 'No debit took a balance below its limit.',
  stops: 'everything',
  size: 'beyond',
  // Reads the newest debit of each live project. A limit that was lowered after the debit is no overdraft. The act on the
  // limit names the last entry before it; acts of earlier versions do not, so their time decides. The play money of test
  // projects is carried over by entries without a limit.
  text: `SELECT 'project ' || a.project_id AS subject, a.balance_credits AS balance, a.floor_credits AS floor, e.entry_key,
      a.floor_credits - a.balance_credits AS beyond
    FROM credit_account a CROSS JOIN LATERAL (
      SELECT id, entry_key, credits, created_at FROM credit_entry WHERE project_id = a.project_id ORDER BY id DESC LIMIT 1) e
    WHERE a.balance_credits < a.floor_credits AND e.credits < 0
      AND NOT EXISTS (SELECT FROM project p WHERE p.id = a.project_id AND p.test)
      AND NOT EXISTS (
      SELECT FROM audit_log l WHERE l.action = 'credits.terms' AND l.subject = a.project_id::text
         AND coalesce((l.detail ->> 'lastEntryId')::bigint >= e.id, l.at >= e.created_at - interval '1 minute'))`,
};

/** Checks over all entries. */
export const LEDGER_CHECKS: readonly RecordCheck[] = [
  WHOLE_BALANCE,
  ENTRY,
  { ...KEPT, text: CHANGED_RANGES, params: () => [0, null] },
  OVERDRAFT,
];

/** Position up to which the ledger was judged, and position of the turn through judged entries. */
export interface LedgerCursor {
  readonly entries_to: bigint;
  readonly entries_after: bigint;
}

/** Returns the checks over entries that are not judged yet, and over the next judged ranges in turn. */
export function newerLedgerChecks({ entries_to: to, entries_after: after }: LedgerCursor): {
  readonly balance: RecordCheck;
  readonly kept: RecordCheck;
  readonly others: readonly RecordCheck[];
} {
  const balance: RecordCheck = {
    ...BALANCE,
    text: `SELECT 'project ' || project_id AS subject, a.balance_credits AS balance,
        coalesce(j.credits, 0) + coalesce(e.total, 0) AS entries,
        a.balance_credits - coalesce(j.credits, 0) - coalesce(e.total, 0) AS drift
      FROM credit_account a
      FULL JOIN (SELECT project_id, sum(credits)::bigint AS total FROM credit_entry WHERE id > $1::bigint AND contra <> 'test' GROUP BY project_id) e
      USING (project_id) FULL JOIN judged_credits j USING (project_id)
      WHERE a.balance_credits IS DISTINCT FROM coalesce(j.credits, 0) + coalesce(e.total, 0)
        AND NOT EXISTS (SELECT FROM project p WHERE p.id = a.project_id AND p.test)`,
    params: () => [to],
  };
  const entry: RecordCheck = { ...ENTRY, params: () => [to] };
  const kept: RecordCheck = { ...KEPT, text: CHANGED_RANGES, params: () => [after, RANGES_AGAIN] };
  return { balance, kept, others: [entry, newerLedgerShape(to), OVERDRAFT] };
}

/** Last id whose digest `newerLedgerChecks` verified; 0 if the turn starts over. */
export const NEXT_ENTRIES_AFTER = `SELECT coalesce(max(to_id), 0)::bigint AS to_id FROM (
  SELECT to_id FROM judged_entries WHERE to_id > $1::bigint ORDER BY to_id LIMIT ${RANGES_AGAIN.toString()}) next`;
