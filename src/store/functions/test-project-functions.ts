/**
 * What keeps test projects apart from what is sold (docs/interface.md §32): rows they never have, and rows that alone may
 * be deleted. The other half stands in the guards of orders, legs, transactions and entries (row-guards.ts).
 */

/** Of a table whose rows are of projects, and of which a test project has none. */
const REFUSE_TEST_PROJECT_SQL = `
CREATE OR REPLACE FUNCTION refuse_test_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM project p WHERE p.id = NEW.project_id AND p.test) THEN
       RAISE EXCEPTION '%: a test project has none', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`;

/** Rows that hang on orders are kept for ever, but for those of test orders. */
const KEPT_UNLESS_TEST_SQL = `
CREATE OR REPLACE FUNCTION kept_unless_test() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM open_orders o WHERE o.id = OLD.order_id AND o.test) THEN
       RETURN OLD;
     END IF;
     RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
   END $$`;

/** A test order `o` of which nothing happened for p_days, and nothing waits for its position. */
const IS_OLD = `o.test AND o.play_at IS NULL AND o.created_at < clock_timestamp() - p_days * interval '1 day'
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= clock_timestamp() - p_days * interval '1 day' OR (e.type IS NOT NULL AND e.position IS NULL)))`;

/**
 * Deletes up to p_limit test orders of which nothing happened for p_days, with all that hangs on them; how many. Their
 * logs end behind their newest event, as those of live projects end at their oldest kept one. What their entries came to
 * stays as one entry, so that a balance is the sum of its entries. With the owner’s rights: nobody may delete orders.
 */
const PRUNE_TEST_ORDERS_SQL = `
CREATE OR REPLACE FUNCTION prune_test_orders(p_days integer, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  -- The search may be long, and nobody's events wait for it.
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE ${IS_OLD}
     ORDER BY o.created_at LIMIT p_limit) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;
  -- The lock of who numbers events or ends their logs: one at a time, and nobody waits. What was found is still so under it.
  IF NOT pg_try_advisory_xact_lock(4202001) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND ${IS_OLD}
     ORDER BY o.created_at FOR UPDATE SKIP LOCKED) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;

  UPDATE event_position p SET pruned_to = greatest(p.pruned_to, e.position)
    FROM (SELECT project_id, max(position) AS position FROM event WHERE order_id = ANY (v_orders) GROUP BY project_id) e
   WHERE p.project_id = e.project_id AND e.position IS NOT NULL;
  DELETE FROM event WHERE order_id = ANY (v_orders);

  WITH gone AS (
    DELETE FROM credit_entry e USING (
      SELECT kind || ':' || id AS entry_key FROM unnest(v_orders) AS id CROSS JOIN (VALUES ('charge'), ('refund')) k(kind)
      UNION ALL SELECT 'charge:' || x.order_id || ':ext:' || x.number FROM order_extension x WHERE x.order_id = ANY (v_orders)
      UNION ALL SELECT c.entry_key FROM credit_entry c WHERE c.kind = 'compensation' AND c.order_id = ANY (v_orders)
      UNION ALL SELECT 'adjustment:test-carried:' || p.project_id
        FROM (SELECT DISTINCT project_id FROM open_orders WHERE id = ANY (v_orders)) p) k
     WHERE e.entry_key = k.entry_key RETURNING e.project_id, e.credits)
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason)
  SELECT 'adjustment:test-carried:' || project_id, project_id, 'test', 'adjustment', sum(credits)::bigint, 'retention',
         'What the entries of test orders came to that are not kept any more.'
    FROM gone GROUP BY project_id HAVING sum(credits) <> 0;

  DELETE FROM order_key k USING order_extension x
   WHERE x.order_id = ANY (v_orders) AND k.project_id = x.project_id AND k.key = x.key;
  DELETE FROM order_key k USING open_orders o WHERE o.id = ANY (v_orders) AND k.project_id = o.project_id AND k.key = o.key;
  DELETE FROM order_extension WHERE order_id = ANY (v_orders);
  DELETE FROM order_replay WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  RETURN cardinality(v_orders);
END $$`;

export const TEST_PROJECT_FUNCTIONS: Readonly<Record<string, string>> = {
  refuse_test_project: REFUSE_TEST_PROJECT_SQL,
  kept_unless_test: KEPT_UNLESS_TEST_SQL,
  prune_test_orders: PRUNE_TEST_ORDERS_SQL,
};
