-- Takes an order for an auto-delegation under the key of its purchase number. p_fence: the fence of the check that
-- found the need; if it was raised since, nothing is bought. A refusal that take_order returns is raised here, so
-- nothing stays behind.
CREATE OR REPLACE FUNCTION buy_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_energy bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_amount bigint, p_leg_slack bigint, p_legs_max integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000, p_energy_fee bigint DEFAULT NULL,
  p_expected_uses integer DEFAULT NULL, p_max_fee_limit bigint DEFAULT NULL,
  OUT created boolean, OUT order_id bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
  v_refusal text;
  v_same boolean;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  SELECT t.refusal, t.created, t.order_id, t.same_request INTO v_refusal, created, order_id, v_same
    FROM take_order(
      p_project => v_auto.project_id, p_api_key => v_auto.api_key_id, p_key => 'auto_' || p_auto || '_' || p_number,
      p_hash => p_hash, p_kind => 'rental', p_quote => NULL, p_quote_expires => NULL, p_receiver => v_auto.address,
      p_energy => p_energy, p_duration => p_duration, p_price => p_price, p_credits => p_credits, p_rate => p_rate,
      p_amount => p_amount, p_leg_slack => p_leg_slack, p_refusal => p_refusal, p_request_id => p_request_id,
      p_legs_max => p_legs_max, p_lock_ms => p_lock_ms, p_auto => p_auto, p_auto_fence => p_fence, p_auto_number => p_number,
      p_energy_fee => p_energy_fee, p_expected_uses => p_expected_uses, p_max_fee_limit => p_max_fee_limit) t;
  IF v_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', v_refusal USING ERRCODE = 'ER001';
  END IF;
  -- An order of a caller may have this key since before such keys were reserved. Its number is skipped.
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION buy_for_auto_delegation FROM PUBLIC;
