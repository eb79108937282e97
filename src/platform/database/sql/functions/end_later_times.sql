-- Ends the waiting that a later clock caused, after the database's clock was set back: moves every future time back
-- by p_sec seconds but not into the past, counts amounts of a later day as today's, and deletes rates of later
-- minutes.
-- The worker that sees the step calls it once. With the owner's rights, since the rows belong to several processes.
-- Locked rows are skipped; at most 50,000 rows of a table are moved, and the others become due later by themselves.
CREATE OR REPLACE FUNCTION end_later_times(p_sec double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_back interval := p_sec * interval '1 second';
  v_today date := (v_now AT TIME ZONE 'UTC')::date;
  -- A small step over midnight does not change the day of caps: the caps would count that day twice.
  v_last_day date := v_today + CASE WHEN p_sec < 3600 THEN 1 ELSE 0 END;
BEGIN
  -- Rates of future minutes, unless the chain has reached them.
  DELETE FROM asset_rate r WHERE r.minute > greatest(v_now, (SELECT c.block_at FROM deposit_cursor c));
  UPDATE notification n SET due_at = greatest(v_now, n.due_at - v_back)
   WHERE n.membership_id IN (SELECT membership_id FROM notification WHERE due_at > v_now
     ORDER BY membership_id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE auto_delegation a SET due_at = greatest(v_now, a.due_at - v_back), check_at = greatest(v_now, a.check_at - v_back)
   WHERE a.id IN (SELECT id FROM auto_delegation WHERE due_at > v_now OR check_at > v_now
     ORDER BY id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  -- Lock order: the delivery's row before its endpoint's row.
  UPDATE webhook_delivery d SET next_at = greatest(v_now, d.next_at - v_back)
   WHERE d.id IN (SELECT id FROM webhook_delivery WHERE status = 'pending' AND attempts > 0 AND next_at > v_now
     ORDER BY id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE webhook_state s SET due_at = greatest(v_now, s.due_at - v_back)
   WHERE s.endpoint_id IN (SELECT endpoint_id FROM webhook_state WHERE due_at > v_now
     ORDER BY endpoint_id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE open_orders o SET play_at = greatest(v_now, o.play_at - v_back)
   WHERE o.id IN (SELECT id FROM open_orders WHERE play_at > v_now AND NOT settled
     ORDER BY id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE api_key k SET spent_on = v_today
   WHERE k.id IN (SELECT id FROM api_key WHERE spent_on > v_last_day ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE auto_delegation a SET spent_on = v_today
   WHERE a.id IN (SELECT id FROM auto_delegation WHERE spent_on > v_last_day ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE credit_account a SET spent_on = v_today
   WHERE a.project_id IN (SELECT project_id FROM credit_account WHERE spent_on > v_last_day
     ORDER BY project_id FOR NO KEY UPDATE SKIP LOCKED);
END $$;

REVOKE EXECUTE ON FUNCTION end_later_times FROM PUBLIC;
