-- Takes an order in one transaction and one round trip. Locks in one order: order key, capacity slots, auto-delegation,
-- key cap, and the balance row last. The ledger entry that follows waits for no other session. A refusal is raised
-- (SQLSTATE ER001, message = error code), so nothing stays behind. A refusal found before the first write is returned
-- instead.
-- One function, because separate statements reach a sixth of its rate (measured).
-- p_refusal: a refusal that the caller has already found (mismatch, receiver, value, chain); applied only after
-- replays, used quotes and expired quotes. p_amount: sun to delegate (rental) or to spend (activation). p_leg_slack:
-- sun worth one energy, added for each further leg because the energy of each leg rounds down. p_legs_max: the number
-- of wallets that the price pays for. p_lock_ms: the longest wait for each lock. p_auto, p_auto_fence, p_auto_number:
-- the auto-delegation that buys, the fence of its check, and the number of its purchase. p_expected_uses, p_transfer: as
-- the caller sent them. p_energy_fee: the chain's price of one energy in sun. p_max_fee_limit: the highest fee limit that
-- the chain accepts, in sun. p_bandwidth and p_activation: the parts beside energy, with their shares of p_price and
-- p_credits and the sun that each reserves.
CREATE OR REPLACE FUNCTION take_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text,
  p_legs_max integer DEFAULT 20, p_lock_ms integer DEFAULT 2000, p_reference text DEFAULT NULL, p_metadata text DEFAULT NULL,
  p_auto bigint DEFAULT NULL, p_auto_fence bigint DEFAULT NULL, p_auto_number bigint DEFAULT NULL,
  p_expected_uses integer DEFAULT NULL, p_transfer text DEFAULT NULL, p_energy_fee bigint DEFAULT NULL,
  p_max_fee_limit bigint DEFAULT NULL,
  p_bandwidth bigint DEFAULT NULL, p_bandwidth_price bigint DEFAULT NULL, p_bandwidth_credits bigint DEFAULT NULL,
  p_bandwidth_amount bigint DEFAULT NULL, p_bandwidth_slack bigint DEFAULT NULL, p_bandwidth_legs integer DEFAULT NULL,
  p_activation_price bigint DEFAULT NULL, p_activation_credits bigint DEFAULT NULL, p_activation_amount bigint DEFAULT NULL,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_now timestamptz;
  -- The session's own limit applies only to the wait for the first request of the same key.
  v_key_wait text := current_setting('lock_timeout');
  v_today date;
  v_counted_on date;
  v_charged_on date;
  v_charged_at timestamptz;
  v_refusal text;
  v_test boolean;
