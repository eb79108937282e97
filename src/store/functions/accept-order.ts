/**
 * The one transaction that takes an order, as a database function: one round trip, locks in one order
 * (order key → capacity slots → ledger entry → key cap → balance row last). Refusals are raised, so nothing stays behind.
 * Measured reason for a function: as separate statements the same work runs at a sixth of the rate.
 */
import { LEGS_MAX } from '../../domain/order-state.js';

/** SQLSTATE of a refusal; its message is the error code of the interface. */
export const REFUSAL_SQLSTATE = 'ER001';

/** How long an order waits for each lock that others hold, ms; the first request of its own key is waited for longer. */
export const LOCK_WAIT_MS = 2000;

/**
 * The end of whatever charges a project p_credits: its balance and its daily cap, in the one row that everybody locks
 * last. Wants v_today, v_counted_on, v_charged_on (dates) and v_refusal.
 */
export const CHARGE_BALANCE = `  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE credit_account a
       SET balance_credits = a.balance_credits - p_credits,
           spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(a.spent_on, v_today)
     WHERE a.project_id = p_project AND NOT a.frozen
       AND (a.floor_credits IS NULL OR a.balance_credits - p_credits >= a.floor_credits)
       AND (a.daily_cap_credits IS NULL OR
            CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits)
    RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- The wait for the row's lock lasted into the next day, which begins with this charge.
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
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END LOOP;`;

/**
 * p_refusal: what the caller already knows against the order (mismatch, receiver, worth, chain), judged only after
 * replay, used and expired quote. p_amount: sun to delegate (rental) or to spend (activation).
 * p_leg_slack: sun worth one energy, added for each further leg since each leg's energy rounds down.
 * p_legs_max: over how many wallets its price pays for. p_lock_ms: how long it waits for each lock of others.
 */
export const ACCEPT_ORDER_SQL = `
CREATE OR REPLACE FUNCTION accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text,
  p_legs_max integer DEFAULT ${LEGS_MAX.toString()}, p_lock_ms integer DEFAULT ${LOCK_WAIT_MS.toString()},
  OUT created boolean, OUT order_id bigint, OUT order_created_at timestamptz, OUT same_request boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_key_wait text := current_setting('lock_timeout');
  v_lock_wait text := set_config('lock_timeout', p_lock_ms || 'ms', true);
  v_today date;
  v_counted_on date;
  v_charged_on date;
  v_refusal text;
  v_test boolean;
BEGIN
  -- Somebody may hold a whole table; the wait of the session's own limit is for the first request of the same key alone.
  LOCK TABLE ONLY orders, open_orders, ONLY leg, open_leg, pool_slot, credit_entry, credit_account IN ROW EXCLUSIVE MODE;
  v_key_wait := set_config('lock_timeout', v_key_wait, true);
  -- The archive's keys are refereed by no index of open orders. It is read for a key that is known alone: a new one waits
  -- for nobody who holds a range of it. Open first, for an order that is being moved is there until it is in the archive.
  SELECT k.order_id INTO order_id FROM order_key k WHERE k.project_id = p_project AND k.key = p_key AND k.extension IS NULL;
  IF FOUND THEN
    SELECT o.created_at, o.request_hash = p_hash INTO order_created_at, same_request
      FROM open_orders o WHERE o.id = accept_order.order_id;
    IF NOT FOUND THEN
      SELECT o.created_at, o.request_hash = p_hash INTO order_created_at, same_request
        FROM archived_orders o WHERE o.id = accept_order.order_id;
    END IF;
    IF FOUND THEN
      created := false;
      RETURN;
    END IF;
  END IF;
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now)
  ON CONFLICT DO NOTHING RETURNING id, test INTO order_id, v_test;
  v_lock_wait := set_config('lock_timeout', v_lock_wait, true);

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM open_orders o WHERE o.project_id = p_project AND o.key = p_key;
    IF order_id IS NULL THEN
      IF EXISTS (SELECT FROM order_key k WHERE k.project_id = p_project AND k.key = p_key) THEN
        RAISE EXCEPTION 'IDEMPOTENCY_KEY_REUSED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
      END IF;
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
    END IF;
    created := false;
    RETURN;
  END IF;

  -- Two seconds beyond what was promised: never less than the caller was shown (Contract 4).
  IF p_quote_expires IS NOT NULL AND v_now > p_quote_expires + interval '2 seconds' THEN
    IF EXISTS (SELECT FROM archived_orders o WHERE o.quote_id = p_quote) THEN
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
    END IF;
    RAISE EXCEPTION 'QUOTE_EXPIRED' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;

  -- What a test project buys is played, and takes nothing of the pool.
  IF NOT v_test THEN
    PERFORM reserve_capacity(order_id, p_kind, p_receiver, p_amount, p_leg_slack, p_legs_max);
  END IF;

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || order_id, p_project, CASE WHEN v_test THEN 'test' ELSE 'revenue' END, 'charge', -p_credits, order_id);
  -- What is told of it are its terms, which never change; no copy of them is kept here.
  INSERT INTO event (project_id, order_id, type) VALUES (p_project, order_id, 'order.created');

${CHARGE_BALANCE}
  created := true;
  order_created_at := v_now;
  same_request := true;
END $$`;

/**
 * Takes p_amount sun of free stake for an order and writes its legs, each with the bandwidth of its delegation and its
 * reclaim. Only wallets whose state was read lately sell. First one slot that holds it all, of the wallet with the
 * least free stake (large stakes stay whole), skipping slots that others hold; otherwise from many slots: those that
 * nobody holds, and if these are too few, all of them in order.
 */
