-- The same for many orders, in order. Null also while another request of the same key is in progress; only take_order
-- waits for that. p_lock_ms: the longest wait for each lock.
CREATE OR REPLACE FUNCTION order_refusals(
  p_projects uuid[], p_api_keys uuid[], p_keys text[], p_credits bigint[], p_refusals text[], p_lock_ms integer
) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
  FOR i IN 1 .. cardinality(p_keys) LOOP
    RETURN NEXT CASE WHEN pg_try_advisory_xact_lock(1, hashtext(p_projects[i] || p_keys[i]))
      THEN order_refusal(p_projects[i], p_api_keys[i], p_keys[i], p_credits[i], p_refusals[i]) END;
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION order_refusals FROM PUBLIC;
