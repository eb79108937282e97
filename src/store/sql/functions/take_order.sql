-- Refuses an order without a quote by an answer, before anything is written, if the balance, the caps or a known
-- reason rule it out; otherwise calls accept_order, which decides under its locks.
-- The paying key and the labels reach their rows through column defaults, so accept_order does not need them.
CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  p_reference text, p_metadata text,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_key_wait text := current_setting('lock_timeout');
BEGIN
  -- The ledger entry of the charge is made under the first, the order's row under the others.
  PERFORM set_config('energy.api_key', p_api_key::text, true), set_config('energy.reference', p_reference, true),
          set_config('energy.metadata', p_metadata, true);
  -- The first request of the same key is waited for here, so that none is refused beside one that may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  IF p_quote IS NULL THEN
    PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
    refusal := order_refusal(p_project, p_api_key, p_key, p_credits, p_refusal);
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

REVOKE EXECUTE ON FUNCTION take_order(uuid,uuid,text,bytea,text,uuid,timestamp with time zone,text,bigint,integer,bigint,bigint,bigint,bigint,bigint,text,text,integer,integer,text,text) FROM PUBLIC;

-- The same without labels, for auto-delegations.
CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text, p_legs_max integer, p_lock_ms integer,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.refusal, t.created, t.order_id, t.order_created_at, t.same_request
    INTO refusal, created, order_id, order_created_at, same_request
    FROM take_order(p_project, p_api_key, p_key, p_hash, p_kind, p_quote, p_quote_expires, p_receiver, p_energy, p_duration,
                    p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal, p_request_id, p_legs_max, p_lock_ms,
                    NULL, NULL) t;
END $$;

REVOKE EXECUTE ON FUNCTION take_order(uuid,uuid,text,bytea,text,uuid,timestamp with time zone,text,bigint,integer,bigint,bigint,bigint,bigint,bigint,text,text,integer,integer) FROM PUBLIC;
