-- Counts a project's spending of the present day again from its charges, after the database's clock jumped: a count that
-- a wrong clock began must not give the daily caps twice. Never lowers the count of the day. Refunded charges count as
-- nothing. With the owner's rights: no role may change the spending of keys.
-- Counts before the locks, because a day may have a million charges and its purchases would wait; under them it counts
-- only newer charges. A project's charges are written under the lock of its balance, so their ids rise. A refund in
-- between still counts.
-- Lock order of take_order: auto-delegations, keys, and the balance row last. Under the locks of the keys no charge of
-- the project is in progress. An auto-delegation whose first charge of the day comes meanwhile has the right count.
CREATE OR REPLACE FUNCTION recount_spending(p_project uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_to bigint := coalesce((SELECT max(c.id) FROM credit_entry c WHERE c.project_id = p_project AND c.kind = 'charge'), 0);
  v_counted json;
BEGIN
  SELECT json_agg(c) INTO v_counted FROM (
    SELECT key_id, auto_id, sum(credits)::bigint AS credits FROM charges_of_day(p_project, v_today, 0, v_to)
     GROUP BY key_id, auto_id) c;
  PERFORM FROM auto_delegation a
    WHERE a.id IN (SELECT (c ->> 'auto_id')::bigint FROM json_array_elements(v_counted) c) AND a.project_id = p_project
    ORDER BY a.id FOR NO KEY UPDATE;
  PERFORM FROM api_key k WHERE k.project_id = p_project AND k.revoked_at IS NULL ORDER BY k.id FOR NO KEY UPDATE;
  SELECT json_agg(c) INTO v_counted FROM (
    SELECT (c ->> 'key_id')::uuid AS key_id, (c ->> 'auto_id')::bigint AS auto_id, (c ->> 'credits')::bigint AS credits,
        true AS held FROM json_array_elements(v_counted) c
    UNION ALL SELECT key_id, auto_id, credits, false FROM charges_of_day(p_project, v_today, v_to, 9223372036854775807)) c;
  UPDATE auto_delegation a SET spent_on = v_today,
      spent_credits = CASE WHEN a.spent_on = v_today THEN greatest(a.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT auto_id, sum(credits)::bigint AS credits
            FROM json_to_recordset(v_counted) AS c(auto_id bigint, credits bigint, held boolean)
           GROUP BY auto_id HAVING bool_or(held)) c
   WHERE a.id = c.auto_id AND a.project_id = p_project AND a.spent_on <= v_today;
  UPDATE api_key k SET spent_on = v_today,
      spent_credits = CASE WHEN k.spent_on = v_today THEN greatest(k.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT key_id, sum(credits)::bigint AS credits
            FROM json_to_recordset(v_counted) AS c(key_id uuid, credits bigint) GROUP BY key_id) c
   WHERE k.id = c.key_id AND k.project_id = p_project AND k.spent_on <= v_today;
  UPDATE credit_account a SET spent_on = v_today,
      spent_credits = CASE WHEN a.spent_on = v_today THEN greatest(a.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT sum(credits)::bigint AS credits FROM json_to_recordset(v_counted) AS c(credits bigint)) c
   WHERE a.project_id = p_project AND a.spent_on <= v_today AND c.credits IS NOT NULL;
END $$;

REVOKE EXECUTE ON FUNCTION recount_spending FROM PUBLIC;