export const RESERVE_CAPACITY_SQL = `
CREATE OR REPLACE FUNCTION reserve_capacity(
  p_order bigint, p_kind text, p_receiver text, p_amount bigint, p_leg_slack bigint,
  p_legs_max integer DEFAULT ${LEGS_MAX.toString()}
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_role text := CASE p_kind WHEN 'activation' THEN 'activation' ELSE 'pool' END;
  -- An activation pays for its bandwidth out of its amount.
  v_transactions integer := CASE p_kind WHEN 'activation' THEN 0 ELSE 2 END;
  v_wallet integer;
  v_slot smallint;
  v_leg smallint;
BEGIN
  SELECT coalesce(max(leg_no), 0) INTO v_leg FROM open_leg WHERE order_id = p_order;
  -- Wallet by wallet, so that the slots of the first one that serves are all that is read, however many there are.
  SELECT s.wallet_id, s.slot_no INTO v_wallet, v_slot
    FROM (SELECT id FROM pool_wallet
           WHERE role = v_role AND status = 'active' AND sells_until > v_now ORDER BY free_sun_seen, id) w
    CROSS JOIN LATERAL (
      SELECT wallet_id, slot_no FROM pool_slot
       WHERE wallet_id = w.id AND free_sun >= p_amount AND free_transactions >= v_transactions
       ORDER BY free_sun, slot_no LIMIT 1 FOR UPDATE SKIP LOCKED) s
   LIMIT 1;
  IF FOUND THEN
    UPDATE pool_slot SET free_sun = free_sun - p_amount, free_transactions = free_transactions - v_transactions
     WHERE wallet_id = v_wallet AND slot_no = v_slot;
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg + 1, p_kind, v_wallet, p_receiver, p_amount, 'reserved');
    RETURN;
  END IF;

  -- Cheap look before the locks, so that a sold-out pool refuses without queueing.
  IF (SELECT coalesce(sum(free), 0) FROM (
        SELECT sum(s.free_sun) AS free FROM pool_slot s JOIN pool_wallet w ON w.id = s.wallet_id
         WHERE w.role = v_role AND w.status = 'active' AND w.sells_until > v_now
         GROUP BY s.wallet_id HAVING sum(s.free_transactions) >= v_transactions) each) < p_amount THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
  BEGIN
    PERFORM split_capacity(p_order, p_kind, p_receiver, p_amount, p_leg_slack, v_leg, p_legs_max, v_transactions, false);
    RETURN;
  EXCEPTION WHEN SQLSTATE '${REFUSAL_SQLSTATE}' THEN
    -- What was locked is free again with the failed block, so that waiting below is in order.
    NULL;
  END;
  PERFORM split_capacity(p_order, p_kind, p_receiver, p_amount, p_leg_slack, v_leg, p_legs_max, v_transactions, true);
END $$`;

/** Takes p_amount from many slots, one leg for each wallet. p_waits: for slots that others hold, instead of skipping them. */
export const SPLIT_CAPACITY_SQL = `
CREATE OR REPLACE FUNCTION split_capacity(
  p_order bigint, p_kind text, p_receiver text, p_amount bigint, p_leg_slack bigint,
  p_leg smallint, p_legs_max integer, p_transactions integer, p_waits boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_role text := CASE p_kind WHEN 'activation' THEN 'activation' ELSE 'pool' END;
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
    SELECT s.wallet_id, sum(s.free_sun)::bigint AS free, array_agg(s.slot_no ORDER BY s.slot_no) AS slots
      FROM unnest(v_wallets, v_slots) AS held(wallet_id, slot_no) JOIN pool_slot s USING (wallet_id, slot_no)
     GROUP BY s.wallet_id HAVING sum(s.free_sun) >= 1000000 AND sum(s.free_transactions) >= p_transactions
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
    IF v_leg > p_legs_max THEN EXIT; END IF;
    PERFORM take_from_slots(r.wallet_id, r.slots, v_take, p_transactions);
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, status)
    VALUES (p_order, v_leg, p_kind, r.wallet_id, p_receiver, v_take, 'reserved');
    v_left := v_left - v_take;
    IF v_left > 0 THEN v_left := v_left + p_leg_slack; END IF;
  END LOOP;
  IF v_left > 0 THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = '${REFUSAL_SQLSTATE}';
  END IF;
END $$`;

/** Takes exactly p_amount and p_transactions from those slots of a wallet, which the caller holds locked. */
export const TAKE_FROM_SLOTS_SQL = `
CREATE OR REPLACE FUNCTION take_from_slots(p_wallet integer, p_slots smallint[], p_amount bigint, p_transactions integer)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_left bigint := p_amount;
  v_transactions_left bigint := p_transactions;
  v_take bigint;
  v_transactions bigint;
  r record;
BEGIN
  FOR r IN SELECT slot_no, free_sun, free_transactions FROM pool_slot
            WHERE wallet_id = p_wallet AND slot_no = ANY (p_slots) ORDER BY slot_no LOOP
    EXIT WHEN v_left = 0 AND v_transactions_left = 0;
    v_take := least(r.free_sun, v_left);
    v_transactions := least(r.free_transactions, v_transactions_left);
    UPDATE pool_slot SET free_sun = free_sun - v_take, free_transactions = free_transactions - v_transactions
     WHERE wallet_id = p_wallet AND slot_no = r.slot_no;
    v_left := v_left - v_take;
    v_transactions_left := v_transactions_left - v_transactions;
  END LOOP;
  IF v_left <> 0 OR v_transactions_left <> 0 THEN
    RAISE EXCEPTION 'wallet %: the slots hold less than was counted', p_wallet;
  END IF;
END $$`;
