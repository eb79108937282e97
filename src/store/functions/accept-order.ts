/**
 * The one transaction that takes an order, as a database function: one round trip, locks in one order
 * (order key → capacity slots → ledger entry → balance row last). Refusals are raised, so nothing stays behind.
 * Measured reason for a function: as separate statements the same work runs at a sixth of the rate.
 */

/** SQLSTATE of a refusal; its message is the error code of the interface. */
export const REFUSAL_SQLSTATE = 'ER001';

/** The most wallets one order is spread over; a larger need is refused as beyond capacity. */
export const LEGS_MAX = 20;

/**
 * p_refusal: what the caller already knows against the order (mismatch, receiver, worth, chain), judged only after
 * replay, used and expired quote. p_amount: sun to delegate (rental) or to spend (activation).
 * p_leg_slack: sun worth one energy, added for each further leg since each leg's energy rounds down.
 */
export const ACCEPT_ORDER_SQL = `
CREATE OR REPLACE FUNCTION accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text,
  OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_refusal text;
BEGIN
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now)
  ON CONFLICT DO NOTHING RETURNING id INTO order_id;

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM orders o WHERE o.project_id = p_project AND o.key = p_key;
    IF order_id IS NULL THEN
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
    END IF;
    created := false;
    RETURN;
  END IF;

  -- Two seconds beyond what was promised: never less than the caller was shown (Contract 4).
  IF p_quote_expires IS NOT NULL AND v_now > p_quote_expires + interval '2 seconds' THEN
    RAISE EXCEPTION 'QUOTE_EXPIRED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;

  PERFORM reserve_capacity(order_id, p_kind, p_receiver, p_amount, p_leg_slack);

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || order_id, p_project, 'revenue', 'charge', -p_credits, order_id);

  UPDATE credit_account a
     SET balance_credits = a.balance_credits - p_credits,
         spent_credits = CASE WHEN a.spent_on = (v_now AT TIME ZONE 'UTC')::date THEN a.spent_credits ELSE 0 END + p_credits,
         spent_on = (v_now AT TIME ZONE 'UTC')::date
   WHERE a.project_id = p_project AND NOT a.frozen
     AND (a.floor_credits IS NULL OR a.balance_credits - p_credits >= a.floor_credits)
     AND (a.daily_cap_credits IS NULL OR
          CASE WHEN a.spent_on = (v_now AT TIME ZONE 'UTC')::date THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits);
  IF NOT FOUND THEN
    SELECT CASE
        WHEN a.frozen THEN 'PROJECT_FROZEN'
        WHEN a.floor_credits IS NOT NULL AND a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
        ELSE 'SPEND_CAP_REACHED' END
      INTO v_refusal FROM credit_account a WHERE a.project_id = p_project;
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
  created := true;
  order_created_at := v_now;
  same_request := true;
END $$`;

/**
 * Takes p_amount sun of free stake for an order and writes its legs. First one slot that holds it all, of the wallet
 * with the least free stake (large stakes stay whole), skipping slots that others hold; otherwise all slots in order.
 */
export const RESERVE_CAPACITY_SQL = `
CREATE OR REPLACE FUNCTION reserve_capacity(p_order bigint, p_kind text, p_receiver text, p_amount bigint, p_leg_slack bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_role text := CASE p_kind WHEN 'activation' THEN 'activation' ELSE 'pool' END;
  v_wallet integer;
  v_slot smallint;
  v_left bigint := p_amount;
  v_take bigint;
  v_leg smallint;
  r record;
BEGIN
  SELECT coalesce(max(leg_no), 0) INTO v_leg FROM leg WHERE order_id = p_order;
  -- Wallet by wallet, so that the slots of the first one that serves are all that is read, however many there are.
  SELECT s.wallet_id, s.slot_no INTO v_wallet, v_slot
    FROM (SELECT id FROM pool_wallet WHERE role = v_role AND status = 'active' ORDER BY free_sun_seen, id) w
    CROSS JOIN LATERAL (
      SELECT wallet_id, slot_no FROM pool_slot WHERE wallet_id = w.id AND free_sun >= p_amount
       ORDER BY free_sun, slot_no LIMIT 1 FOR UPDATE SKIP LOCKED) s
   LIMIT 1;
  IF FOUND THEN
    UPDATE pool_slot SET free_sun = free_sun - p_amount WHERE wallet_id = v_wallet AND slot_no = v_slot;
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg + 1, p_kind, v_wallet, p_receiver, p_amount, 'reserved');
    RETURN;
  END IF;

  -- Cheap look before the locks, so that a sold-out pool refuses without queueing.
  IF (SELECT coalesce(sum(s.free_sun), 0) FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
       WHERE w.role = v_role AND w.status = 'active') < p_amount THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
  PERFORM 1 FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
    WHERE w.role = v_role AND w.status = 'active' ORDER BY s.wallet_id, s.slot_no FOR UPDATE OF s;

  FOR r IN
    SELECT s.wallet_id, sum(s.free_sun)::bigint AS free FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
     WHERE w.role = v_role AND w.status = 'active' GROUP BY s.wallet_id HAVING sum(s.free_sun) >= 1000000
     -- One wallet that holds it all, the smallest such; otherwise the largest first, for the fewest legs.
     ORDER BY sum(s.free_sun) >= p_amount DESC,
              CASE WHEN sum(s.free_sun) >= p_amount THEN sum(s.free_sun) ELSE -sum(s.free_sun) END, s.wallet_id
  LOOP
    EXIT WHEN v_left <= 0;
    v_take := least(r.free, v_left);
    -- TRON: a delegation is at least 1 TRX, so the rest that stays for the next leg must be one too.
    IF v_left > v_take AND v_left - v_take + p_leg_slack < 1000000 THEN
      v_take := v_take - (1000000 - (v_left - v_take));
    END IF;
    IF v_take < 1000000 AND p_kind = 'rental' THEN CONTINUE; END IF;
    IF v_take < v_left AND p_kind = 'activation' THEN CONTINUE; END IF;
    v_leg := v_leg + 1;
    IF v_leg > ${LEGS_MAX.toString()} THEN EXIT; END IF;
    PERFORM take_from_slots(r.wallet_id, v_take);
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg, p_kind, r.wallet_id, p_receiver, v_take, 'reserved');
    v_left := v_left - v_take;
    IF v_left > 0 THEN v_left := v_left + p_leg_slack; END IF;
  END LOOP;
  IF v_left > 0 THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
END $$`;

/** Takes exactly p_amount from a wallet's slots, which the caller holds locked. */
export const TAKE_FROM_SLOTS_SQL = `
CREATE OR REPLACE FUNCTION take_from_slots(p_wallet integer, p_amount bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_left bigint := p_amount;
  v_take bigint;
  r record;
BEGIN
  FOR r IN SELECT slot_no, free_sun FROM pool_slot WHERE wallet_id = p_wallet ORDER BY slot_no LOOP
    EXIT WHEN v_left = 0;
    v_take := least(r.free_sun, v_left);
    UPDATE pool_slot SET free_sun = free_sun - v_take WHERE wallet_id = p_wallet AND slot_no = r.slot_no;
    v_left := v_left - v_take;
  END LOOP;
  IF v_left <> 0 THEN RAISE EXCEPTION 'wallet %: the slots hold less than was counted', p_wallet; END IF;
END $$`;
