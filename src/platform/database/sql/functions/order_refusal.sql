-- Returns why an order without a quote would be refused; null if it may be accepted or if its key was used before.
CREATE OR REPLACE FUNCTION order_refusal(
  p_project uuid, p_api_key uuid, p_key text, p_credits bigint, p_refusal text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_refusal text;
BEGIN
  SELECT CASE
      WHEN p_refusal IS NOT NULL THEN p_refusal
      WHEN a.frozen THEN 'PROJECT_FROZEN'
      WHEN a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
      WHEN CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits > a.daily_cap_credits
        THEN 'SPEND_CAP_REACHED'
      WHEN CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits > k.daily_cap_credits
        THEN 'SPEND_CAP_REACHED' END
    INTO v_refusal FROM credit_account a JOIN api_key k ON k.id = p_api_key
   WHERE a.project_id = p_project
     AND NOT EXISTS (SELECT FROM order_key o WHERE o.project_id = p_project AND o.key = p_key);
  RETURN v_refusal;
END $$;

REVOKE EXECUTE ON FUNCTION order_refusal FROM PUBLIC;
