-- Takes an order that an owner confirmed in a console, for the project that the transaction names, and records the act.
-- The project's key for consoles pays: its daily cap is the cap of all such purchases. With the owner's rights; a refusal
-- leaves nothing behind. The other arguments are those of take_order.
CREATE OR REPLACE FUNCTION buy_in_console(
  p_session uuid, p_key text, p_hash bytea, p_receiver text, p_energy bigint, p_duration integer, p_price bigint,
  p_credits bigint, p_rate bigint, p_amount bigint, p_leg_slack bigint, p_legs_max integer, p_refusal text,
  p_request_id text, p_lock_ms integer, p_expected_uses integer, p_energy_fee bigint, p_max_fee_limit bigint,
  p_bandwidth bigint DEFAULT NULL, p_bandwidth_price bigint DEFAULT NULL, p_bandwidth_credits bigint DEFAULT NULL,
  p_bandwidth_amount bigint DEFAULT NULL, p_bandwidth_slack bigint DEFAULT NULL, p_bandwidth_legs integer DEFAULT NULL,
  p_activation_price bigint DEFAULT NULL, p_activation_credits bigint DEFAULT NULL, p_activation_amount bigint DEFAULT NULL,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT same_request boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_buyer record;
  v_refusal text := p_refusal;
BEGIN
  SELECT * INTO v_buyer FROM console_buyer(p_session, p_key);
  -- Applied after a replay, as every known refusal is.
  IF v_refusal IS NULL THEN
    v_refusal := console_purchase_fault(v_buyer.api_key, p_energy, p_bandwidth, p_activation_price, p_duration, p_price,
      p_credits, p_rate);
  END IF;
  -- TRON: energy moves only between different accounts. A console cannot read the wallets.
  IF v_refusal IS NULL AND EXISTS (SELECT FROM pool_wallet w WHERE w.address = p_receiver) THEN
    v_refusal := 'RECEIVER_NOT_SUPPORTED';
  END IF;
  -- The stake follows from each resource, in whole TRX. The margin is at most a tenth for each day (POOL_MARGIN_BPS). An
  -- activation spends the chain's fee.
  IF v_refusal IS NULL AND NOT coalesce((
      SELECT p_amount <= 1000000 + (p_energy + 2) * 1000000::numeric * (s.value ->> 'totalEnergyWeight')::numeric
               / (s.value ->> 'totalEnergyLimit')::numeric * m.margin
         AND (p_bandwidth IS NULL OR p_bandwidth_amount <= 1000000 + (p_bandwidth + 2) * 1000000::numeric
               * (s.value ->> 'totalNetWeight')::numeric / nullif((s.value ->> 'totalNetLimit')::numeric, 0) * m.margin)
         AND (p_activation_amount IS NULL OR p_activation_amount <= (s.value ->> 'createAccountFeeSun')::numeric)
        FROM market_state s CROSS JOIN LATERAL (SELECT 1.1 + 0.1 * ceil(p_duration / 86400.0) AS margin) m
       WHERE s.name = 'chain'), false) THEN
    v_refusal := 'CHAIN_UNAVAILABLE';
  END IF;
  SELECT t.refusal, t.created, t.order_id, t.same_request INTO refusal, created, order_id, same_request
    FROM take_order(
      p_project => v_buyer.project, p_api_key => v_buyer.api_key, p_key => p_key, p_hash => p_hash, p_kind => 'rental',
      p_quote => NULL, p_quote_expires => NULL, p_receiver => p_receiver, p_energy => p_energy,
      p_duration => p_duration, p_price => p_price, p_credits => p_credits, p_rate => p_rate, p_amount => p_amount,
      p_leg_slack => p_leg_slack, p_refusal => v_refusal, p_request_id => p_request_id, p_legs_max => p_legs_max,
      p_lock_ms => p_lock_ms, p_expected_uses => p_expected_uses, p_energy_fee => p_energy_fee,
      p_max_fee_limit => p_max_fee_limit, p_bandwidth => p_bandwidth, p_bandwidth_price => p_bandwidth_price,
      p_bandwidth_credits => p_bandwidth_credits, p_bandwidth_amount => p_bandwidth_amount,
      p_bandwidth_slack => p_bandwidth_slack, p_bandwidth_legs => p_bandwidth_legs,
      p_activation_price => p_activation_price, p_activation_credits => p_activation_credits,
      p_activation_amount => p_activation_amount) t;
  IF created THEN
    INSERT INTO audit_log (actor, action, subject, reason, detail)
    VALUES (v_buyer.email, 'orders.buy', v_buyer.project::text, 'in the merchants’ console', jsonb_build_object(
      'order', order_id::text, 'key', p_key, 'credits', p_credits::text, 'energy', p_energy::text,
      'durationSec', p_duration::text, 'receiver', p_receiver)
      || jsonb_strip_nulls(jsonb_build_object('bandwidth', p_bandwidth::text, 'activate', p_activation_price > 0)));
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION buy_in_console FROM PUBLIC;
