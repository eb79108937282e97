/**
 * What times written by a later clock would keep waiting after the database's clock is set back. The worker that sees the
 * step calls it, once, with the owner's rights: the rows belong to several processes.
 */

/** More rows than this of one table come due by themselves, a little later. */
const ROWS_MAX = 50_000;

/**
 * Moves every time that lies ahead back by p_sec seconds, but not into the past, counts today what was counted for a
 * later day, and deletes rates of later minutes. Rows that another session holds are skipped.
 */
const END_LATER_TIMES_SQL = `
CREATE OR REPLACE FUNCTION end_later_times(p_sec double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_back interval := p_sec * interval '1 second';
  v_today date := (v_now AT TIME ZONE 'UTC')::date;
BEGIN
  -- Rates of minutes that have not come yet, but for a chain that is ahead.
  DELETE FROM asset_rate r WHERE r.minute > greatest(v_now, (SELECT c.block_at FROM deposit_cursor c));
  UPDATE notification n SET due_at = greatest(v_now, n.due_at - v_back)
   WHERE n.membership_id IN (SELECT membership_id FROM notification WHERE due_at > v_now
     ORDER BY membership_id LIMIT ${ROWS_MAX.toString()} FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE auto_delegation a SET due_at = greatest(v_now, a.due_at - v_back), check_at = greatest(v_now, a.check_at - v_back)
   WHERE a.id IN (SELECT id FROM auto_delegation WHERE due_at > v_now OR check_at > v_now
     ORDER BY id LIMIT ${ROWS_MAX.toString()} FOR NO KEY UPDATE SKIP LOCKED);
  -- The delivery's row first, as by everybody who locks both.
  UPDATE webhook_delivery d SET next_at = greatest(v_now, d.next_at - v_back)
   WHERE d.id IN (SELECT id FROM webhook_delivery WHERE status = 'pending' AND attempts > 0 AND next_at > v_now
     ORDER BY id LIMIT ${ROWS_MAX.toString()} FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE webhook_state s SET due_at = greatest(v_now, s.due_at - v_back)
   WHERE s.endpoint_id IN (SELECT endpoint_id FROM webhook_state WHERE due_at > v_now
     ORDER BY endpoint_id LIMIT ${ROWS_MAX.toString()} FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE open_orders o SET play_at = greatest(v_now, o.play_at - v_back)
   WHERE o.id IN (SELECT id FROM open_orders WHERE play_at > v_now AND NOT settled
     ORDER BY id LIMIT ${ROWS_MAX.toString()} FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE api_key k SET spent_on = v_today
   WHERE k.id IN (SELECT id FROM api_key WHERE spent_on > v_today ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE auto_delegation a SET spent_on = v_today
   WHERE a.id IN (SELECT id FROM auto_delegation WHERE spent_on > v_today ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE credit_account a SET spent_on = v_today
   WHERE a.project_id IN (SELECT project_id FROM credit_account WHERE spent_on > v_today
     ORDER BY project_id FOR NO KEY UPDATE SKIP LOCKED);
END $$`;

export const CLOCK_FUNCTIONS: Readonly<Record<string, string>> = { end_later_times: END_LATER_TIMES_SQL };
