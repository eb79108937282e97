-- Counts a project's spending of the present day again from its charges, after the database's clock jumped: a count that
-- a wrong clock began must not give the daily caps twice. Never lowers the count of the day. Refunded charges count as
-- nothing. With the owner's rights: no role may change the spending of keys.
-- Lock order of take_order: auto-delegations, keys, and the balance row last. Under the locks of the keys no charge of
-- the project is in progress. An auto-delegation whose first charge of the day comes meanwhile has the right count.
CREATE OR REPLACE FUNCTION recount_spending(p_project uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_autos bigint[];
BEGIN
  SELECT array_agg(DISTINCT c.auto_id) INTO v_autos FROM charges_of_day(p_project, v_today) c WHERE c.auto_id IS NOT NULL;
  PERFORM FROM auto_delegation a WHERE a.id = ANY (v_autos) AND a.project_id = p_project ORDER BY a.id FOR NO KEY UPDATE;
  PERFORM FROM api_key k WHERE k.project_id = p_project AND k.revoked_at IS NULL ORDER BY k.id FOR NO KEY UPDATE;
  UPDATE auto_delegation a SET spent_on = v_today,
      spent_credits = CASE WHEN a.spent_on = v_today THEN greatest(a.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT auto_id, sum(credits)::bigint AS credits FROM charges_of_day(p_project, v_today) GROUP BY auto_id) c
   WHERE a.id = c.auto_id AND a.id = ANY (v_autos) AND a.project_id = p_project AND a.spent_on <= v_today;
  UPDATE api_key k SET spent_on = v_today,
      spent_credits = CASE WHEN k.spent_on = v_today THEN greatest(k.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT key_id, sum(credits)::bigint AS credits FROM charges_of_day(p_project, v_today) GROUP BY key_id) c
   WHERE k.id = c.key_id AND k.project_id = p_project AND k.spent_on <= v_today;
  UPDATE credit_account a SET spent_on = v_today,
      spent_credits = CASE WHEN a.spent_on = v_today THEN greatest(a.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT sum(credits)::bigint AS credits FROM charges_of_day(p_project, v_today)) c
   WHERE a.project_id = p_project AND a.spent_on <= v_today AND c.credits IS NOT NULL;
END $$;

REVOKE EXECUTE ON FUNCTION recount_spending FROM PUBLIC;
