/** Rules of test projects (I18): they use no pool capacity, money or address, and nothing of theirs is sold. */
import type { OrderCheck, RecordCheck } from './record-check.js';

/** As the row guards require, and as the simulation leaves an order. */
export const TEST_ORDERS_APART: OrderCheck = {
  check: 'test-orders',
  rule: 'I18',
  says: 'An order of a test project has no legs, transactions or revenue, and is simulated; no other order is.',
  stops: 'everything',
  text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.test, p.test AS of_test_project, o.next_run_at, o.play_at,
        EXISTS (SELECT FROM the_legs l WHERE l.order_id = o.id) AS has_legs,
        EXISTS (SELECT FROM the_transactions t WHERE t.order_id = o.id) AS has_transactions
      FROM the_orders o LEFT JOIN project p ON p.id = o.project_id
        LEFT JOIN (
          SELECT order_id, bool_or(contra = 'test') AS of_test, bool_or(contra <> 'test') AS of_money
            FROM the_entries WHERE order_id IS NOT NULL GROUP BY order_id) e ON e.order_id = o.id
     WHERE o.test <> coalesce(p.test, false)
        OR CASE WHEN o.test THEN e.of_money ELSE e.of_test END
        OR CASE WHEN o.test THEN o.next_run_at IS NOT NULL
             OR EXISTS (SELECT FROM the_legs l WHERE l.order_id = o.id)
             OR EXISTS (SELECT FROM the_transactions t WHERE t.order_id = o.id)
             OR (o.settled AND o.status NOT IN ('delivered', 'refunded')) OR (o.status = 'refunded' AND NOT o.settled)
             OR (o.status = 'delivered' AND o.kind = 'rental' AND o.ends_at IS DISTINCT FROM
                  o.delivered_at + (o.duration_sec + coalesce((
                    SELECT sum(x.duration_sec) FROM the_extensions x WHERE x.order_id = o.id), 0)) * interval '1 second')
           ELSE o.play_at IS NOT NULL END`,
};

/** Over all projects. */
export const TEST_PROJECTS_APART: RecordCheck = {
  check: 'test-projects',
  rule: 'I18',
  says: 'A test project has no deposit address, statement or auto-delegation, and no entry of real money.',
  stops: 'everything',
  identity: ['what'],
  text: `SELECT 'project ' || p.id AS subject, f.what
      FROM project p CROSS JOIN LATERAL (
        SELECT 'deposit address' AS what FROM deposit_address d WHERE d.project_id = p.id
        UNION SELECT 'statement' FROM statement s WHERE s.project_id = p.id
        UNION SELECT 'auto-delegation' FROM auto_delegation a WHERE a.project_id = p.id
        UNION SELECT 'entry' FROM credit_entry e WHERE e.project_id = p.id AND e.contra <> 'test') f
     WHERE p.test`,
};
