-- Extends a rental in one transaction, with the lock order of take_order: key, order, auto-delegation, key cap,
-- and the balance row last. A refusal is raised, so nothing stays behind.
-- p_refusal: a refusal that the caller has already found, applied after a replay. p_head: the time of the chain's head,
-- which alone decides whether a rental has ended. p_longest: the longest rental on sale, which the remaining time may
-- not exceed. p_auto, p_auto_fence, p_auto_number, p_expected_uses: as in take_order. p_fee_limit, p_fee_limit_capped: as
-- the answer shows them.
-- made_by: the request that made the extension of this key.
-- A rental with a recorded reclaim is never extended: the reclaim may be on its way. The new fence stops any worker
-- that read the old end.
CREATE OR REPLACE FUNCTION extend_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
  p_auto bigint DEFAULT NULL, p_auto_fence bigint DEFAULT NULL, p_auto_number bigint DEFAULT NULL,
  p_expected_uses integer DEFAULT NULL, p_fee_limit bigint DEFAULT NULL, p_fee_limit_capped boolean DEFAULT NULL,
  OUT created boolean, OUT same_request boolean, OUT made_by text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_order orders;
  v_known order_key;
  v_number smallint;
  v_ends_at timestamptz;
  v_today date;
  v_counted_on date;
  v_charged_on date;
  v_charged_at timestamptz;
  v_begun_on date;
  v_refusal text;
BEGIN
  -- Waits for the first request of the same key, as take_order does.
  PERFORM pg_advisory_xact_lock(1, hashtext(p_project || p_key));
  PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
  SELECT * INTO v_known FROM order_key k WHERE k.project_id = p_project AND k.key = p_key;
  IF FOUND THEN
    created := false;
    SELECT x.request_hash = p_hash, x.request_id INTO same_request, made_by
      FROM order_extension x WHERE x.order_id = v_known.order_id AND x.number = v_known.extension;
    same_request := coalesce(same_request, false);
    RETURN;
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = 'ER001';
  END IF;

  SELECT * INTO v_order FROM open_orders o WHERE o.id = p_order AND o.project_id = p_project FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM archived_orders o WHERE o.id = p_order AND o.project_id = p_project) THEN
      RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
    END IF;
    RAISE EXCEPTION 'NOT_FOUND' USING ERRCODE = 'ER001';
  END IF;
  -- A test order has no chain: its end is the database's.
  IF v_order.test THEN
    p_head := clock_timestamp();
  END IF;
  v_ends_at := v_order.ends_at + p_duration * interval '1 second';
  IF v_order.kind <> 'rental' OR v_order.status <> 'delivered' OR NOT v_order.settled OR v_order.undoing
     OR v_order.reclaimed_at IS NOT NULL OR v_order.needs_attention OR v_order.extensions >= 100
     OR v_ends_at <= p_head
     OR EXISTS (SELECT FROM open_leg l WHERE l.order_id = p_order AND l.kind <> 'activation' AND l.status IN ('reclaiming', 'reclaimed'))
     OR EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = p_order AND t.purpose = 'reclaim') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  IF v_ends_at > p_head + p_longest * interval '1 second' THEN
    RAISE EXCEPTION 'INVALID_REQUEST' USING ERRCODE = 'ER001';
  END IF;
  -- A paused wallet does not sell more time either. Records that may have lost commits do not show all running rentals.
  IF EXISTS (SELECT FROM open_leg l JOIN pool_wallet w ON w.id = l.wallet_id
              WHERE l.order_id = p_order AND l.status <> 'released' AND w.status <> 'active')
     OR NOT (v_order.test OR coalesce((SELECT coalesce(s.server_mark = server_mark(), true) AND s.search_until IS NULL
                        FROM reconcile_state s), false)) THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;

  v_number := v_order.extensions + 1;
  INSERT INTO order_key (project_id, key, order_id, extension) VALUES (p_project, p_key, p_order, v_number);
  INSERT INTO order_extension (order_id, number, project_id, key, request_hash, duration_sec, price_sun, credits, trx_usd_e8,
                               ends_at, request_id, created_at, expected_uses, fee_limit_sun, fee_limit_capped)
  VALUES (p_order, v_number, p_project, p_key, p_hash, p_duration, p_price, p_credits, p_rate, v_ends_at, p_request_id,
          clock_timestamp(), p_expected_uses, p_fee_limit, p_fee_limit_capped);
  -- The order is due at its new end, or immediately if a top-up is in progress.
  UPDATE open_orders o SET ends_at = v_ends_at, extensions = v_number, fence = o.fence + 1, lease_until = NULL,
      next_run_at = CASE WHEN EXISTS (
        SELECT FROM open_leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed')) THEN clock_timestamp() END,
      play_at = CASE WHEN o.test THEN v_ends_at END
    WHERE o.id = p_order;

  v_begun_on := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  IF p_auto IS NOT NULL THEN
    PERFORM charge_auto_delegation(p_auto, p_auto_fence, p_auto_number, p_project, p_credits, NULL);
  END IF;
  PERFORM charge_api_key(p_api_key, p_project, p_credits);

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
  -- As in take_order: every cap counts the charge on the day of its entry.
  IF v_charged_on > v_begun_on THEN
    UPDATE api_key k SET spent_on = v_charged_on, spent_credits = p_credits
     WHERE k.id = p_api_key AND k.spent_on < v_charged_on;
    UPDATE auto_delegation a SET spent_on = v_charged_on, spent_credits = p_credits
     WHERE a.id = p_auto AND a.spent_on < v_charged_on;
  END IF;
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, api_key_id, created_at)
  VALUES ('charge:' || p_order || ':ext:' || v_number, p_project, CASE WHEN v_order.test THEN 'test' ELSE 'revenue' END,
          'charge', -p_credits, p_order, p_api_key, v_charged_at);
  created := true;
  same_request := true;
  made_by := p_request_id;
END $$;

REVOKE EXECUTE ON FUNCTION extend_order FROM PUBLIC;