BEGIN
  -- Waits for the first request of the same key, so that a repetition is not refused while the first may be accepted.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
  -- An order without a quote is refused before anything is written, if the balance, the caps or a known reason rule it out.
  IF p_quote IS NULL THEN
    refusal := order_refusal(p_project, p_api_key, p_key, p_credits, p_refusal);
    IF refusal IS NOT NULL THEN
      created := false;
      RETURN;
    END IF;
  END IF;
  v_now := clock_timestamp();
  -- A session may have locked a whole table: wait for it here, under the short limit.
  LOCK TABLE ONLY orders, open_orders, ONLY leg, open_leg, pool_slot, credit_entry, credit_account IN ROW EXCLUSIVE MODE;
  PERFORM set_config('lock_timeout', v_key_wait, true);
  -- The unique indexes of open orders do not cover the archive. The archive is read only for a known key, so that a new
  -- key waits for no lock on a range of it. Open orders first: an order that is being archived is visible there until it
  -- is in the archive.
  SELECT k.order_id INTO order_id FROM order_key k WHERE k.project_id = p_project AND k.key = p_key AND k.extension IS NULL;
  IF FOUND THEN
    SELECT o.created_at, o.request_hash = p_hash INTO order_created_at, same_request
      FROM open_orders o WHERE o.id = take_order.order_id;
    IF NOT FOUND THEN
      SELECT o.created_at, o.request_hash = p_hash INTO order_created_at, same_request
        FROM archived_orders o WHERE o.id = take_order.order_id;
    END IF;
    IF FOUND THEN
      created := false;
      RETURN;
    END IF;
  END IF;
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at, reference, metadata,
                      expected_uses, transfer, energy_fee_sun, max_fee_limit_sun, bandwidth, bandwidth_price_sun,
                      bandwidth_credits, activation_price_sun, activation_credits)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now, p_reference, p_metadata::json,
          p_expected_uses, p_transfer::json, p_energy_fee, p_max_fee_limit, p_bandwidth, p_bandwidth_price,
          p_bandwidth_credits, p_activation_price, p_activation_credits)
  ON CONFLICT DO NOTHING RETURNING id, test INTO order_id, v_test;
  PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM open_orders o WHERE o.project_id = p_project AND o.key = p_key;
    IF order_id IS NULL THEN
      IF EXISTS (SELECT FROM order_key k WHERE k.project_id = p_project AND k.key = p_key) THEN
        RAISE EXCEPTION 'IDEMPOTENCY_KEY_REUSED' USING ERRCODE = 'ER001';
      END IF;
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = 'ER001';
    END IF;
    created := false;
    RETURN;
  END IF;

  -- A quote is accepted for two seconds after its expiry, so that the caller has at least the shown time. A quote lasts an
  -- hour at most. An expiry two hours ahead comes from a clock that was ahead: such a quote could outlive the rows that
  -- make it single-use.
  IF p_quote_expires IS NOT NULL
     AND (v_now > p_quote_expires + interval '2 seconds' OR p_quote_expires > v_now + interval '2 hours') THEN
    IF EXISTS (SELECT FROM archived_orders o WHERE o.quote_id = p_quote) THEN
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = 'ER001';
    END IF;
    RAISE EXCEPTION 'QUOTE_EXPIRED' USING ERRCODE = 'ER001';
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = 'ER001';
  END IF;

  -- Orders of test projects are simulated and use no capacity of the pool.
  IF NOT v_test AND p_bandwidth IS NULL AND p_activation_price IS NULL THEN
    PERFORM reserve_capacity(order_id, p_kind, p_receiver, p_amount, p_leg_slack, p_legs_max);
  ELSIF NOT v_test THEN
    -- An activation is one transaction of one wallet.
    PERFORM reserve_order(order_id, p_receiver, array_agg(part.kind ORDER BY part.place),
        array_agg(part.amount ORDER BY part.place), array_agg(part.slack ORDER BY part.place),
        array_agg(part.legs ORDER BY part.place))
      FROM (VALUES
        (1, 'activation', p_activation_amount, 0, 1, p_activation_price IS NOT NULL),
        (2, p_kind, p_amount, p_leg_slack, p_legs_max, true),
        (3, 'bandwidth', p_bandwidth_amount, p_bandwidth_slack, p_bandwidth_legs, p_bandwidth IS NOT NULL)
      ) AS part(place, kind, amount, slack, legs, is_asked) WHERE part.is_asked;
  END IF;

  IF p_auto IS NOT NULL THEN
    PERFORM charge_auto_delegation(p_auto, p_auto_fence, p_auto_number, p_project, p_credits, order_id);
  END IF;
  PERFORM charge_api_key(p_api_key, p_project, p_credits);
  -- The event shows only the order's terms, which never change, so it stores no snapshot.
  INSERT INTO event (project_id, order_id, type) VALUES (p_project, order_id, 'order.created');

  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE credit_account a
       SET balance_credits = a.balance_credits - p_credits,
           spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(a.spent_on, v_today)
     WHERE a.project_id = p_project AND NOT a.frozen
       AND (a.floor_credits IS NULL OR a.balance_credits - p_credits >= a.floor_credits)
       AND (a.daily_cap_credits IS NULL OR
            CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits)
    RETURNING a.spent_on, clock_timestamp() INTO v_counted_on, v_charged_at;
    IF FOUND THEN
      v_charged_on := (v_charged_at AT TIME ZONE 'UTC')::date;
      -- The wait for the row's lock lasted past midnight: the new day begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE credit_account SET spent_on = v_charged_on, spent_credits = p_credits WHERE project_id = p_project;
      END IF;
      EXIT;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    SELECT CASE
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.floor_credits IS NOT NULL AND a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        ELSE 'SPEND_CAP_REACHED' END
      INTO v_refusal FROM credit_account a WHERE a.project_id = p_project;
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  -- The caps of the key and the auto-delegation count a charge on the same day as the balance does, and a refund finds
  -- that day in the entry. Their rows are locked already.
  IF v_charged_on > (v_now AT TIME ZONE 'UTC')::date THEN
    UPDATE api_key k SET spent_on = v_charged_on, spent_credits = p_credits
     WHERE k.id = p_api_key AND k.spent_on < v_charged_on;
    UPDATE auto_delegation a SET spent_on = v_charged_on, spent_credits = p_credits
     WHERE a.id = p_auto AND a.spent_on < v_charged_on;
  END IF;
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, api_key_id, created_at)
  VALUES ('charge:' || order_id, p_project, CASE WHEN v_test THEN 'test' ELSE 'revenue' END, 'charge', -p_credits, order_id,
          p_api_key, v_charged_at);
  created := true;
  order_created_at := v_now;
  same_request := true;
END $$;

REVOKE EXECUTE ON FUNCTION take_order FROM PUBLIC;
