-- Extends one of the auto-delegation's own rentals under the key of its purchase number. A rental that was extended
-- since the check began ends later than the check saw, and stays unchanged.
CREATE OR REPLACE FUNCTION extend_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
  p_expected_uses integer DEFAULT NULL, p_fee_limit bigint DEFAULT NULL, p_fee_limit_capped boolean DEFAULT NULL,
  OUT created boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT EXISTS (SELECT FROM open_orders o WHERE o.id = p_order AND o.project_id = v_auto.project_id
                    AND o.key LIKE 'auto\_' || p_auto || '\_%') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  SELECT x.created INTO created
    FROM extend_order(
      v_auto.project_id, v_auto.api_key_id, 'auto_' || p_auto || '_' || p_number, p_hash, p_order, p_duration,
      p_price, p_credits, p_rate, p_head, p_longest, p_refusal, p_request_id, p_lock_ms,
      p_auto, p_fence, p_number, p_expected_uses, p_fee_limit, p_fee_limit_capped) x;
  -- Read under the row's lock, which extend_order holds.
  IF created AND EXISTS (
      SELECT FROM open_orders o WHERE o.id = p_order
         AND o.ends_at - p_duration * interval '1 second' > p_head + interval '60 seconds') THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION extend_for_auto_delegation FROM PUBLIC;
