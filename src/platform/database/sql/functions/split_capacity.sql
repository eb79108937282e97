-- Takes p_amount from many slots, one leg for each wallet. p_waits: waits for locked slots instead of skipping them.
CREATE OR REPLACE FUNCTION split_capacity(
  p_order bigint, p_kind text, p_receiver text, p_amount bigint, p_leg_slack bigint,
  p_leg smallint, p_legs_max integer, p_transactions integer, p_waits boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_role text := CASE p_kind WHEN 'activation' THEN 'activation' ELSE 'pool' END;
  v_bandwidth boolean := p_kind = 'bandwidth';
  v_wallets integer[];
  v_slots smallint[];
  v_left bigint := p_amount;
  v_take bigint;
  v_leg smallint := p_leg;
  r record;
BEGIN
  IF p_waits THEN
    SELECT array_agg(h.wallet_id), array_agg(h.slot_no) INTO v_wallets, v_slots FROM (
      SELECT s.wallet_id, s.slot_no FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
       WHERE w.role = v_role AND w.status = 'active' AND w.sells_until > v_now
       ORDER BY s.wallet_id, s.slot_no FOR UPDATE OF s) h;
  ELSE
    SELECT array_agg(h.wallet_id), array_agg(h.slot_no) INTO v_wallets, v_slots FROM (
      SELECT s.wallet_id, s.slot_no FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
       WHERE w.role = v_role AND w.status = 'active' AND w.sells_until > v_now
       ORDER BY s.wallet_id, s.slot_no FOR UPDATE OF s SKIP LOCKED) h;
  END IF;

  FOR r IN
    SELECT s.wallet_id, sum(s.free)::bigint AS free, array_agg(s.slot_no ORDER BY s.slot_no) AS slots
      FROM (SELECT wallet_id, slot_no, free_transactions, CASE WHEN v_bandwidth THEN free_bandwidth_sun ELSE free_sun END AS free
              FROM unnest(v_wallets, v_slots) AS held(wallet_id, slot_no) JOIN pool_slot USING (wallet_id, slot_no)) s
     GROUP BY s.wallet_id HAVING sum(s.free) >= 1000000 AND sum(s.free_transactions) >= p_transactions
     -- The smallest wallet that holds the whole amount; otherwise the largest first, for the fewest legs.
     ORDER BY sum(s.free) >= p_amount DESC,
              CASE WHEN sum(s.free) >= p_amount THEN sum(s.free) ELSE -sum(s.free) END, s.wallet_id
  LOOP
    EXIT WHEN v_left <= 0;
    v_take := least(r.free, v_left);
    -- TRON: a delegation is at least 1 TRX, so the remainder for the next leg must be at least 1 TRX too.
    IF v_left > v_take AND v_left - v_take + p_leg_slack < 1000000 THEN
      v_take := v_take - (1000000 - (v_left - v_take));
    END IF;
    IF v_take < 1000000 AND p_kind <> 'activation' THEN CONTINUE; END IF;
    IF v_take < v_left AND p_kind = 'activation' THEN CONTINUE; END IF;
    v_leg := v_leg + 1;
    IF v_leg > p_legs_max THEN EXIT; END IF;
    PERFORM take_from_slots(r.wallet_id, r.slots, v_take, p_transactions, v_bandwidth);
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg, p_kind, r.wallet_id, p_receiver, v_take, 'reserved');
    v_left := v_left - v_take;
    IF v_left > 0 THEN v_left := v_left + p_leg_slack; END IF;
  END LOOP;
  IF v_left > 0 THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION split_capacity FROM PUBLIC;
