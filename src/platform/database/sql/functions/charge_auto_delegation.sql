-- Takes the number of a purchase, notes its open order (p_order, null for an extension) and charges the daily cap, under
-- the row's lock. If several checks found the same need, only one of them finds the row unchanged.
CREATE OR REPLACE FUNCTION charge_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_project uuid, p_credits bigint, p_order bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_today date;
  v_counted_on date;
  v_charged_on date;
BEGIN
  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE auto_delegation a
       SET purchases = p_number, open_order_id = p_order,
           spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(a.spent_on, v_today)
     WHERE a.id = p_auto AND a.project_id = p_project AND a.fence = p_fence
       AND a.purchases = p_number - 1 AND a.open_order_id IS NULL
       AND CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits
    RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- Refuses once the key that set the auto-delegation has lost the scope to order.
      IF NOT EXISTS (SELECT FROM auto_delegation a JOIN api_key k ON k.id = a.api_key_id
                      WHERE a.id = p_auto AND 'order' = ANY (k.scopes)) THEN
        RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
      END IF;
      -- The wait for the row's lock lasted past midnight: the new day begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE auto_delegation SET spent_on = v_charged_on, spent_credits = p_credits WHERE id = p_auto;
      END IF;
      RETURN;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    RAISE EXCEPTION '%', CASE WHEN EXISTS (
        SELECT FROM auto_delegation a
         WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1 AND a.open_order_id IS NULL)
      THEN 'SPEND_CAP_REACHED' ELSE 'AUTO_DELEGATION_MOVED' END USING ERRCODE = 'ER001';
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION charge_auto_delegation FROM PUBLIC;
