/**
 * Test projects: their orders are played by the worker on a timer, take nothing of the pool, and are in no figure. What
 * they are is fixed by their project when they are made, and the guards of other rows know them by it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Whoever is taking or moving an order ends first, and whoever comes next meets the new triggers.
  `LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE`,
  `ALTER TABLE project ADD COLUMN test boolean NOT NULL DEFAULT false`,
  `ALTER TABLE orders ADD COLUMN test boolean NOT NULL DEFAULT false, ADD COLUMN play_at timestamptz`,
  // What is to be played, oldest first; no order of a live project is in it.
  `CREATE INDEX orders_play ON orders (play_at) WHERE play_at IS NOT NULL`,
  // The oldest test orders, which are deleted some day; no other is in it.
  `CREATE INDEX orders_test ON orders (created_at) WHERE test`,
  `CREATE OR REPLACE FUNCTION refuse_test_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM project p WHERE p.id = NEW.project_id AND p.test) THEN
       RAISE EXCEPTION '%: a test project has none', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`,
  `CREATE OR REPLACE FUNCTION kept_unless_test() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM orders o WHERE o.id = OLD.order_id AND o.test) THEN
       RETURN OLD;
     END IF;
     RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
   END $$`,
  `CREATE OR REPLACE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.test := coalesce((SELECT p.test FROM project p WHERE p.id = NEW.project_id), false);
    IF NEW.test THEN
      NEW.play_at := NEW.next_run_at;
      NEW.next_run_at := NULL;
    END IF;
  END IF;
  IF NOT ((length(NEW.key) BETWEEN 1 AND 255)
    AND (length(NEW.request_hash) = 32)
    AND (NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded'))
    AND (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0)
    AND (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END)
    AND (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL)
    AND (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy)
    AND (CASE WHEN NEW.test THEN NEW.next_run_at IS NULL ELSE NEW.play_at IS NULL END)
    AND (CASE TG_OP WHEN 'INSERT' THEN true ELSE NEW.test = OLD.test END)) THEN
    RAISE EXCEPTION 'order %: breaks the rule %', NEW.id, CASE
      WHEN NOT (length(NEW.key) BETWEEN 1 AND 255) THEN 'a key has 1 to 255 characters'
      WHEN NOT (length(NEW.request_hash) = 32) THEN 'a request hash has 32 bytes'
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded')) THEN 'status'
      WHEN NOT (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0) THEN 'amounts are positive'
      WHEN NOT (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END) THEN 'a rental, and no activation, has energy and a duration'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL) THEN 'delivered has a time'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy) THEN 'delivered has the energy sold'
      WHEN NOT (CASE WHEN NEW.test THEN NEW.next_run_at IS NULL ELSE NEW.play_at IS NULL END) THEN 'a test order is played, and no other'
      WHEN NOT (CASE TG_OP WHEN 'INSERT' THEN true ELSE NEW.test = OLD.test END) THEN 'a test order stays one' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','refunded'), ('placed','delivered'), ('placed','unresolved'), ('placed','refunded'), ('delivered','placed'), ('delivered','refunded'), ('unresolved','delivered'), ('unresolved','refunded')) THEN
      RAISE EXCEPTION 'order %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.settled THEN
      RAISE EXCEPTION 'order %: settled, % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'refunded' AND EXISTS (
      SELECT FROM leg WHERE order_id = NEW.id AND status NOT IN ('released', 'reclaimed')) THEN
      RAISE EXCEPTION 'order %: refunded while a leg may still be delivered', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.extensions <> NEW.extensions OR (OLD.settled AND OLD.ends_at IS DISTINCT FROM NEW.ends_at)) THEN
    IF NOT (OLD.settled AND NEW.settled AND NEW.status = 'delivered' AND NEW.kind = 'rental' AND NOT NEW.undoing
        AND NEW.reclaimed_at IS NULL AND NEW.extensions = OLD.extensions + 1 AND NEW.fence > OLD.fence)
       OR NOT EXISTS (SELECT FROM order_extension x WHERE x.order_id = NEW.id AND x.number = NEW.extensions
            AND x.ends_at = NEW.ends_at AND x.ends_at = OLD.ends_at + x.duration_sec * interval '1 second')
       OR EXISTS (SELECT FROM chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'reclaim') THEN
      RAISE EXCEPTION 'order %: its end moves by an extension of a running rental alone', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)
    AND (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END)
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END) THEN 'a top-up is made of what is reserved, and stays one' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION 'leg of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.purpose IN ('delegate', 'reclaim', 'activate'))
    AND (NEW.attempt >= 1)
    AND (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped'))
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END)
    AND (length(NEW.signature) = 65)
    AND (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL)
    AND (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL))
    AND (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL)
    AND (NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL))) THEN
    RAISE EXCEPTION 'chain transaction %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.purpose IN ('delegate', 'reclaim', 'activate')) THEN 'purpose'
      WHEN NOT (NEW.attempt >= 1) THEN 'attempts count from 1'
      WHEN NOT (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped')) THEN 'status'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END) THEN 'the id is the hash of the bytes, which never change'
      WHEN NOT (length(NEW.signature) = 65) THEN 'a signature has 65 bytes'
      WHEN NOT (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL) THEN 'only what is signed may be sent'
      WHEN NOT (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL)) THEN 'included has a block'
      WHEN NOT (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL) THEN 'dead has evidence'
      WHEN NOT (NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL)) THEN 'a cost is of what stands in a block, and not negative' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('built','signed'), ('built','dropped'), ('signed','sending'), ('signed','dropped'), ('sending','included'), ('sending','dead'), ('included','sending'), ('included','solid'), ('dead','solid'), ('dropped','solid')) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status IN ('dead', 'dropped') AND NOT EXISTS (SELECT FROM orphan_tx WHERE txid = NEW.txid) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become % unseen on chain', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION 'chain transaction of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION credit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.contra IN ('revenue', 'funding', 'adjustments', 'test'))
    AND (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation'))
    AND (NEW.credits <> 0)
    AND (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra IN ('funding', 'test') AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END)) THEN
    RAISE EXCEPTION 'ledger entry %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.contra IN ('revenue', 'funding', 'adjustments', 'test')) THEN 'the other side'
      WHEN NOT (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation')) THEN 'kind'
      WHEN NOT (NEW.credits <> 0) THEN 'the amount is not zero'
      WHEN NOT (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra IN ('funding', 'test') AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END) THEN 'sign, other side and order by kind' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'INSERT' AND (NEW.contra = 'test')
     <> coalesce((SELECT p.test FROM project p WHERE p.id = NEW.project_id), false) THEN
    RAISE EXCEPTION 'ledger entry %: % is not the other side of its project', NEW.id, NEW.contra USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text,
  p_legs_max integer DEFAULT 20, p_lock_ms integer DEFAULT 2000,
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
  LOCK TABLE orders, leg, pool_slot, credit_entry, credit_account IN ROW EXCLUSIVE MODE;
  v_key_wait := set_config('lock_timeout', v_key_wait, true);
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now)
  ON CONFLICT DO NOTHING RETURNING id, test INTO order_id, v_test;
  v_lock_wait := set_config('lock_timeout', v_lock_wait, true);

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM orders o WHERE o.project_id = p_project AND o.key = p_key;
    IF order_id IS NULL THEN
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = 'ER001';
    END IF;
    created := false;
    RETURN;
  END IF;

  -- Two seconds beyond what was promised: never less than the caller was shown (Contract 4).
  IF p_quote_expires IS NOT NULL AND v_now > p_quote_expires + interval '2 seconds' THEN
    RAISE EXCEPTION 'QUOTE_EXPIRED' USING ERRCODE = 'ER001';
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = 'ER001';
  END IF;

  -- What a test project buys is played, and takes nothing of the pool.
  IF NOT v_test THEN
    PERFORM reserve_capacity(order_id, p_kind, p_receiver, p_amount, p_leg_slack, p_legs_max);
  END IF;

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || order_id, p_project, CASE WHEN v_test THEN 'test' ELSE 'revenue' END, 'charge', -p_credits, order_id);
  -- What is told of it are its terms, which never change; no copy of them is kept here.
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
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  created := true;
  order_created_at := v_now;
  same_request := true;
END $$`,
  `CREATE OR REPLACE FUNCTION extend_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
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
  v_refusal text;
BEGIN
  -- The ledger entry of the charge is made under it.
  PERFORM set_config('energy.api_key', p_api_key::text, true);
  -- The first request of the same key is waited for here, as an order's is.
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

  SELECT * INTO v_order FROM orders o WHERE o.id = p_order AND o.project_id = p_project FOR NO KEY UPDATE;
  IF NOT FOUND THEN
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
     OR EXISTS (SELECT FROM leg l WHERE l.order_id = p_order AND l.status IN ('reclaiming', 'reclaimed'))
     OR EXISTS (SELECT FROM chain_tx t WHERE t.order_id = p_order AND t.purpose = 'reclaim') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  IF v_ends_at > p_head + p_longest * interval '1 second' THEN
    RAISE EXCEPTION 'INVALID_REQUEST' USING ERRCODE = 'ER001';
  END IF;
  -- A wallet that may not sell sells no more time either, and on records that may have lost commits nobody knows what runs.
  IF EXISTS (SELECT FROM leg l JOIN pool_wallet w ON w.id = l.wallet_id
              WHERE l.order_id = p_order AND l.status <> 'released' AND w.status <> 'active')
     OR NOT (v_order.test OR coalesce((SELECT coalesce(s.server_mark = server_mark(), true) AND s.search_until IS NULL
                        FROM reconcile_state s), false)) THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;

  v_number := v_order.extensions + 1;
  INSERT INTO order_key (project_id, key, order_id, extension) VALUES (p_project, p_key, p_order, v_number);
  INSERT INTO order_extension (order_id, number, project_id, key, request_hash, duration_sec, price_sun, credits, trx_usd_e8,
                               ends_at, request_id, created_at)
  VALUES (p_order, v_number, p_project, p_key, p_hash, p_duration, p_price, p_credits, p_rate, v_ends_at, p_request_id,
          clock_timestamp());
  -- It rests until the new end, but for a top-up that is on its way.
  UPDATE orders o SET ends_at = v_ends_at, extensions = v_number, fence = o.fence + 1, lease_until = NULL,
      next_run_at = CASE WHEN EXISTS (
        SELECT FROM leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed')) THEN clock_timestamp() END,
      play_at = CASE WHEN o.test THEN v_ends_at END
    WHERE o.id = p_order;

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || p_order || ':ext:' || v_number, p_project, CASE WHEN v_order.test THEN 'test' ELSE 'revenue' END,
          'charge', -p_credits, p_order);

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
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  created := true;
  same_request := true;
  made_by := p_request_id;
END $$`,
  `CREATE OR REPLACE FUNCTION prune_test_orders(p_days integer, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  -- The lock of who numbers events or ends their logs: one at a time, and nobody waits.
  IF NOT pg_try_advisory_xact_lock(4202001) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM orders o
     WHERE o.test AND o.play_at IS NULL AND o.created_at < clock_timestamp() - p_days * interval '1 day'
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= clock_timestamp() - p_days * interval '1 day' OR (e.type IS NOT NULL AND e.position IS NULL)))
     ORDER BY o.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;

  UPDATE event_position p SET pruned_to = greatest(p.pruned_to, e.position)
    FROM (SELECT project_id, max(position) AS position FROM event WHERE order_id = ANY (v_orders) GROUP BY project_id) e
   WHERE p.project_id = e.project_id AND e.position IS NOT NULL;
  DELETE FROM event WHERE order_id = ANY (v_orders);

  WITH gone AS (
    DELETE FROM credit_entry e USING (
      SELECT kind || ':' || id AS entry_key FROM unnest(v_orders) AS id CROSS JOIN (VALUES ('charge'), ('refund')) k(kind)
      UNION ALL SELECT 'charge:' || x.order_id || ':ext:' || x.number FROM order_extension x WHERE x.order_id = ANY (v_orders)
      UNION ALL SELECT c.entry_key FROM credit_entry c WHERE c.kind = 'compensation' AND c.order_id = ANY (v_orders)
      UNION ALL SELECT 'adjustment:test-carried:' || p.project_id
        FROM (SELECT DISTINCT project_id FROM orders WHERE id = ANY (v_orders)) p) k
     WHERE e.entry_key = k.entry_key RETURNING e.project_id, e.credits)
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason)
  SELECT 'adjustment:test-carried:' || project_id, project_id, 'test', 'adjustment', sum(credits)::bigint, 'retention',
         'What the entries of test orders came to that are not kept any more.'
    FROM gone GROUP BY project_id HAVING sum(credits) <> 0;

  DELETE FROM order_key k USING order_extension x
   WHERE x.order_id = ANY (v_orders) AND k.project_id = x.project_id AND k.key = x.key;
  DELETE FROM order_key k USING orders o WHERE o.id = ANY (v_orders) AND k.project_id = o.project_id AND k.key = o.key;
  DELETE FROM order_extension WHERE order_id = ANY (v_orders);
  DELETE FROM orders WHERE id = ANY (v_orders);
  RETURN cardinality(v_orders);
END $$`,
  `REVOKE EXECUTE ON FUNCTION refuse_test_project, kept_unless_test, prune_test_orders FROM PUBLIC`,
  `CREATE TRIGGER project_test_fixed BEFORE UPDATE ON project FOR EACH ROW WHEN (OLD.test <> NEW.test) EXECUTE FUNCTION refuse_change()`,
  ...['auto_delegation', 'deposit_address', 'statement'].map(
    (table) =>
      `CREATE TRIGGER ${table}_live BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_test_project()`,
  ),
  // What is only ever added to stays so; of test orders alone it may be deleted.
  `DROP TRIGGER credit_entry_append_only ON credit_entry`,
  `CREATE TRIGGER credit_entry_append_only BEFORE UPDATE ON credit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_entry_kept BEFORE DELETE ON credit_entry FOR EACH ROW WHEN (OLD.contra <> 'test') EXECUTE FUNCTION refuse_change()`,
  `DROP TRIGGER orders_kept ON orders`,
  `CREATE TRIGGER orders_kept BEFORE DELETE ON orders FOR EACH ROW WHEN (NOT OLD.test) EXECUTE FUNCTION refuse_change()`,
  `DROP TRIGGER event_kept ON event`,
  `CREATE TRIGGER event_kept BEFORE DELETE ON event FOR EACH ROW EXECUTE FUNCTION kept_unless_test()`,
  ...['order_key', 'order_extension'].flatMap((table) => [
    `DROP TRIGGER ${table}_kept ON ${table}`,
    `CREATE TRIGGER ${table}_final BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
    `CREATE TRIGGER ${table}_kept BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION kept_unless_test()`,
  ]),
];

/** The way back, as it was before. */
const DOWN = [
  ...['order_extension', 'order_key'].flatMap((table) => [
    `DROP TRIGGER ${table}_kept ON ${table}`,
    `DROP TRIGGER ${table}_final ON ${table}`,
    `CREATE TRIGGER ${table}_kept BEFORE DELETE OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  ]),
  `DROP TRIGGER event_kept ON event`,
  `CREATE TRIGGER event_kept BEFORE DELETE ON event FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `DROP TRIGGER orders_kept ON orders`,
  `CREATE TRIGGER orders_kept BEFORE DELETE ON orders FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `DROP TRIGGER credit_entry_kept ON credit_entry`,
  `DROP TRIGGER credit_entry_append_only ON credit_entry`,
  `CREATE TRIGGER credit_entry_append_only BEFORE DELETE OR UPDATE ON credit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  ...['statement', 'deposit_address', 'auto_delegation'].map((table) => `DROP TRIGGER ${table}_live ON ${table}`),
  `DROP TRIGGER project_test_fixed ON project`,
  `CREATE OR REPLACE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((length(NEW.key) BETWEEN 1 AND 255)
    AND (length(NEW.request_hash) = 32)
    AND (NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded'))
    AND (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0)
    AND (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END)
    AND (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL)
    AND (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy)) THEN
    RAISE EXCEPTION 'order %: breaks the rule %', NEW.id, CASE
      WHEN NOT (length(NEW.key) BETWEEN 1 AND 255) THEN 'a key has 1 to 255 characters'
      WHEN NOT (length(NEW.request_hash) = 32) THEN 'a request hash has 32 bytes'
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'delivered', 'unresolved', 'refunded')) THEN 'status'
      WHEN NOT (NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0) THEN 'amounts are positive'
      WHEN NOT (CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END) THEN 'a rental, and no activation, has energy and a duration'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL) THEN 'delivered has a time'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy) THEN 'delivered has the energy sold' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','refunded'), ('placed','delivered'), ('placed','unresolved'), ('placed','refunded'), ('delivered','placed'), ('delivered','refunded'), ('unresolved','delivered'), ('unresolved','refunded')) THEN
      RAISE EXCEPTION 'order %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.settled THEN
      RAISE EXCEPTION 'order %: settled, % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'refunded' AND EXISTS (
      SELECT FROM leg WHERE order_id = NEW.id AND status NOT IN ('released', 'reclaimed')) THEN
      RAISE EXCEPTION 'order %: refunded while a leg may still be delivered', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.extensions <> NEW.extensions OR (OLD.settled AND OLD.ends_at IS DISTINCT FROM NEW.ends_at)) THEN
    IF NOT (OLD.settled AND NEW.settled AND NEW.status = 'delivered' AND NEW.kind = 'rental' AND NOT NEW.undoing
        AND NEW.reclaimed_at IS NULL AND NEW.extensions = OLD.extensions + 1 AND NEW.fence > OLD.fence)
       OR NOT EXISTS (SELECT FROM order_extension x WHERE x.order_id = NEW.id AND x.number = NEW.extensions
            AND x.ends_at = NEW.ends_at AND x.ends_at = OLD.ends_at + x.duration_sec * interval '1 second')
       OR EXISTS (SELECT FROM chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'reclaim') THEN
      RAISE EXCEPTION 'order %: its end moves by an extension of a running rental alone', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)
    AND (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END)
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END) THEN 'a top-up is made of what is reserved, and stays one' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.purpose IN ('delegate', 'reclaim', 'activate'))
    AND (NEW.attempt >= 1)
    AND (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped'))
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END)
    AND (length(NEW.signature) = 65)
    AND (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL)
    AND (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL))
    AND (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL)
    AND (NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL))) THEN
    RAISE EXCEPTION 'chain transaction %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.purpose IN ('delegate', 'reclaim', 'activate')) THEN 'purpose'
      WHEN NOT (NEW.attempt >= 1) THEN 'attempts count from 1'
      WHEN NOT (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped')) THEN 'status'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END) THEN 'the id is the hash of the bytes, which never change'
      WHEN NOT (length(NEW.signature) = 65) THEN 'a signature has 65 bytes'
      WHEN NOT (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL) THEN 'only what is signed may be sent'
      WHEN NOT (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL)) THEN 'included has a block'
      WHEN NOT (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL) THEN 'dead has evidence'
      WHEN NOT (NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL)) THEN 'a cost is of what stands in a block, and not negative' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('built','signed'), ('built','dropped'), ('signed','sending'), ('signed','dropped'), ('sending','included'), ('sending','dead'), ('included','sending'), ('included','solid'), ('dead','solid'), ('dropped','solid')) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status IN ('dead', 'dropped') AND NOT EXISTS (SELECT FROM orphan_tx WHERE txid = NEW.txid) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become % unseen on chain', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION credit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.contra IN ('revenue', 'funding', 'adjustments'))
    AND (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation'))
    AND (NEW.credits <> 0)
    AND (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra = 'funding' AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END)) THEN
    RAISE EXCEPTION 'ledger entry %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.contra IN ('revenue', 'funding', 'adjustments')) THEN 'the other side'
      WHEN NOT (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation')) THEN 'kind'
      WHEN NOT (NEW.credits <> 0) THEN 'the amount is not zero'
      WHEN NOT (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra = 'funding' AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END) THEN 'sign, other side and order by kind' END USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION accept_order(
  p_project uuid, p_key text, p_hash bytea, p_kind text, p_quote uuid, p_quote_expires timestamptz,
  p_receiver text, p_energy bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint,
  p_amount bigint, p_leg_slack bigint, p_refusal text, p_request_id text,
  p_legs_max integer DEFAULT 20, p_lock_ms integer DEFAULT 2000,
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
BEGIN
  -- Somebody may hold a whole table; the wait of the session's own limit is for the first request of the same key alone.
  LOCK TABLE orders, leg, pool_slot, credit_entry, credit_account IN ROW EXCLUSIVE MODE;
  v_key_wait := set_config('lock_timeout', v_key_wait, true);
  INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
                      price_sun, credits, trx_usd_e8, request_id, created_at, next_run_at)
  VALUES (p_project, p_key, p_hash, p_quote, p_kind, 'reserved', p_receiver, p_energy, p_duration,
          p_price, p_credits, p_rate, p_request_id, v_now, v_now)
  ON CONFLICT DO NOTHING RETURNING id INTO order_id;
  v_lock_wait := set_config('lock_timeout', v_lock_wait, true);

  IF order_id IS NULL THEN
    SELECT o.id, o.created_at, o.request_hash = p_hash INTO order_id, order_created_at, same_request
      FROM orders o WHERE o.project_id = p_project AND o.key = p_key;
    IF order_id IS NULL THEN
      RAISE EXCEPTION 'QUOTE_ALREADY_USED' USING ERRCODE = 'ER001';
    END IF;
    created := false;
    RETURN;
  END IF;

  -- Two seconds beyond what was promised: never less than the caller was shown (Contract 4).
  IF p_quote_expires IS NOT NULL AND v_now > p_quote_expires + interval '2 seconds' THEN
    RAISE EXCEPTION 'QUOTE_EXPIRED' USING ERRCODE = 'ER001';
  END IF;
  IF p_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', p_refusal USING ERRCODE = 'ER001';
  END IF;

  PERFORM reserve_capacity(order_id, p_kind, p_receiver, p_amount, p_leg_slack, p_legs_max);

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || order_id, p_project, 'revenue', 'charge', -p_credits, order_id);
  -- What is told of it are its terms, which never change; no copy of them is kept here.
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
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  created := true;
  order_created_at := v_now;
  same_request := true;
END $$`,
  `CREATE OR REPLACE FUNCTION extend_order(
  p_project uuid, p_api_key uuid, p_key text, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
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
  v_refusal text;
BEGIN
  -- The ledger entry of the charge is made under it.
  PERFORM set_config('energy.api_key', p_api_key::text, true);
  -- The first request of the same key is waited for here, as an order's is.
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

  SELECT * INTO v_order FROM orders o WHERE o.id = p_order AND o.project_id = p_project FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'NOT_FOUND' USING ERRCODE = 'ER001';
  END IF;
  v_ends_at := v_order.ends_at + p_duration * interval '1 second';
  IF v_order.kind <> 'rental' OR v_order.status <> 'delivered' OR NOT v_order.settled OR v_order.undoing
     OR v_order.reclaimed_at IS NOT NULL OR v_order.needs_attention OR v_order.extensions >= 100
     OR v_ends_at <= p_head
     OR EXISTS (SELECT FROM leg l WHERE l.order_id = p_order AND l.status IN ('reclaiming', 'reclaimed'))
     OR EXISTS (SELECT FROM chain_tx t WHERE t.order_id = p_order AND t.purpose = 'reclaim') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  IF v_ends_at > p_head + p_longest * interval '1 second' THEN
    RAISE EXCEPTION 'INVALID_REQUEST' USING ERRCODE = 'ER001';
  END IF;
  -- A wallet that may not sell sells no more time either, and on records that may have lost commits nobody knows what runs.
  IF EXISTS (SELECT FROM leg l JOIN pool_wallet w ON w.id = l.wallet_id
              WHERE l.order_id = p_order AND l.status <> 'released' AND w.status <> 'active')
     OR NOT coalesce((SELECT coalesce(s.server_mark = server_mark(), true) AND s.search_until IS NULL
                        FROM reconcile_state s), false) THEN
    RAISE EXCEPTION 'CAPACITY_UNAVAILABLE' USING ERRCODE = 'ER001';
  END IF;

  v_number := v_order.extensions + 1;
  INSERT INTO order_key (project_id, key, order_id, extension) VALUES (p_project, p_key, p_order, v_number);
  INSERT INTO order_extension (order_id, number, project_id, key, request_hash, duration_sec, price_sun, credits, trx_usd_e8,
                               ends_at, request_id, created_at)
  VALUES (p_order, v_number, p_project, p_key, p_hash, p_duration, p_price, p_credits, p_rate, v_ends_at, p_request_id,
          clock_timestamp());
  -- It rests until the new end, but for a top-up that is on its way.
  UPDATE orders o SET ends_at = v_ends_at, extensions = v_number, fence = o.fence + 1, lease_until = NULL,
      next_run_at = CASE WHEN EXISTS (
        SELECT FROM leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed')) THEN clock_timestamp() END
    WHERE o.id = p_order;

  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
  VALUES ('charge:' || p_order || ':ext:' || v_number, p_project, 'revenue', 'charge', -p_credits, p_order);

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
    RAISE EXCEPTION '%', coalesce(v_refusal, 'INSUFFICIENT_CREDITS') USING ERRCODE = 'ER001';
  END LOOP;
  created := true;
  same_request := true;
  made_by := p_request_id;
END $$`,
  `DROP FUNCTION prune_test_orders, kept_unless_test, refuse_test_project`,
  `ALTER TABLE orders DROP COLUMN play_at, DROP COLUMN test`,
  `ALTER TABLE project DROP COLUMN test`,
];

export class TestProjects1760000000044 implements MigrationInterface {
  readonly name = 'TestProjects1760000000044';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
