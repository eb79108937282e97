-- Takes capacity for several parts of an order, all or none: of each its kind, its sun, the slack of a leg, and how many
-- further legs it may have. Two orders that waited for slots with slots in hand could block each other. So the parts are
-- first tried without waiting; then every slot is locked in the one order, and they are tried again.
CREATE OR REPLACE FUNCTION reserve_order(
  p_order bigint, p_receiver text, p_kinds text[], p_amounts bigint[], p_leg_slacks bigint[], p_legs_max integer[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_leg integer;
BEGIN
  FOR v_try IN 1 .. 2 LOOP
    IF v_try = 2 THEN
      -- As in reserve_capacity: a sold-out pool refuses without queueing.
      IF EXISTS (
        SELECT FROM unnest(p_kinds, p_amounts) AS part(kind, amount)
         WHERE part.amount > (
           SELECT coalesce(sum(CASE WHEN part.kind = 'bandwidth' THEN s.free_bandwidth_sun ELSE s.free_sun END), 0)
             FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
            WHERE w.role = CASE part.kind WHEN 'activation' THEN 'activation' ELSE 'pool' END
              AND w.status = 'active' AND w.sells_until > v_now)) THEN
        RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
      END IF;
      PERFORM FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
        WHERE w.status = 'active' AND w.sells_until > v_now ORDER BY s.wallet_id, s.slot_no FOR UPDATE OF s;
    END IF;
    BEGIN
      FOR i IN 1 .. cardinality(p_kinds) LOOP
        SELECT coalesce(max(leg_no), 0) INTO v_leg FROM open_leg WHERE order_id = p_order;
        PERFORM reserve_capacity(p_order, p_kinds[i], p_receiver, p_amounts[i], p_leg_slacks[i], v_leg + p_legs_max[i], false);
      END LOOP;
      RETURN;
    EXCEPTION WHEN SQLSTATE 'ER001' THEN
      -- The failed block has released its legs and its locks.
      IF v_try = 2 THEN
        RAISE;
      END IF;
    END;
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION reserve_order FROM PUBLIC;
