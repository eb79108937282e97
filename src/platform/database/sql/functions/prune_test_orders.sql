-- Deletes up to p_limit test orders without activity for p_days, with all their rows. Returns how many. Their logs
-- end behind their newest event. The sum of the deleted entries stays as one entry, so that a balance remains the sum
-- of its entries.
-- With the owner's rights: no role may delete orders.
CREATE OR REPLACE FUNCTION prune_test_orders(p_days integer, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  -- As a value it bounds the reads of the indexes.
  v_before timestamptz := clock_timestamp() - p_days * interval '1 day';
  v_orders bigint[];
BEGIN
  -- The search may take long, so it runs before the lock that delays the numbering of events.
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.test AND o.play_at IS NULL AND o.created_at < v_before
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= v_before OR (e.type IS NOT NULL AND e.position IS NULL)))
     ORDER BY o.created_at LIMIT p_limit) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;
  -- The lock for numbering events and ending logs. It is not waited for.
  IF NOT pg_try_advisory_xact_lock(4202001) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(held.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o WHERE o.id = ANY (v_orders) ORDER BY o.created_at FOR UPDATE SKIP LOCKED) held;
  -- Only a statement that begins under the locks sees what was committed before them.
  SELECT array_agg(o.id) INTO v_orders FROM open_orders o
   WHERE o.id = ANY (v_orders) AND o.test AND o.play_at IS NULL AND o.created_at < v_before
     AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
           e.at >= v_before OR (e.type IS NOT NULL AND e.position IS NULL)));
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
         'Sum of the entries of deleted test orders.'
    FROM gone GROUP BY project_id HAVING sum(credits) <> 0;

  DELETE FROM order_key k USING order_extension x
   WHERE x.order_id = ANY (v_orders) AND k.project_id = x.project_id AND k.key = x.key;
  DELETE FROM order_key k USING open_orders o WHERE o.id = ANY (v_orders) AND k.project_id = o.project_id AND k.key = o.key;
  DELETE FROM order_extension WHERE order_id = ANY (v_orders);
  DELETE FROM order_replay WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  RETURN cardinality(v_orders);
END $$;

REVOKE EXECUTE ON FUNCTION prune_test_orders FROM PUBLIC;
