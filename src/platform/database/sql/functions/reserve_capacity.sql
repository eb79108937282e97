-- Takes p_amount sun of free stake for one part of an order and writes its legs, each with the bandwidth of its
-- delegation and its reclaim. Only wallets with a recent read sell. p_waits: waits for locked slots in the end.
-- First choice: one slot that holds the whole amount, in the wallet with the least free stake, skipping slots locked
-- by others; large stakes stay whole. Second: many slots, first the unlocked ones, then all of them in order.
CREATE OR REPLACE FUNCTION reserve_capacity(
  p_order bigint, p_kind text, p_receiver text, p_amount bigint, p_leg_slack bigint,
  p_legs_max integer DEFAULT 20, p_waits boolean DEFAULT true
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_role text := CASE p_kind WHEN 'activation' THEN 'activation' ELSE 'pool' END;
  -- An activation pays for its bandwidth out of its amount.
  v_transactions integer := CASE p_kind WHEN 'activation' THEN 0 ELSE 2 END;
  v_bandwidth boolean := p_kind = 'bandwidth';
  v_wallet integer;
  v_slot smallint;
  v_leg smallint;
BEGIN
  SELECT coalesce(max(leg_no), 0) INTO v_leg FROM open_leg WHERE order_id = p_order;
  -- Wallet by wallet, so that no slots are read beyond the first wallet with a suitable one.
  SELECT s.wallet_id, s.slot_no INTO v_wallet, v_slot
    FROM (SELECT id FROM pool_wallet
           WHERE role = v_role AND status = 'active' AND sells_until > v_now ORDER BY free_sun_seen, id) w
    CROSS JOIN LATERAL (
      SELECT wallet_id, slot_no FROM pool_slot
       WHERE wallet_id = w.id AND free_transactions >= v_transactions
         AND CASE WHEN v_bandwidth THEN free_bandwidth_sun ELSE free_sun END >= p_amount
       ORDER BY CASE WHEN v_bandwidth THEN free_bandwidth_sun ELSE free_sun END, slot_no LIMIT 1 FOR UPDATE SKIP LOCKED) s
   LIMIT 1;
  IF FOUND THEN
    UPDATE pool_slot
       SET free_sun = free_sun - CASE WHEN v_bandwidth THEN 0 ELSE p_amount END,
           free_bandwidth_sun = free_bandwidth_sun - CASE WHEN v_bandwidth THEN p_amount ELSE 0 END,
           free_transactions = free_transactions - v_transactions
     WHERE wallet_id = v_wallet AND slot_no = v_slot;
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg + 1, p_kind, v_wallet, p_receiver, p_amount, 'reserved');
    RETURN;
  END IF;

  -- A cheap check before the locks, so that a sold-out pool refuses without queueing.
  IF (SELECT coalesce(sum(free), 0) FROM (
        SELECT sum(CASE WHEN v_bandwidth THEN s.free_bandwidth_sun ELSE s.free_sun END) AS free FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
         WHERE w.role = v_role AND w.status = 'active' AND w.sells_until > v_now
         GROUP BY s.wallet_id HAVING sum(s.free_transactions) >= v_transactions) each) < p_amount THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;
  BEGIN
    PERFORM split_capacity(p_order, p_kind, p_receiver, p_amount, p_leg_slack, v_leg, p_legs_max, v_transactions, false);
    RETURN;
  EXCEPTION WHEN SQLSTATE 'ER001' THEN
    -- The failed block has released its locks, so that the waiting attempt below locks in order.
    IF NOT p_waits THEN
      RAISE;
    END IF;
  END;
  PERFORM split_capacity(p_order, p_kind, p_receiver, p_amount, p_leg_slack, v_leg, p_legs_max, v_transactions, true);
END $$;

REVOKE EXECUTE ON FUNCTION reserve_capacity FROM PUBLIC;
