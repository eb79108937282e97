-- The same paid by the primary key.
CREATE OR REPLACE FUNCTION refuse_or_accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    SELECT CASE
        WHEN p_refusal IS NOT NULL THEN p_refusal
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        WHEN CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits > a.daily_cap_credits
          THEN 'SPEND_CAP_REACHED' END
      INTO refusal FROM credit_account a
     WHERE a.project_id = p_project
       AND NOT EXISTS (SELECT FROM order_key o WHERE o.project_id = p_project AND o.key = p_key);
    IF refusal IS NOT NULL THEN
      created := false;
      RETURN;
    END IF;
    PERFORM set_config('lock_timeout', v_key_wait, true);
  END IF;
  SELECT a.created, a.order_id, a.order_created_at, a.same_request
    INTO created, order_id, order_created_at, same_request
    FROM accept_order(p_project, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                      p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max,
                      p_lock_ms) a;
END $$;

REVOKE EXECUTE ON FUNCTION refuse_or_accept_order FROM PUBLIC;
