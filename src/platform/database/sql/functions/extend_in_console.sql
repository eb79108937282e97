-- Extends a rental as an owner confirmed it in a console, for the project that the transaction names, and records the
-- act. The project's key for consoles pays, as in buy_in_console. With the owner's rights; a refusal leaves nothing
-- behind. The other arguments are those of extend_order.
CREATE OR REPLACE FUNCTION extend_in_console(
  p_session uuid, p_key text, p_hash bytea, p_order bigint, p_duration integer, p_price bigint, p_credits bigint,
  p_rate bigint, p_head timestamptz, p_longest integer, p_refusal text, p_request_id text, p_lock_ms integer,
  p_expected_uses integer, p_fee_limit bigint, p_fee_limit_capped boolean,
  OUT created boolean, OUT same_request boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_buyer record;
  v_sold record;
  v_refusal text := p_refusal;
BEGIN
  SELECT * INTO v_buyer FROM console_buyer(p_session, p_key);
  IF v_refusal IS NULL THEN
    SELECT o.energy, o.bandwidth INTO v_sold FROM open_orders o WHERE o.id = p_order AND o.project_id = v_buyer.project;
    v_refusal := console_purchase_fault(v_buyer.api_key, v_sold.energy, v_sold.bandwidth, NULL, p_duration, p_price, p_credits, p_rate);
  END IF;
  SELECT x.created, x.same_request INTO created, same_request
    FROM extend_order(
      p_project => v_buyer.project, p_api_key => v_buyer.api_key, p_key => p_key, p_hash => p_hash, p_order => p_order,
      p_duration => p_duration, p_price => p_price, p_credits => p_credits, p_rate => p_rate, p_head => p_head,
      p_longest => p_longest, p_refusal => v_refusal, p_request_id => p_request_id, p_lock_ms => p_lock_ms,
      p_expected_uses => p_expected_uses, p_fee_limit => p_fee_limit, p_fee_limit_capped => p_fee_limit_capped) x;
  IF created THEN
    INSERT INTO audit_log (actor, action, subject, reason, detail)
    VALUES (v_buyer.email, 'orders.extend', v_buyer.project::text, 'in the merchants’ console', jsonb_build_object(
      'order', p_order::text, 'key', p_key, 'credits', p_credits::text, 'durationSec', p_duration::text));
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION extend_in_console FROM PUBLIC;
