/** Rules of the ledger and of what was charged (I1, I2, I8), as reads over whole tables. */
import type { BookCheck } from './book-check.js';
import { RECOVERY_PROJECT } from './recovery.js';

export const LEDGER_CHECKS: readonly BookCheck[] = [
  {
    check: 'ledger-balance',
    rule: 'I1',
    says: 'Every balance is the sum of its entries.',
    stops: 'everything',
    size: 'drift',
    text: `SELECT 'project ' || project_id AS subject, a.balance_credits AS balance, coalesce(e.total, 0) AS entries,
        a.balance_credits - coalesce(e.total, 0) AS drift
      FROM credit_account a
      FULL JOIN (SELECT project_id, sum(credits)::bigint AS total FROM credit_entry GROUP BY project_id) e
      USING (project_id)
      WHERE a.balance_credits IS DISTINCT FROM coalesce(e.total, 0)`,
  },
  {
    check: 'ledger-entry',
    rule: 'I2',
    says: 'Every entry belongs to a known order and project, under the key that makes it happen once.',
    stops: 'everything',
    text: `SELECT 'entry ' || e.id AS subject, e.entry_key, e.kind, e.credits
      FROM credit_entry e LEFT JOIN orders o ON o.id = e.order_id LEFT JOIN project p ON p.id = e.project_id
      WHERE p.id IS NULL OR (e.order_id IS NOT NULL AND o.id IS NULL)
         OR (e.order_id IS NOT NULL AND e.project_id <> o.project_id)
         OR (e.kind IN ('charge', 'refund') AND e.entry_key <> e.kind || ':' || e.order_id)
         OR (e.kind = 'compensation' AND e.entry_key NOT LIKE 'compensation:' || e.order_id || ':%')
         OR (e.kind IN ('topup', 'adjustment') AND e.entry_key NOT LIKE e.kind || ':%')`,
  },
  {
    check: 'order-charge',
    rule: 'I2',
    says: 'Every order is charged once, exactly its credits, and given back once if and only if it is refunded.',
    stops: 'everything',
    text: `SELECT 'order ' || o.id AS subject, o.status, o.credits, coalesce(e.charges, 0) AS charges, e.charged,
        coalesce(e.refunds, 0) AS refunds, e.refunded
      FROM orders o LEFT JOIN (
        SELECT order_id, count(*) FILTER (WHERE kind = 'charge') AS charges,
               -sum(credits) FILTER (WHERE kind = 'charge') AS charged,
               count(*) FILTER (WHERE kind = 'refund') AS refunds,
               coalesce(sum(credits) FILTER (WHERE kind = 'refund'), 0) AS refunded
          FROM credit_entry WHERE order_id IS NOT NULL GROUP BY order_id) e ON e.order_id = o.id
      WHERE o.project_id <> '${RECOVERY_PROJECT}' AND (e.order_id IS NULL OR e.charges <> 1 OR e.charged <> o.credits
         OR e.refunds <> (o.status = 'refunded')::integer
         OR e.refunded <> CASE WHEN o.status = 'refunded' THEN o.credits ELSE 0 END)`,
  },
  {
    check: 'order-compensation',
    rule: 'I2',
    says: 'What was given back for an order, its refund included, is at most what it was charged.',
    stops: 'everything',
    size: 'beyond',
    text: `SELECT 'order ' || order_id AS subject, -sum(credits) FILTER (WHERE kind = 'charge') AS charged,
        sum(credits) FILTER (WHERE kind IN ('refund', 'compensation')) AS given, sum(credits)::bigint AS beyond
      FROM credit_entry WHERE order_id IN (SELECT order_id FROM credit_entry WHERE kind = 'compensation')
      GROUP BY order_id HAVING coalesce(sum(credits), 0) > 0`,
  },
  {
    check: 'overdraft',
    rule: 'I8',
    says: 'No debit took a balance below what the project may owe.',
    stops: 'everything',
    size: 'beyond',
    // The newest debit of each project; a limit that was lowered at the time or since is no overdraft.
    text: `SELECT 'project ' || a.project_id AS subject, a.balance_credits AS balance, a.floor_credits AS floor, e.entry_key,
        a.floor_credits - a.balance_credits AS beyond
      FROM credit_account a CROSS JOIN LATERAL (
        SELECT entry_key, credits, created_at FROM credit_entry WHERE project_id = a.project_id ORDER BY id DESC LIMIT 1) e
      WHERE a.balance_credits < a.floor_credits AND e.credits < 0 AND NOT EXISTS (
        SELECT FROM audit_log l WHERE l.action = 'credits.terms' AND l.subject = a.project_id::text
           AND l.at >= e.created_at - interval '1 minute')`,
  },
];
