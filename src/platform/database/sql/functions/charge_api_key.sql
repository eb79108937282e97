-- Charges the daily cap of the paying key: before the balance, as the lock order has it.
CREATE OR REPLACE FUNCTION charge_api_key(p_api_key uuid, p_project uuid, p_credits bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_today date;
  v_counted_on date;
  v_charged_on date;
BEGIN
  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE api_key k
       SET spent_credits = CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(k.spent_on, v_today)
     WHERE k.id = p_api_key AND k.project_id = p_project AND k.revoked_at IS NULL
       AND (k.daily_cap_credits IS NULL OR
            CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits <= k.daily_cap_credits)
    RETURNING k.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- The wait for the row's lock lasted past midnight: the new day begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE api_key SET spent_on = v_charged_on, spent_credits = p_credits WHERE id = p_api_key;
      END IF;
      RETURN;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    RAISE EXCEPTION '%', CASE WHEN EXISTS (
        SELECT FROM api_key k WHERE k.id = p_api_key AND k.project_id = p_project AND k.revoked_at IS NULL)
      THEN 'SPEND_CAP_REACHED' ELSE 'INVALID_SIGNATURE' END USING ERRCODE = 'ER001';
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION charge_api_key FROM PUBLIC;
