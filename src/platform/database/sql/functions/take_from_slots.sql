-- Takes exactly p_amount and p_transactions from these slots of a wallet: stake for energy, or for bandwidth. The caller
-- holds their locks.
CREATE OR REPLACE FUNCTION take_from_slots(
  p_wallet integer, p_slots smallint[], p_amount bigint, p_transactions integer, p_bandwidth boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_left bigint := p_amount;
  v_transactions_left bigint := p_transactions;
  v_take bigint;
  v_transactions bigint;
  r record;
BEGIN
  FOR r IN SELECT slot_no, CASE WHEN p_bandwidth THEN free_bandwidth_sun ELSE free_sun END AS free, free_transactions
             FROM pool_slot WHERE wallet_id = p_wallet AND slot_no = ANY (p_slots) ORDER BY slot_no LOOP
    EXIT WHEN v_left = 0 AND v_transactions_left = 0;
    v_take := least(r.free, v_left);
    v_transactions := least(r.free_transactions, v_transactions_left);
    UPDATE pool_slot
       SET free_sun = free_sun - CASE WHEN p_bandwidth THEN 0 ELSE v_take END,
           free_bandwidth_sun = free_bandwidth_sun - CASE WHEN p_bandwidth THEN v_take ELSE 0 END,
           free_transactions = free_transactions - v_transactions
     WHERE wallet_id = p_wallet AND slot_no = r.slot_no;
    v_left := v_left - v_take;
    v_transactions_left := v_transactions_left - v_transactions;
  END LOOP;
  IF v_left <> 0 OR v_transactions_left <> 0 THEN
    RAISE EXCEPTION 'wallet %: the slots hold less than was counted', p_wallet;
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION take_from_slots FROM PUBLIC;
