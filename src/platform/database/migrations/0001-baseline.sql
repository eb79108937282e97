-- The schema of the first release: functions, then tables with their indexes, policies, triggers and first rows.
-- A literal copy: it never changes again. The current texts lie in src/platform/database/sql.

-- Functions come first, because columns, policies and triggers use them; their bodies name tables that follow.
SET LOCAL check_function_bodies = off;

-- Makes the missing tables of the range of an order's id: a million orders each. They are created first and attached
-- afterwards, so that readers of the archive do not wait.
CREATE OR REPLACE FUNCTION add_archive_range(p_order bigint) RETURNS void LANGUAGE plpgsql AS $$
   DECLARE
     v_range bigint := p_order / 1000000;
     v_parent text;
     v_table text;
   BEGIN
     FOREACH v_parent IN ARRAY ARRAY['archived_orders', 'archived_leg', 'archived_chain_tx'] LOOP
       v_table := v_parent || '_' || v_range;
       CONTINUE WHEN to_regclass(v_table) IS NOT NULL;
       EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING CONSTRAINTS INCLUDING INDEXES)', v_table, v_parent);
       EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', v_parent, v_table,
                      v_range * 1000000, (v_range + 1) * 1000000);
       -- A partition inherits the row triggers of its parent, but no statement trigger.
       EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
                      v_table || '_no_truncate', v_table);
     END LOOP;
   END $$;

REVOKE EXECUTE ON FUNCTION add_archive_range FROM PUBLIC;

-- Tells every API process to drop its cached record of a project. The argument names the column with its id.
CREATE OR REPLACE FUNCTION announce_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('project_changed', to_jsonb(NEW) ->> TG_ARGV[0]);
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION announce_project FROM PUBLIC;

-- Archives those of the next p_limit orders after p_after that are over, checked and complete, with all their rows. An
-- archived order is older than p_before and than a day, after which no quote can be redeemed. Returns the number of
-- archived orders and the last checked one, null when no older order is left.
-- An order waits 30 days longer for the costs of its transactions. One run at a time. With the owner's rights: no
-- role may delete orders.
CREATE OR REPLACE FUNCTION archive_orders(p_after bigint, p_before timestamptz, p_limit integer, OUT archived integer, OUT checked_to bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  archived := 0;
  p_before := least(p_before, clock_timestamp() - interval '1 day');
  IF NOT pg_try_advisory_xact_lock(4202067) THEN
    RETURN;
  END IF;
  -- An order dated ahead by a clock of that time does not end the run: older ones may be behind it.
  SELECT max(n.id) FILTER (WHERE n.is_old OR n.is_ahead), array_agg(n.id) FILTER (WHERE n.is_old AND n.is_over)
    INTO checked_to, v_orders FROM (
    SELECT o.id, o.created_at < p_before AS is_old, o.created_at > clock_timestamp() AS is_ahead,
           o.judged AND NOT o.test AND NOT o.needs_attention AS is_over
      FROM open_orders o WHERE o.id > p_after ORDER BY o.id LIMIT p_limit) n;
  -- Locked orders may be changing. They are archived in a later run.
  SELECT array_agg(h.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND o.judged AND o.next_run_at IS NULL AND (o.lease_until IS NULL OR o.lease_until < clock_timestamp())
       AND (o.status = 'refunded' OR o.status = 'delivered' AND o.settled AND (o.kind = 'activation' OR o.reclaimed_at IS NOT NULL))
       AND NOT EXISTS (SELECT FROM open_leg l WHERE l.order_id = o.id AND NOT (l.status IN ('reclaimed', 'released') OR l.kind = 'activation' AND l.status = 'active'))
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status NOT IN ('solid', 'dead', 'dropped'))
       -- The burnt fee is recorded only while the order is open. A node without history cannot report it, so 30 days suffice.
       AND (o.created_at < p_before - interval '30 days'
         OR NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status = 'solid' AND t.fee_sun IS NULL))
       -- The search of blocks has passed the expiry of every signed transaction that was given up: no block has it.
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status IN ('dead', 'dropped') AND t.signature IS NOT NULL
             AND NOT coalesce((SELECT s.scanned_at > t.expires_at FROM reconcile_state s), false))
       -- In the archive, only the row in order_key prevents a second order of the same key.
       AND EXISTS (SELECT FROM order_key k WHERE k.project_id = o.project_id AND k.key = o.key AND k.order_id = o.id AND k.extension IS NULL)
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND e.type IS NOT NULL AND e.position IS NULL)
     ORDER BY o.id FOR UPDATE SKIP LOCKED) h;
  IF v_orders IS NULL THEN
    RETURN;
  END IF;
  PERFORM add_archive_range(r.id) FROM (SELECT DISTINCT ON (id / 1000000) id FROM unnest(v_orders) AS id) r;

  INSERT INTO archived_orders (id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, expected_uses, energy_fee_sun, max_fee_limit_sun, transfer, bandwidth,
      bandwidth_price_sun, bandwidth_credits, activation_price_sun, activation_credits, delivered_bandwidth, kept_credits,
      sun_per_bandwidth_e6, bandwidth_top_up_after, archived) OVERRIDING SYSTEM VALUE
    SELECT id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, expected_uses, energy_fee_sun, max_fee_limit_sun, transfer, bandwidth,
      bandwidth_price_sun, bandwidth_credits, activation_price_sun, activation_credits, delivered_bandwidth, kept_credits,
      sun_per_bandwidth_e6, bandwidth_top_up_after, true FROM open_orders WHERE id = ANY (v_orders);
  INSERT INTO archived_leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, top_up_cause, bandwidth, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, top_up_cause, bandwidth, true FROM open_leg WHERE order_id = ANY (v_orders);
  INSERT INTO archived_chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, true FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_leg WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  archived := cardinality(v_orders);
END $$;

REVOKE EXECUTE ON FUNCTION archive_orders FROM PUBLIC;

-- Guards a table of the archive: nothing is changed or deleted, and an inserted row must equal the open row. Compared
-- by stored values, since json has no equality.
CREATE OR REPLACE FUNCTION archived_row() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_open record := NEW;
     v_is_open boolean := false;
   BEGIN
     IF TG_OP = 'INSERT' THEN
       v_open.archived := false;
       IF TG_ARGV[0] = 'orders' THEN
         SELECT o *= v_open INTO v_is_open FROM open_orders o WHERE o.id = NEW.id;
       ELSIF TG_ARGV[0] = 'leg' THEN
         SELECT o *= v_open INTO v_is_open FROM open_leg o WHERE o.id = NEW.id;
       ELSE
         -- Generated after this trigger, from columns that are compared.
         SELECT o.stage INTO v_open.stage FROM open_chain_tx o WHERE o.id = NEW.id;
         SELECT o *= v_open INTO v_is_open FROM open_chain_tx o WHERE o.id = NEW.id;
       END IF;
     END IF;
     IF v_is_open IS NOT TRUE THEN
       RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION archived_row FROM PUBLIC;

-- Writes the event of a paused or resumed auto-delegation.
CREATE OR REPLACE FUNCTION auto_delegation_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id,
             CASE WHEN NEW.pause_reason IS NULL THEN 'auto_delegation.resumed' ELSE 'auto_delegation.paused' END,
             json_build_object('auto_delegation', row_to_json(NEW)));
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION auto_delegation_changed FROM PUBLIC;

-- Schedules another check when an order of an auto-delegation is delivered or over, or its rental ends. Clears the
-- time of the next change, so that the check knows that it is the first one after the change.
CREATE OR REPLACE FUNCTION auto_delegation_order_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     IF NEW.key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
       UPDATE auto_delegation a
          SET open_order_id = CASE WHEN a.open_order_id = NEW.id AND NEW.status IN ('delivered', 'refunded') THEN NULL
                                   ELSE a.open_order_id END,
              due_at = CASE WHEN a.asleep THEN a.due_at ELSE clock_timestamp() END, change_at = NULL, fence = a.fence + 1
        WHERE a.id = split_part(NEW.key, '_', 2)::bigint AND a.project_id = NEW.project_id;
     END IF;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION auto_delegation_order_moved FROM PUBLIC;

-- Writes the event of a balance that fell below its threshold. The trigger fires only if it was not below before: one
-- event until the balance recovers.
CREATE OR REPLACE FUNCTION balance_low() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id, 'balance.low', json_build_object('balance', json_build_object(
       'credits', NEW.balance_credits::text, 'low_balance_credits', NEW.low_balance_credits::text)));
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION balance_low FROM PUBLIC;

-- Takes an order for an auto-delegation under the key of its purchase number. p_fence: the fence of the check that
-- found the need; if it was raised since, nothing is bought. A refusal that take_order returns is raised here, so
-- nothing stays behind.
CREATE OR REPLACE FUNCTION buy_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_energy bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_amount bigint, p_leg_slack bigint, p_legs_max integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000, p_energy_fee bigint DEFAULT NULL,
  p_expected_uses integer DEFAULT NULL, p_max_fee_limit bigint DEFAULT NULL,
  OUT created boolean, OUT order_id bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
  v_refusal text;
  v_same boolean;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  SELECT t.refusal, t.created, t.order_id, t.same_request INTO v_refusal, created, order_id, v_same
    FROM take_order(
      p_project => v_auto.project_id, p_api_key => v_auto.api_key_id, p_key => 'auto_' || p_auto || '_' || p_number,
      p_hash => p_hash, p_kind => 'rental', p_quote => NULL, p_quote_expires => NULL, p_receiver => v_auto.address,
      p_energy => p_energy, p_duration => p_duration, p_price => p_price, p_credits => p_credits, p_rate => p_rate,
      p_amount => p_amount, p_leg_slack => p_leg_slack, p_refusal => p_refusal, p_request_id => p_request_id,
      p_legs_max => p_legs_max, p_lock_ms => p_lock_ms, p_auto => p_auto, p_auto_fence => p_fence, p_auto_number => p_number,
      p_energy_fee => p_energy_fee, p_expected_uses => p_expected_uses, p_max_fee_limit => p_max_fee_limit) t;
  IF v_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', v_refusal USING ERRCODE = 'ER001';
  END IF;
  -- An order of a caller may have this key since before such keys were reserved. Its number is skipped.
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION buy_for_auto_delegation FROM PUBLIC;

-- Takes an order that an owner confirmed in a console, for the project that the transaction names, and records the act.
-- The project's key for consoles pays: its daily cap is the cap of all such purchases. With the owner's rights; a refusal
-- leaves nothing behind. The other arguments are those of take_order.
CREATE OR REPLACE FUNCTION buy_in_console(
  p_session uuid, p_key text, p_hash bytea, p_receiver text, p_energy bigint, p_duration integer, p_price bigint,
  p_credits bigint, p_rate bigint, p_amount bigint, p_leg_slack bigint, p_legs_max integer, p_refusal text,
  p_request_id text, p_lock_ms integer, p_expected_uses integer, p_energy_fee bigint, p_max_fee_limit bigint,
  p_bandwidth bigint DEFAULT NULL, p_bandwidth_price bigint DEFAULT NULL, p_bandwidth_credits bigint DEFAULT NULL,
  p_bandwidth_amount bigint DEFAULT NULL, p_bandwidth_slack bigint DEFAULT NULL, p_bandwidth_legs integer DEFAULT NULL,
  p_activation_price bigint DEFAULT NULL, p_activation_credits bigint DEFAULT NULL, p_activation_amount bigint DEFAULT NULL,
  OUT refusal text, OUT created boolean, OUT order_id bigint, OUT same_request boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_buyer record;
  v_refusal text := p_refusal;
BEGIN
  SELECT * INTO v_buyer FROM console_buyer(p_session, p_key);
  -- Applied after a replay, as every known refusal is.
  IF v_refusal IS NULL THEN
    v_refusal := console_purchase_fault(v_buyer.api_key, p_energy, p_bandwidth, p_activation_price, p_duration, p_price,
      p_credits, p_rate);
  END IF;
  -- TRON: energy moves only between different accounts. A console cannot read the wallets.
  IF v_refusal IS NULL AND EXISTS (SELECT FROM pool_wallet w WHERE w.address = p_receiver) THEN
    v_refusal := 'RECEIVER_NOT_SUPPORTED';
  END IF;
  -- The stake follows from each resource, in whole TRX. The margin is at most a tenth for each day (POOL_MARGIN_BPS). An
  -- activation spends the chain's fee.
  IF v_refusal IS NULL AND NOT coalesce((
      SELECT p_amount <= 1000000 + (p_energy + 2) * 1000000::numeric * (s.value ->> 'totalEnergyWeight')::numeric
               / (s.value ->> 'totalEnergyLimit')::numeric * m.margin
         AND (p_bandwidth IS NULL OR p_bandwidth_amount <= 1000000 + (p_bandwidth + 2) * 1000000::numeric
               * (s.value ->> 'totalNetWeight')::numeric / nullif((s.value ->> 'totalNetLimit')::numeric, 0) * m.margin)
         AND (p_activation_amount IS NULL OR p_activation_amount <= (s.value ->> 'createAccountFeeSun')::numeric)
        FROM market_state s CROSS JOIN LATERAL (SELECT 1.1 + 0.1 * ceil(p_duration / 86400.0) AS margin) m
       WHERE s.name = 'chain'), false) THEN
    v_refusal := 'CHAIN_UNAVAILABLE';
  END IF;
  SELECT t.refusal, t.created, t.order_id, t.same_request INTO refusal, created, order_id, same_request
    FROM take_order(
      p_project => v_buyer.project, p_api_key => v_buyer.api_key, p_key => p_key, p_hash => p_hash, p_kind => 'rental',
      p_quote => NULL, p_quote_expires => NULL, p_receiver => p_receiver, p_energy => p_energy,
      p_duration => p_duration, p_price => p_price, p_credits => p_credits, p_rate => p_rate, p_amount => p_amount,
      p_leg_slack => p_leg_slack, p_refusal => v_refusal, p_request_id => p_request_id, p_legs_max => p_legs_max,
      p_lock_ms => p_lock_ms, p_expected_uses => p_expected_uses, p_energy_fee => p_energy_fee,
      p_max_fee_limit => p_max_fee_limit, p_bandwidth => p_bandwidth, p_bandwidth_price => p_bandwidth_price,
      p_bandwidth_credits => p_bandwidth_credits, p_bandwidth_amount => p_bandwidth_amount,
      p_bandwidth_slack => p_bandwidth_slack, p_bandwidth_legs => p_bandwidth_legs,
      p_activation_price => p_activation_price, p_activation_credits => p_activation_credits,
      p_activation_amount => p_activation_amount) t;
  IF created THEN
    INSERT INTO audit_log (actor, action, subject, reason, detail)
    VALUES (v_buyer.email, 'orders.buy', v_buyer.project::text, 'in the merchants’ console', jsonb_build_object(
      'order', order_id::text, 'key', p_key, 'credits', p_credits::text, 'energy', p_energy::text,
      'durationSec', p_duration::text, 'receiver', p_receiver)
      || jsonb_strip_nulls(jsonb_build_object('bandwidth', p_bandwidth::text, 'activate', p_activation_price > 0)));
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION buy_in_console FROM PUBLIC;

-- Refuses changes of a final transaction, except for the number of sends and the burnt amount, which is recorded
-- once.
CREATE OR REPLACE FUNCTION chain_tx_final() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- A transaction that was given up, and is found in a solid block after all, may be assigned to another leg.
     IF OLD.status <> 'solid' AND NEW.status = 'solid' THEN
       RETURN NEW;
     END IF;
     -- Generated after this trigger.
     OLD.stage := NEW.stage;
     OLD.sends := NEW.sends;
     OLD.sent_at := NEW.sent_at;
     IF OLD.status = 'solid' AND OLD.fee_sun IS NULL THEN
       OLD.fee_sun := NEW.fee_sun;
     END IF;
     IF OLD IS DISTINCT FROM NEW THEN
       RAISE EXCEPTION 'chain transaction %: final, never changed', OLD.id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION chain_tx_final FROM PUBLIC;

-- Guards chain transactions: legal moves only, and the bytes never change.
CREATE OR REPLACE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
    IF OLD.status IN ('dead', 'dropped') THEN
      IF NOT EXISTS (SELECT FROM orphan_tx WHERE txid = NEW.txid) THEN
        RAISE EXCEPTION 'chain transaction %: % may not become % unseen on chain', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
      END IF;
    END IF;
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
      RAISE EXCEPTION 'chain transaction of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$;

REVOKE EXECUTE ON FUNCTION chain_tx_guard FROM PUBLIC;

-- Charges the daily cap of the paying key: before the balance, as the lock order has it.
CREATE OR REPLACE FUNCTION charge_api_key(p_api_key uuid, p_project uuid, p_credits bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_today date;
  v_counted_on date;
  v_charged_on date;
BEGIN
  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE api_key k
       SET spent_credits = CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(k.spent_on, v_today)
     WHERE k.id = p_api_key AND k.project_id = p_project AND k.revoked_at IS NULL
       AND (k.daily_cap_credits IS NULL OR
            CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits <= k.daily_cap_credits)
    RETURNING k.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- The wait for the row's lock lasted past midnight: the new day begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE api_key SET spent_on = v_charged_on, spent_credits = p_credits WHERE id = p_api_key;
      END IF;
      RETURN;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    RAISE EXCEPTION '%', CASE WHEN EXISTS (
        SELECT FROM api_key k WHERE k.id = p_api_key AND k.project_id = p_project AND k.revoked_at IS NULL)
      THEN 'SPEND_CAP_REACHED' ELSE 'INVALID_SIGNATURE' END USING ERRCODE = 'ER001';
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION charge_api_key FROM PUBLIC;

-- Takes the number of a purchase, notes its open order (p_order, null for an extension) and charges the daily cap, under
-- the row's lock. If several checks found the same need, only one of them finds the row unchanged.
CREATE OR REPLACE FUNCTION charge_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_project uuid, p_credits bigint, p_order bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_today date;
  v_counted_on date;
  v_charged_on date;
BEGIN
  LOOP
    v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    UPDATE auto_delegation a
       SET purchases = p_number, open_order_id = p_order,
           spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits,
           spent_on = greatest(a.spent_on, v_today)
     WHERE a.id = p_auto AND a.project_id = p_project AND a.fence = p_fence
       AND a.purchases = p_number - 1 AND a.open_order_id IS NULL
       AND CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits
    RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
    IF FOUND THEN
      -- Refuses once the key that set the auto-delegation has lost the scope to order.
      IF NOT EXISTS (SELECT FROM auto_delegation a JOIN api_key k ON k.id = a.api_key_id
                      WHERE a.id = p_auto AND 'order' = ANY (k.scopes)) THEN
        RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
      END IF;
      -- The wait for the row's lock lasted past midnight: the new day begins with this charge.
      IF v_charged_on > v_counted_on THEN
        UPDATE auto_delegation SET spent_on = v_charged_on, spent_credits = p_credits WHERE id = p_auto;
      END IF;
      RETURN;
    END IF;
    CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
    RAISE EXCEPTION '%', CASE WHEN EXISTS (
        SELECT FROM auto_delegation a
         WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1 AND a.open_order_id IS NULL)
      THEN 'SPEND_CAP_REACHED' ELSE 'AUTO_DELEGATION_MOVED' END USING ERRCODE = 'ER001';
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION charge_auto_delegation FROM PUBLIC;

-- The charges of a project on one UTC day, without what was refunded of them, with the key that paid and the
-- auto-delegation that bought. A purchase's request id equals its key; a caller's own order under such a key is no
-- purchase. Only entries after p_after up to p_to.
CREATE OR REPLACE FUNCTION charges_of_day(p_project uuid, p_day date, p_after bigint, p_to bigint) RETURNS TABLE (key_id uuid, auto_id bigint, credits bigint)
LANGUAGE sql STABLE AS $$
  SELECT coalesce(c.api_key_id, c.project_id), CASE WHEN b.key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' AND b.key = b.request_id
      THEN split_part(b.key, '_', 2)::bigint END, -c.credits - coalesce(r.credits, 0)
    FROM credit_entry c LEFT JOIN credit_entry r ON r.entry_key = 'refund:' || c.order_id CROSS JOIN LATERAL (
      SELECT o.key, o.request_id FROM orders o WHERE c.entry_key = 'charge:' || c.order_id AND o.id = c.order_id
      UNION ALL SELECT x.key, x.request_id FROM order_extension x
       WHERE x.order_id = c.order_id AND c.entry_key = 'charge:' || x.order_id || ':ext:' || x.number) b
   WHERE c.project_id = p_project AND c.kind = 'charge' AND c.created_at >= p_day::timestamp AT TIME ZONE 'UTC'
     AND c.created_at < (p_day + 1)::timestamp AT TIME ZONE 'UTC' AND c.id > p_after AND c.id <= p_to
     AND -c.credits > coalesce(r.credits, 0)
$$;

REVOKE EXECUTE ON FUNCTION charges_of_day FROM PUBLIC;

-- Locks the balances of projects, and the projects against deletion. Skips locked projects, but waits up to 250 ms for
-- each of p_waits of them. Returns the projects that it locked.
CREATE OR REPLACE FUNCTION claim_paid_projects(p_projects uuid[], p_waits integer) RETURNS SETOF uuid
LANGUAGE plpgsql SET lock_timeout = '250ms' AS $$
DECLARE
  v_claimed uuid[];
  v_project uuid;
BEGIN
  SELECT coalesce(array_agg(c.project_id), '{}') INTO v_claimed FROM (
    SELECT a.project_id FROM credit_account a JOIN project p ON p.id = a.project_id
     WHERE a.project_id = ANY (p_projects) ORDER BY a.project_id
     FOR NO KEY UPDATE OF a SKIP LOCKED FOR KEY SHARE OF p SKIP LOCKED) c;
  FOR v_project IN SELECT x FROM unnest(p_projects) x WHERE x <> ALL (v_claimed) ORDER BY x LIMIT p_waits LOOP
    BEGIN
      PERFORM FROM credit_account a JOIN project p ON p.id = a.project_id
        WHERE a.project_id = v_project FOR NO KEY UPDATE OF a FOR KEY SHARE OF p;
      v_claimed := v_claimed || v_project;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END LOOP;
  RETURN QUERY SELECT unnest(v_claimed);
END $$;

REVOKE EXECUTE ON FUNCTION claim_paid_projects FROM PUBLIC;

-- The audience of the connected console; null for every other process. By the login's roles, which no statement can
-- change. A login with both roles counts as a merchant's, which sees less.
CREATE OR REPLACE FUNCTION console_audience() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT min(replace(r.rolname, 'energy_console_', '')) FROM pg_roles r
   WHERE r.rolname IN ('energy_console_merchant', 'energy_console_operator')
     AND (r.rolname IN (session_user, current_user)
          OR EXISTS (SELECT FROM pg_auth_members a JOIN pg_roles u ON u.oid = a.member
                      WHERE a.roleid = r.oid AND u.rolname IN (session_user, current_user)))
$$;

REVOKE EXECUTE ON FUNCTION console_audience FROM PUBLIC;

-- Returns the project that the transaction names, the id of its key for consoles (console-key-id.ts), and the e-mail of
-- the owner of the session. Raises KEY_SCOPE unless an owner of the project signed in within the last eleven minutes.
-- The console allows ten, and its statement may start up to a minute after that check. Raises INVALID_REQUEST unless
-- p_key is the key of a form.
CREATE OR REPLACE FUNCTION console_buyer(
  p_session uuid, p_key text, OUT project uuid, OUT api_key uuid, OUT email text
) LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT m.project_id, md5('console purchases of ' || m.project_id)::uuid, p.email INTO project, api_key, email
    FROM console_session s JOIN membership m ON m.person_id = s.person_id JOIN person p ON p.id = s.person_id
   WHERE s.id = p_session AND s.audience = 'merchant' AND s.stage = 'signed_in'
     AND s.authenticated_at > clock_timestamp() - interval '11 minutes'
     AND m.role = 'owner' AND m.project_id = nullif(current_setting('energy.project', true), '')::uuid;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
  END IF;
  IF p_key !~ '^console_[0-9a-f-]{36}$' THEN
    RAISE EXCEPTION 'INVALID_REQUEST' USING ERRCODE = 'ER001';
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION console_buyer FROM PUBLIC;

-- The project's name of an invitation, for the holder of its token.
CREATE OR REPLACE FUNCTION console_invited_to(p_token_hash bytea) RETURNS text
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.name FROM invitation i JOIN project p ON p.id = i.project_id WHERE i.token_hash = p_token_hash
$$;

REVOKE EXECUTE ON FUNCTION console_invited_to FROM PUBLIC;

-- The times at which operators viewed a project, for one of its owners, identified by the session.
CREATE OR REPLACE FUNCTION console_looks(p_session uuid, p_project uuid)
  RETURNS TABLE (at timestamptz, actor text, what text)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.at, l.actor, l.detail ->> 'what' FROM audit_log l
   WHERE l.subject = p_project::text AND l.action = 'console.look'
     AND EXISTS (SELECT FROM console_session s JOIN membership m ON m.person_id = s.person_id
                  WHERE s.id = p_session AND s.stage = 'signed_in'
                    AND (m.project_id = p_project AND m.role = 'owner' OR m.role = 'admin'))
   ORDER BY l.id DESC LIMIT 200
$$;

REVOKE EXECUTE ON FUNCTION console_looks FROM PUBLIC;

-- The projects of a person, for the console's project switcher.
CREATE OR REPLACE FUNCTION console_memberships(p_person uuid)
  RETURNS TABLE (id uuid, name text, role text, frozen boolean, test boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.id, p.name, m.role, a.frozen, p.test
    FROM membership m JOIN project p ON p.id = m.project_id JOIN credit_account a ON a.project_id = p.id
   WHERE m.person_id = p_person ORDER BY p.name, p.id LIMIT 1000
$$;

REVOKE EXECUTE ON FUNCTION console_memberships FROM PUBLIC;

-- Returns why a purchase in a console must not be made at these figures, or null. A console computes prices itself, but
-- serves browsers, so its figures are compared with the records: the price with the price table, the credits with the
-- rate, and the rate with the last stored one, which may be read a moment later.
-- p_key: the project's key for consoles. Without a cap on it, nothing may be bought.
-- p_bandwidth: units beside the energy, or null. Each has its own shortest row that covers the duration.
-- p_activation: the part of the price that is for an activation, or null. It covers at least the chain's fee.
CREATE OR REPLACE FUNCTION console_purchase_fault(
  p_key uuid, p_energy bigint, p_bandwidth bigint, p_activation bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint
) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN NOT EXISTS (SELECT FROM api_key k
                      WHERE k.id = p_key AND k.revoked_at IS NULL AND k.daily_cap_credits IS NOT NULL)
      THEN 'SPEND_CAP_REACHED'
    WHEN NOT coalesce(p_price - coalesce(p_activation, 0) >= p_energy * (SELECT r.sun_per_energy FROM price_row r
                                              WHERE r.duration_max_sec >= p_duration
                                              ORDER BY r.duration_max_sec LIMIT 1)
      + CASE WHEN p_bandwidth IS NULL THEN 0 ELSE p_bandwidth * (SELECT r.sun_per_bandwidth FROM price_row r
          WHERE r.duration_max_sec >= p_duration AND r.sun_per_bandwidth IS NOT NULL
          ORDER BY r.duration_max_sec LIMIT 1) END, false)
      OR p_activation IS NOT NULL AND NOT coalesce(p_activation >= (
        SELECT (s.value ->> 'createAccountFeeSun')::numeric FROM market_state s WHERE s.name = 'chain'), false)
      -- A dollar is 10^7 credits, p_price is in 10^-6 TRX, p_rate in 10^-8 USD.
      OR p_credits < p_price::numeric * p_rate / 10000000
      OR EXISTS (SELECT FROM market_state s
                  WHERE s.name = 'trx-usd' AND s.measured_at > clock_timestamp() - interval '1 hour'
                    AND p_rate < (s.value ->> 'rate')::numeric * 50000000)
      THEN 'QUOTE_EXPIRED' END
$$;

REVOKE EXECUTE ON FUNCTION console_purchase_fault FROM PUBLIC;

-- Tells every console process to end the streams of a session.
CREATE OR REPLACE FUNCTION console_session_ended() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('console_session_ended', OLD.id::text);
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION console_session_ended FROM PUBLIC;

-- Guards ledger entries. Entries of test projects have a contra of their own, which no other project has: play money
-- is no revenue.
CREATE OR REPLACE FUNCTION credit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
END$$;

REVOKE EXECUTE ON FUNCTION credit_entry_guard FROM PUBLIC;

-- Writes the event of a deposit when it is first recorded and with each change of status.
CREATE OR REPLACE FUNCTION deposit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- The solid block pays another project than the block at the head did.
     IF TG_OP = 'UPDATE' AND OLD.project_id <> NEW.project_id AND OLD.status = 'pending' THEN
       INSERT INTO event (project_id, type, chain_at, snapshot)
       VALUES (OLD.project_id, 'deposit.dropped', OLD.block_at, json_build_object('deposit', json_build_object(
         'id', OLD.id::text, 'txid', encode(OLD.txid, 'hex'), 'kind', OLD.kind, 'place', OLD.place, 'address', OLD.address,
         'from_address', OLD.from_address, 'asset', OLD.asset, 'amount', OLD.amount::text, 'status', 'dropped',
         'reason', NULL, 'rate_e8', NULL, 'credits', NULL, 'block_number', OLD.block_number::text, 'block_at', OLD.block_at)));
     ELSIF TG_OP = 'UPDATE' AND OLD.status = NEW.status THEN
       RETURN NULL;
     END IF;
     -- Small deposits, of which there can be thousands, cause no event of their own. The deposit with which their sum
     -- reaches the minimum does.
     IF NEW.status = 'pending' AND NEW.reason NOT IN ('not_solid', 'no_rate', 'below_peg')
       OR NEW.status = 'credited' AND NEW.credits IS NULL
       OR NEW.status = 'ignored' AND TG_OP = 'UPDATE' AND OLD.status = 'pending' AND (OLD.entry_key IS NOT NULL OR OLD.sum_id IS NOT NULL) THEN
       RETURN NULL;
     END IF;
     INSERT INTO event (project_id, type, chain_at, snapshot)
     VALUES (NEW.project_id, 'deposit.' || NEW.status, NEW.block_at, json_build_object('deposit', json_build_object(
       'id', NEW.id::text, 'txid', encode(NEW.txid, 'hex'), 'kind', NEW.kind, 'place', NEW.place, 'address', NEW.address,
       'from_address', NEW.from_address, 'asset', NEW.asset, 'amount', NEW.amount::text, 'status', NEW.status,
       'reason', NEW.reason, 'rate_e8', NEW.rate_e8::text, 'credits', NEW.credits::text,
       'block_number', NEW.block_number::text, 'block_at', NEW.block_at)));
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION deposit_changed FROM PUBLIC;

-- Guards deposits: terms never change, a credited deposit has its ledger entry, and a final status stays. Keep the
-- assets, statuses and moves equal to domain/deposit-state.ts; a test compares them.
CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND (NEW.kind = 'log' OR NEW.contract IS NULL)
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'INSERT' AND NEW.kind = 'log' AND NEW.contract IS NULL THEN
       RAISE EXCEPTION 'deposit %: paid in no token', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'UPDATE' THEN
       -- A payment seen only at the head is not final: its solid block may pay another amount or project.
       IF (OLD.txid, OLD.kind, OLD.place, OLD.seen_at) IS DISTINCT FROM (NEW.txid, NEW.kind, NEW.place, NEW.seen_at)
         OR (OLD.project_id, OLD.address, OLD.from_address, OLD.asset, OLD.amount, OLD.contract)
           IS DISTINCT FROM (NEW.project_id, NEW.address, NEW.from_address, NEW.asset, NEW.amount, NEW.contract)
         AND NOT (OLD.status = 'dropped' OR OLD.status = 'pending' AND OLD.reason = 'not_solid') THEN
         RAISE EXCEPTION 'deposit %: its terms never change', OLD.id USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status IN ('credited', 'ignored') THEN
         RAISE EXCEPTION 'deposit %: %, never changed', OLD.id, OLD.status USING ERRCODE = 'check_violation';
       END IF;
       -- The deposits of a sum share the decision on the sum.
       IF OLD.sum_id IS NOT NULL AND NEW.entry_key IS NOT NULL AND NEW.entry_key IS DISTINCT FROM OLD.entry_key
         AND NOT EXISTS (SELECT FROM deposit_sum s WHERE s.id = OLD.sum_id AND s.entry_key = NEW.entry_key) THEN
         RAISE EXCEPTION 'deposit %: its sum is decided with another deposit', OLD.id USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (('pending','credited'), ('pending','held'), ('pending','ignored'), ('pending','dropped'), ('held','credited'), ('held','ignored'), ('dropped','pending'), ('dropped','credited'), ('dropped','held')) THEN
         RAISE EXCEPTION 'deposit %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
       END IF;
     END IF;
     IF NEW.status = 'credited' AND (NEW.rate_e8 IS NULL OR (NEW.entry_key = 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place) <> (NEW.credits IS NOT NULL)
       OR NOT EXISTS (SELECT FROM credit_entry e WHERE e.entry_key = NEW.entry_key AND e.project_id = NEW.project_id
                        AND e.credits = coalesce(NEW.credits, e.credits))) THEN
       RAISE EXCEPTION 'deposit %: credited without its ledger entry', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     -- A small deposit in a held sum has the entry key of the deposit that it is held with.
     IF NEW.status <> 'credited' AND (NEW.credits IS NOT NULL OR NEW.entry_key IS NOT NULL AND NOT (NEW.status = 'pending'
       AND NEW.reason IN ('one_node', 'auto_max', 'amount', 'blacklisted', 'destroyed') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place)) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION deposit_guard FROM PUBLIC;

-- Ends the waiting that a later clock caused, after the database's clock was set back: moves every future time back
-- by p_sec seconds but not into the past, counts amounts of a later day as today's, and deletes rates of later
-- minutes.
-- The worker that sees the step calls it once. With the owner's rights, since the rows belong to several processes.
-- Locked rows are skipped; at most 50,000 rows of a table are moved, and the others become due later by themselves.
CREATE OR REPLACE FUNCTION end_later_times(p_sec double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_back interval := p_sec * interval '1 second';
  v_today date := (v_now AT TIME ZONE 'UTC')::date;
  -- A small step over midnight does not change the day of caps: the caps would count that day twice.
  v_last_day date := v_today + CASE WHEN p_sec < 3600 THEN 1 ELSE 0 END;
BEGIN
  -- Rates of future minutes, unless the chain has reached them.
  DELETE FROM asset_rate r WHERE r.minute > greatest(v_now, (SELECT c.block_at FROM deposit_cursor c));
  UPDATE notification n SET due_at = greatest(v_now, n.due_at - v_back)
   WHERE n.membership_id IN (SELECT membership_id FROM notification WHERE due_at > v_now
     ORDER BY membership_id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE auto_delegation a SET due_at = greatest(v_now, a.due_at - v_back), check_at = greatest(v_now, a.check_at - v_back)
   WHERE a.id IN (SELECT id FROM auto_delegation WHERE due_at > v_now OR check_at > v_now
     ORDER BY id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  -- Lock order: the delivery's row before its endpoint's row.
  UPDATE webhook_delivery d SET next_at = greatest(v_now, d.next_at - v_back)
   WHERE d.id IN (SELECT id FROM webhook_delivery WHERE status = 'pending' AND attempts > 0 AND next_at > v_now
     ORDER BY id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE webhook_state s SET due_at = greatest(v_now, s.due_at - v_back)
   WHERE s.endpoint_id IN (SELECT endpoint_id FROM webhook_state WHERE due_at > v_now
     ORDER BY endpoint_id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE open_orders o SET play_at = greatest(v_now, o.play_at - v_back)
   WHERE o.id IN (SELECT id FROM open_orders WHERE play_at > v_now AND NOT settled
     ORDER BY id LIMIT 50000 FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE api_key k SET spent_on = v_today
   WHERE k.id IN (SELECT id FROM api_key WHERE spent_on > v_last_day ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE auto_delegation a SET spent_on = v_today
   WHERE a.id IN (SELECT id FROM auto_delegation WHERE spent_on > v_last_day ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE credit_account a SET spent_on = v_today
   WHERE a.project_id IN (SELECT project_id FROM credit_account WHERE spent_on > v_last_day
     ORDER BY project_id FOR NO KEY UPDATE SKIP LOCKED);
END $$;

REVOKE EXECUTE ON FUNCTION end_later_times FROM PUBLIC;

-- Extends one of the auto-delegation's own rentals under the key of its purchase number. A rental that was extended
-- since the check began ends later than the check saw, and stays unchanged.
CREATE OR REPLACE FUNCTION extend_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
  p_expected_uses integer DEFAULT NULL, p_fee_limit bigint DEFAULT NULL, p_fee_limit_capped boolean DEFAULT NULL,
  OUT created boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT EXISTS (SELECT FROM open_orders o WHERE o.id = p_order AND o.project_id = v_auto.project_id
                    AND o.key LIKE 'auto\_' || p_auto || '\_%') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  SELECT x.created INTO created
    FROM extend_order(
      v_auto.project_id, v_auto.api_key_id, 'auto_' || p_auto || '_' || p_number, p_hash, p_order, p_duration,
      p_price, p_credits, p_rate, p_head, p_longest, p_refusal, p_request_id, p_lock_ms,
      p_auto, p_fence, p_number, p_expected_uses, p_fee_limit, p_fee_limit_capped) x;
  -- Read under the row's lock, which extend_order holds.
  IF created AND EXISTS (
      SELECT FROM open_orders o WHERE o.id = p_order
         AND o.ends_at - p_duration * interval '1 second' > p_head + interval '60 seconds') THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION extend_for_auto_delegation FROM PUBLIC;

-- Extends a rental as an owner confirmed it in a console, for the project that the transaction names, and records the
-- act. The project's key for consoles pays, as in buy_in_console. With the owner's rights; a refusal leaves nothing
-- behind. The other arguments are those of extend_order.
CREATE OR REPLACE FUNCTION extend_in_console(
  p_session uuid, p_key text, p_hash bytea, p_order bigint, p_duration integer, p_price bigint, p_credits bigint,
  p_rate bigint, p_head timestamptz, p_longest integer, p_refusal text, p_request_id text, p_lock_ms integer,
  p_expected_uses integer, p_fee_limit bigint, p_fee_limit_capped boolean,
  OUT created boolean, OUT same_request boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_buyer record;
  v_sold record;
  v_refusal text := p_refusal;
BEGIN
  SELECT * INTO v_buyer FROM console_buyer(p_session, p_key);
  IF v_refusal IS NULL THEN
    SELECT o.energy, o.bandwidth INTO v_sold FROM open_orders o WHERE o.id = p_order AND o.project_id = v_buyer.project;
    v_refusal := console_purchase_fault(v_buyer.api_key, v_sold.energy, v_sold.bandwidth, NULL, p_duration, p_price, p_credits, p_rate);
  END IF;
  SELECT x.created, x.same_request INTO created, same_request
    FROM extend_order(
      p_project => v_buyer.project, p_api_key => v_buyer.api_key, p_key => p_key, p_hash => p_hash, p_order => p_order,
      p_duration => p_duration, p_price => p_price, p_credits => p_credits, p_rate => p_rate, p_head => p_head,
      p_longest => p_longest, p_refusal => v_refusal, p_request_id => p_request_id, p_lock_ms => p_lock_ms,
      p_expected_uses => p_expected_uses, p_fee_limit => p_fee_limit, p_fee_limit_capped => p_fee_limit_capped) x;
  IF created THEN
    INSERT INTO audit_log (actor, action, subject, reason, detail)
    VALUES (v_buyer.email, 'orders.extend', v_buyer.project::text, 'in the merchants’ console', jsonb_build_object(
      'order', p_order::text, 'key', p_key, 'credits', p_credits::text, 'durationSec', p_duration::text));
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION extend_in_console FROM PUBLIC;

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

-- Writes an order's key in the statement that inserts the order. Refuses the order if the key belongs to an
-- extension, whose key extend_order writes.
CREATE OR REPLACE FUNCTION keep_order_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO order_key (project_id, key, order_id) VALUES (NEW.project_id, NEW.key, NEW.id) ON CONFLICT DO NOTHING;
     IF NOT FOUND THEN
       RAISE EXCEPTION 'IDEMPOTENCY_KEY_REUSED' USING ERRCODE = 'ER001';
     END IF;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION keep_order_key FROM PUBLIC;

-- Keeps the replaced key for as long as it verifies. A trigger, so that rotating needs no right to read sealed
-- secrets.
CREATE OR REPLACE FUNCTION keep_previous_key() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.previous_sealed := CASE WHEN NEW.previous_until IS NOT NULL THEN OLD.sealed END;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION keep_previous_key FROM PUBLIC;

-- Keeps the replaced webhook secret for as long as it signs. A trigger, so that rotating needs no right to read
-- sealed secrets.
CREATE OR REPLACE FUNCTION keep_previous_secret() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.previous_secret_sealed := CASE WHEN NEW.previous_until IS NOT NULL THEN OLD.secret_sealed END;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION keep_previous_secret FROM PUBLIC;

-- Lets an open row be deleted only if the archive has exactly that row.
CREATE OR REPLACE FUNCTION kept_unless_archived() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_kept record := OLD;
     v_is_archived boolean := false;
   BEGIN
     v_kept.archived := true;
     IF OLD.archived THEN
       NULL;
     ELSIF TG_ARGV[0] = 'orders' THEN
       SELECT a *= v_kept INTO v_is_archived FROM archived_orders a WHERE a.id = OLD.id;
     ELSIF TG_ARGV[0] = 'leg' THEN
       SELECT a *= v_kept INTO v_is_archived FROM archived_leg a WHERE a.order_id = OLD.order_id AND a.id = OLD.id;
     ELSE
       SELECT a *= v_kept INTO v_is_archived FROM archived_chain_tx a WHERE a.order_id = OLD.order_id AND a.id = OLD.id;
     END IF;
     IF v_is_archived IS NOT TRUE THEN
       RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN OLD;
   END $$;

REVOKE EXECUTE ON FUNCTION kept_unless_archived FROM PUBLIC;

-- Keeps rows that belong to orders for ever, except for those of test orders.
CREATE OR REPLACE FUNCTION kept_unless_test() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM open_orders o WHERE o.id = OLD.order_id AND o.test) THEN
       RETURN OLD;
     END IF;
     RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
   END $$;

REVOKE EXECUTE ON FUNCTION kept_unless_test FROM PUBLIC;

-- Refuses any change of an ended leg.
CREATE OR REPLACE FUNCTION leg_final() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF OLD IS DISTINCT FROM NEW THEN
       RAISE EXCEPTION 'leg %: ended, never changed', OLD.id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION leg_final FROM PUBLIC;

-- Guards legs: legal moves only. A leg is released only when none of its transactions can ever be included, and
-- reclaimed only by an undelegation: ours in a solid block, or another party's, which is named or confirmed by an
-- operator. A top-up is made only while its rental runs.
CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'bandwidth', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)
    AND (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END)
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END)
    AND (CASE WHEN NEW.top_up_cause IS NULL THEN TG_OP = 'INSERT' OR OLD.top_up_cause IS NULL
      ELSE TG_OP = 'UPDATE' AND NEW.top_up AND NEW.top_up_cause IN ('stake', 'usage')
        AND (NEW.top_up_cause = OLD.top_up_cause OR (OLD.top_up_cause IS NULL AND OLD.status = 'reserved' AND NOT OLD.top_up)) END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'bandwidth', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END) THEN 'a top-up is made of what is reserved, and stays one'
      WHEN NOT (CASE WHEN NEW.top_up_cause IS NULL THEN TG_OP = 'INSERT' OR OLD.top_up_cause IS NULL
      ELSE TG_OP = 'UPDATE' AND NEW.top_up AND NEW.top_up_cause IN ('stake', 'usage')
        AND (NEW.top_up_cause = OLD.top_up_cause OR (OLD.top_up_cause IS NULL AND OLD.status = 'reserved' AND NOT OLD.top_up)) END) THEN 'the cause is a top-up’s, and stays as it is' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' THEN
      IF EXISTS (SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
        RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
      END IF;
    ELSIF NEW.status = 'reclaimed' THEN
      IF NOT EXISTS (
        SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
        SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
        RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
      END IF;
      IF NEW.kind = 'activation' AND NOT EXISTS (
        SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'activate' AND status = 'solid') THEN
        RAISE EXCEPTION 'leg %: an activation ended that the chain may not have', OLD.id USING ERRCODE = 'check_violation';
      END IF;
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM open_orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
      RAISE EXCEPTION 'leg of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$;

REVOKE EXECUTE ON FUNCTION leg_guard FROM PUBLIC;

-- Memberships whose log has new events since their last mail, for the console that mails merchants. The limits of
-- 4401 s and 181 s end a due time or a lease that a later clock wrote.
CREATE OR REPLACE FUNCTION notifications_due(p_limit integer) RETURNS TABLE (membership_id bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT n.membership_id FROM notification n
    JOIN membership m ON m.id = n.membership_id JOIN event_position p ON p.project_id = m.project_id
    JOIN person r ON r.id = m.person_id AND r.address_proven_at IS NOT NULL
   WHERE n.audience = 'merchant' AND n.kinds <> '{}'
     AND (n.due_at <= clock_timestamp() OR n.due_at > clock_timestamp() + interval '4401 seconds')
     AND (n.lease_until IS NULL OR n.lease_until < clock_timestamp() OR n.lease_until > clock_timestamp() + interval '181 seconds')
     AND p.position > n.position
   ORDER BY n.due_at LIMIT p_limit
$$;

REVOKE EXECUTE ON FUNCTION notifications_due FROM PUBLIC;

-- Writes the move or event of an order: a new status, settlement, an extension, or the end of its rental. An order that
-- is being undone gets only the event of its refund.
-- The snapshot has only what can change of the order; the numberer adds the terms, which never change.
-- The nil project holds transactions found on chain without a record: they have moves and no events.
CREATE OR REPLACE FUNCTION order_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_moved boolean := OLD.status <> NEW.status;
     v_type text := CASE
       WHEN NEW.project_id = '00000000-0000-0000-0000-000000000000' THEN NULL
       WHEN OLD.status <> NEW.status THEN CASE NEW.status
         WHEN 'delivered' THEN 'order.delivered'
         WHEN 'unresolved' THEN 'order.unresolved'
         WHEN 'refunded' THEN 'order.refunded'
         WHEN 'placed' THEN CASE OLD.status WHEN 'delivered' THEN 'order.reverted' END END
       WHEN NEW.status <> 'delivered' THEN NULL
       WHEN NEW.settled AND NOT OLD.settled THEN 'order.settled'
       WHEN NEW.extensions > OLD.extensions THEN 'order.extended'
       WHEN NEW.undoing OR OLD.reclaimed_at IS NOT DISTINCT FROM NEW.reclaimed_at THEN NULL
       WHEN NEW.reclaimed_at IS NULL THEN 'order.reverted'
       WHEN NEW.reclaimed_at < NEW.ends_at THEN 'order.ended_early'
       ELSE 'order.ended' END;
   BEGIN
     IF v_type IS NULL AND NOT v_moved THEN
       RETURN NULL;
     END IF;
     INSERT INTO event (order_id, from_status, to_status, chain_at, project_id, type, snapshot)
     VALUES (NEW.id, CASE WHEN v_moved THEN OLD.status END, CASE WHEN v_moved THEN NEW.status END,
             CASE WHEN v_moved THEN NEW.delivered_at WHEN v_type <> 'order.settled' THEN NEW.reclaimed_at END,
             NEW.project_id, v_type, CASE WHEN v_type IS NOT NULL THEN json_build_object('order', json_build_object(
         'status', NEW.status, 'settled', NEW.settled, 'needs_attention', NEW.needs_attention, 'error_code', NEW.error_code,
         'error', NEW.error, 'delivered_energy', NEW.delivered_energy, 'delivered_at', NEW.delivered_at, 'ends_at', NEW.ends_at,
         'reclaimed_at', NEW.reclaimed_at, 'delivered_bandwidth', NEW.delivered_bandwidth, 'kept_credits', NEW.kept_credits),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'kind', l.kind, 'bandwidth', l.bandwidth,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < NEW.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM open_chain_tx r
                             WHERE r.order_id = l.order_id AND r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM open_leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN open_chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = NEW.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = NEW.id),
       'extensions', CASE WHEN NEW.extensions > 0 THEN (
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at,
                'expected_uses', x.expected_uses, 'price_sun', x.price_sun, 'fee_limit_sun', x.fee_limit_sun,
                'fee_limit_capped', x.fee_limit_capped)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = NEW.id) END) END);
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION order_changed FROM PUBLIC;

-- Writes the event of a compensation. The writer of the ledger entry holds the order's row.
CREATE OR REPLACE FUNCTION order_compensated() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (order_id, project_id, type, snapshot)
     SELECT o.id, o.project_id, 'order.compensated', json_build_object('order', row_to_json(o),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'kind', l.kind, 'bandwidth', l.bandwidth,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < o.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.order_id = l.order_id AND r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = o.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = o.id),
       'extensions', CASE WHEN o.extensions > 0 THEN (
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at,
                'expected_uses', x.expected_uses, 'price_sun', x.price_sun, 'fee_limit_sun', x.fee_limit_sun,
                'fee_limit_capped', x.fee_limit_capped)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = o.id) END)
       FROM orders o WHERE o.id = NEW.order_id AND o.project_id <> '00000000-0000-0000-0000-000000000000';
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION order_compensated FROM PUBLIC;

-- Returns why an order without a quote would be refused; null if it may be accepted or if its key was used before.
CREATE OR REPLACE FUNCTION order_refusal(
  p_project uuid, p_api_key uuid, p_key text, p_credits bigint, p_refusal text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_refusal text;
BEGIN
  SELECT CASE
      WHEN p_refusal IS NOT NULL THEN p_refusal
      WHEN a.frozen THEN 'PROJECT_FROZEN'
      WHEN a.balance_credits - p_credits < a.floor_credits THEN 'INSUFFICIENT_CREDITS'
      WHEN CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits > a.daily_cap_credits
        THEN 'SPEND_CAP_REACHED'
      WHEN CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END + p_credits > k.daily_cap_credits
        THEN 'SPEND_CAP_REACHED' END
    INTO v_refusal FROM credit_account a JOIN api_key k ON k.id = p_api_key
   WHERE a.project_id = p_project
     AND NOT EXISTS (SELECT FROM order_key o WHERE o.project_id = p_project AND o.key = p_key);
  RETURN v_refusal;
END $$;

REVOKE EXECUTE ON FUNCTION order_refusal FROM PUBLIC;

-- The same for many orders, in order. Null also while another request of the same key is in progress; only take_order
-- waits for that. p_lock_ms: the longest wait for each lock.
CREATE OR REPLACE FUNCTION order_refusals(
  p_projects uuid[], p_api_keys uuid[], p_keys text[], p_credits bigint[], p_refusals text[], p_lock_ms integer
) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('lock_timeout', p_lock_ms || 'ms', true);
  FOR i IN 1 .. cardinality(p_keys) LOOP
    RETURN NEXT CASE WHEN pg_try_advisory_xact_lock(1, hashtext(p_projects[i] || p_keys[i]))
      THEN order_refusal(p_projects[i], p_api_keys[i], p_keys[i], p_credits[i], p_refusals[i]) END;
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION order_refusals FROM PUBLIC;

-- Guards orders: legal moves only, a settled order keeps its status, and a refund needs every leg ended. The end of a
-- settled rental moves only by its next extension, under a new fence and while no reclaim is recorded. An order of a
-- test project is always a test order, and is never due for fulfilment.
-- Triggers, not CHECK constraints: Postgres parses a constraint's stored text for every statement. Without 27 of them an
-- order took a third less time (one client, no flush: 2,270 instead of 1,530 per second).
-- Keep the moves equal to domain/order-state.ts; a test compares them.
-- A condition with a query of a table stands in an IF of its own: within a longer condition the query runs, and locks the
-- table, even where the rest of the condition is false.
CREATE OR REPLACE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
    AND (NEW.bandwidth IS NULL AND NEW.activation_credits IS NULL OR NEW.kind = 'rental'
      AND num_nonnulls(NEW.bandwidth, NEW.bandwidth_price_sun, NEW.bandwidth_credits) IN (0, 3)
      AND num_nonnulls(NEW.activation_price_sun, NEW.activation_credits) IN (0, 2)
      AND least(NEW.bandwidth, NEW.bandwidth_price_sun, NEW.bandwidth_credits, NEW.activation_price_sun, NEW.activation_credits) > 0
      AND coalesce(NEW.bandwidth_price_sun, 0) + coalesce(NEW.activation_price_sun, 0) < NEW.price_sun
      AND coalesce(NEW.bandwidth_credits, 0) + coalesce(NEW.activation_credits, 0) < NEW.credits)
    AND (NEW.status <> 'delivered' OR NEW.bandwidth IS NULL OR coalesce(NEW.delivered_bandwidth >= NEW.bandwidth, false))
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
      WHEN NOT (NEW.bandwidth IS NULL AND NEW.activation_credits IS NULL OR NEW.kind = 'rental'
      AND num_nonnulls(NEW.bandwidth, NEW.bandwidth_price_sun, NEW.bandwidth_credits) IN (0, 3)
      AND num_nonnulls(NEW.activation_price_sun, NEW.activation_credits) IN (0, 2)
      AND least(NEW.bandwidth, NEW.bandwidth_price_sun, NEW.bandwidth_credits, NEW.activation_price_sun, NEW.activation_credits) > 0
      AND coalesce(NEW.bandwidth_price_sun, 0) + coalesce(NEW.activation_price_sun, 0) < NEW.price_sun
      AND coalesce(NEW.bandwidth_credits, 0) + coalesce(NEW.activation_credits, 0) < NEW.credits) THEN 'parts beside energy have a price and a charge within those of a rental'
      WHEN NOT (NEW.status <> 'delivered' OR NEW.bandwidth IS NULL OR coalesce(NEW.delivered_bandwidth >= NEW.bandwidth, false)) THEN 'delivered has the bandwidth sold'
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
    IF NEW.status = 'refunded' THEN
      IF EXISTS (SELECT FROM open_leg WHERE order_id = NEW.id AND status NOT IN ('released', 'reclaimed')) THEN
        RAISE EXCEPTION 'order %: refunded while a leg may still be delivered', OLD.id USING ERRCODE = 'check_violation';
      END IF;
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.status IS DISTINCT FROM NEW.status OR OLD.kept_credits IS DISTINCT FROM NEW.kept_credits)
     AND (NEW.kept_credits IS NOT NULL OR NEW.status = 'refunded' AND NEW.activation_credits IS NOT NULL) THEN
    IF NEW.kept_credits IS DISTINCT FROM (CASE WHEN NEW.status = 'refunded' AND NEW.activation_credits IS NOT NULL AND EXISTS (
       SELECT FROM open_chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'activate' AND t.status = 'solid')
       THEN NEW.activation_credits END) THEN
      RAISE EXCEPTION 'order %: a refund keeps the share of an activation that the chain has, and nothing else', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.extensions <> NEW.extensions OR (OLD.settled AND OLD.ends_at IS DISTINCT FROM NEW.ends_at)) THEN
    IF NOT (OLD.settled AND NEW.settled AND NEW.status = 'delivered' AND NEW.kind = 'rental' AND NOT NEW.undoing
        AND NEW.reclaimed_at IS NULL AND NEW.extensions = OLD.extensions + 1 AND NEW.fence > OLD.fence)
       OR NOT EXISTS (SELECT FROM order_extension x WHERE x.order_id = NEW.id AND x.number = NEW.extensions
            AND x.ends_at = NEW.ends_at AND x.ends_at = OLD.ends_at + x.duration_sec * interval '1 second')
       OR EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'reclaim') THEN
      RAISE EXCEPTION 'order %: its end moves by an extension of a running rental alone', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$;

REVOKE EXECUTE ON FUNCTION orders_guard FROM PUBLIC;

-- Keeps `judged` only in an update that sets it and changes nothing else; any other change clears it. Compared by
-- stored values, since json has no equality.
CREATE OR REPLACE FUNCTION orders_judged() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       NEW.judged := false;
     ELSE
       OLD.judged := true;
       NEW.judged := OLD *= NEW;
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION orders_judged FROM PUBLIC;

-- Sets a wallet's status from its faults with every change of the row. The operator's own pause stays.
CREATE OR REPLACE FUNCTION pool_wallet_status() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE v_fault text;
   BEGIN
     -- The wallet's permission on chain is back, so failed deliveries may be retried.
     IF TG_OP = 'UPDATE' AND OLD.wallet_fault IS NOT NULL AND NEW.wallet_fault IS NULL AND NEW.sign_failures < 3 THEN
       NEW.deaths := 0;
       NEW.delivery_fault := NULL;
       NEW.delivery_held_until := NULL;
     END IF;
     IF NEW.status = 'paused' AND (NEW.pause_reason IS NULL OR NEW.pause_reason NOT LIKE 'auto:%') THEN
       RETURN NEW;
     END IF;
     v_fault := coalesce((SELECT 'everything is stopped: ' || reason FROM sales_stop), NEW.books_fault, NEW.wallet_fault,
                         NEW.delivery_fault);
     NEW.status := CASE WHEN v_fault IS NULL THEN 'active' ELSE 'paused' END;
     NEW.pause_reason := 'auto: ' || v_fault;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION pool_wallet_status FROM PUBLIC;

-- The acts on a project and the operators that viewed it, newest first. For the project of the setting
-- energy.project, since a merchants’ console may not read the table.
CREATE OR REPLACE FUNCTION project_acts(p_before bigint, p_limit integer)
  RETURNS TABLE (id bigint, at timestamptz, actor text, action text, reason text, detail jsonb)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.id, l.at, l.actor, l.action, l.reason, l.detail FROM audit_log l
   WHERE l.subject = nullif(current_setting('energy.project', true), '') AND l.id < p_before
   ORDER BY l.id DESC LIMIT least(p_limit, 101)
$$;

REVOKE EXECUTE ON FUNCTION project_acts FROM PUBLIC;

-- Which of these deposits of the project were returned, and whether the return was paid. With the owner’s rights:
-- outflows of addresses belong to the service.
CREATE OR REPLACE FUNCTION project_deposit_returns(p_deposits bigint[]) RETURNS TABLE (deposit_id bigint, is_paid boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT r.deposit_id, EXISTS (SELECT FROM deposit_movement m WHERE m.txid = r.txid AND m.address = d.address
    AND m.asset = d.asset AND m.amount < 0 AND m.kind <> 'fee' AND m.counterparty = r.to_address)
    FROM deposit_return r JOIN deposit d ON d.id = r.deposit_id
   WHERE r.deposit_id = ANY (p_deposits) AND d.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$;

REVOKE EXECUTE ON FUNCTION project_deposit_returns FROM PUBLIC;

-- Writes the event of a project that was frozen or unfrozen.
CREATE OR REPLACE FUNCTION project_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     SELECT p.id, CASE WHEN NEW.frozen THEN 'project.frozen' ELSE 'project.unfrozen' END,
            json_build_object('project', json_build_object('id', p.id, 'name', p.name, 'frozen', NEW.frozen))
       FROM project p WHERE p.id = NEW.project_id;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION project_frozen FROM PUBLIC;

-- The compensations of one order, with the reason that its project sees.
CREATE OR REPLACE FUNCTION project_order_compensations(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = o.id)
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$;

REVOKE EXECUTE ON FUNCTION project_order_compensations FROM PUBLIC;

-- The delegations of one order as its project sees them. With the owner’s rights, since the pool’s rows name the
-- stake.
CREATE OR REPLACE FUNCTION project_order_legs(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'kind', l.kind, 'bandwidth', l.bandwidth,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < o.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.order_id = l.order_id AND r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = o.id)
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$;

REVOKE EXECUTE ON FUNCTION project_order_legs FROM PUBLIC;

-- Makes a project's primary key with the project, and keeps its secret equal to the project's.
CREATE OR REPLACE FUNCTION project_primary_key() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       INSERT INTO api_key (id, project_id, name, scopes, sealed)
       VALUES (NEW.id, NEW.id, 'primary', '{read,quote,order,manage}', NEW.api_key_sealed);
     ELSE
       UPDATE api_key SET sealed = NEW.api_key_sealed WHERE id = NEW.id;
     END IF;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION project_primary_key FROM PUBLIC;

-- Deletes up to p_limit test orders without activity for p_days, with all their rows. Returns how many. Their logs
-- end behind their newest event. The sum of the deleted entries stays as one entry, so that a balance remains the sum
-- of its entries.
-- With the owner's rights: no role may delete orders.
CREATE OR REPLACE FUNCTION prune_test_orders(p_days integer, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  -- As a value it bounds the reads of the indexes.
  v_before timestamptz := clock_timestamp() - p_days * interval '1 day';
  v_orders bigint[];
BEGIN
  -- The search may take long, so it runs before the lock that delays the numbering of events.
  SELECT array_agg(old.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.test AND o.play_at IS NULL AND o.created_at < v_before
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
             e.at >= v_before OR (e.type IS NOT NULL AND e.position IS NULL)))
     ORDER BY o.created_at LIMIT p_limit) old;
  IF v_orders IS NULL THEN
    RETURN 0;
  END IF;
  -- The lock for numbering events and ending logs. It is not waited for.
  IF NOT pg_try_advisory_xact_lock(4202001) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(held.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o WHERE o.id = ANY (v_orders) ORDER BY o.created_at FOR UPDATE SKIP LOCKED) held;
  -- Only a statement that begins under the locks sees what was committed before them.
  SELECT array_agg(o.id) INTO v_orders FROM open_orders o
   WHERE o.id = ANY (v_orders) AND o.test AND o.play_at IS NULL AND o.created_at < v_before
     AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND (
           e.at >= v_before OR (e.type IS NOT NULL AND e.position IS NULL)));
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
        FROM (SELECT DISTINCT project_id FROM open_orders WHERE id = ANY (v_orders)) p) k
     WHERE e.entry_key = k.entry_key RETURNING e.project_id, e.credits)
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason)
  SELECT 'adjustment:test-carried:' || project_id, project_id, 'test', 'adjustment', sum(credits)::bigint, 'retention',
         'Sum of the entries of deleted test orders.'
    FROM gone GROUP BY project_id HAVING sum(credits) <> 0;

  DELETE FROM order_key k USING order_extension x
   WHERE x.order_id = ANY (v_orders) AND k.project_id = x.project_id AND k.key = x.key;
  DELETE FROM order_key k USING open_orders o WHERE o.id = ANY (v_orders) AND k.project_id = o.project_id AND k.key = o.key;
  DELETE FROM order_extension WHERE order_id = ANY (v_orders);
  DELETE FROM order_replay WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  RETURN cardinality(v_orders);
END $$;

REVOKE EXECUTE ON FUNCTION prune_test_orders FROM PUBLIC;

-- Refuses every change of a table whose rows are only added, or kept.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$;

REVOKE EXECUTE ON FUNCTION refuse_change FROM PUBLIC;

-- Refuses rows of test projects in a table that they may not use.
CREATE OR REPLACE FUNCTION refuse_test_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM project p WHERE p.id = NEW.project_id AND p.test) THEN
       RAISE EXCEPTION '%: a test project has none', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION refuse_test_project FROM PUBLIC;

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

-- Counts a project's spending of the present day again from its charges, after the database's clock jumped: a count that
-- a wrong clock began must not give the daily caps twice. Never lowers the count of the day. Refunded charges count as
-- nothing. With the owner's rights: no role may change the spending of keys.
-- Counts before the locks, because a day may have a million charges and its purchases would wait; under them it counts
-- only newer charges. A project's charges are written under the lock of its balance, so their ids rise. A refund in
-- between still counts.
-- Lock order of take_order: auto-delegations, keys, and the balance row last. Under the locks of the keys no charge of
-- the project is in progress. An auto-delegation whose first charge of the day comes meanwhile has the right count.
CREATE OR REPLACE FUNCTION recount_spending(p_project uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_to bigint := coalesce((SELECT max(c.id) FROM credit_entry c WHERE c.project_id = p_project AND c.kind = 'charge'), 0);
  v_counted json;
BEGIN
  SELECT json_agg(c) INTO v_counted FROM (
    SELECT key_id, auto_id, sum(credits)::bigint AS credits FROM charges_of_day(p_project, v_today, 0, v_to)
     GROUP BY key_id, auto_id) c;
  PERFORM FROM auto_delegation a
    WHERE a.id IN (SELECT (c ->> 'auto_id')::bigint FROM json_array_elements(v_counted) c) AND a.project_id = p_project
    ORDER BY a.id FOR NO KEY UPDATE;
  PERFORM FROM api_key k WHERE k.project_id = p_project AND k.revoked_at IS NULL ORDER BY k.id FOR NO KEY UPDATE;
  SELECT json_agg(c) INTO v_counted FROM (
    SELECT (c ->> 'key_id')::uuid AS key_id, (c ->> 'auto_id')::bigint AS auto_id, (c ->> 'credits')::bigint AS credits,
        true AS held FROM json_array_elements(v_counted) c
    UNION ALL SELECT key_id, auto_id, credits, false FROM charges_of_day(p_project, v_today, v_to, 9223372036854775807)) c;
  UPDATE auto_delegation a SET spent_on = v_today,
      spent_credits = CASE WHEN a.spent_on = v_today THEN greatest(a.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT auto_id, sum(credits)::bigint AS credits
            FROM json_to_recordset(v_counted) AS c(auto_id bigint, credits bigint, held boolean)
           GROUP BY auto_id HAVING bool_or(held)) c
   WHERE a.id = c.auto_id AND a.project_id = p_project AND a.spent_on <= v_today;
  UPDATE api_key k SET spent_on = v_today,
      spent_credits = CASE WHEN k.spent_on = v_today THEN greatest(k.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT key_id, sum(credits)::bigint AS credits
            FROM json_to_recordset(v_counted) AS c(key_id uuid, credits bigint) GROUP BY key_id) c
   WHERE k.id = c.key_id AND k.project_id = p_project AND k.spent_on <= v_today;
  UPDATE credit_account a SET spent_on = v_today,
      spent_credits = CASE WHEN a.spent_on = v_today THEN greatest(a.spent_credits, c.credits) ELSE c.credits END
    FROM (SELECT sum(credits)::bigint AS credits FROM json_to_recordset(v_counted) AS c(credits bigint)) c
   WHERE a.project_id = p_project AND a.spent_on <= v_today AND c.credits IS NOT NULL;
END $$;

REVOKE EXECUTE ON FUNCTION recount_spending FROM PUBLIC;

-- Subtracts a refunded charge from the amounts spent on the day of the charge: first of the order's auto-delegation, then
-- of the key that paid. Called after the ledger entry of the refund and before the balance moves, by the lock order.
-- With the owner's rights: roles that write entries may not change the spent amounts of keys.
CREATE OR REPLACE FUNCTION return_to_caps(p_order bigint, p_project uuid, p_credits bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_key text;
  v_paid_by uuid;
  v_charged_on date;
BEGIN
  SELECT coalesce(c.api_key_id, c.project_id), (c.created_at AT TIME ZONE 'UTC')::date INTO v_paid_by, v_charged_on
    FROM credit_entry c WHERE c.entry_key = 'charge:' || p_order AND c.project_id = p_project;
  SELECT o.key INTO v_key FROM open_orders o WHERE o.id = p_order;
  IF v_key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
    UPDATE auto_delegation a SET spent_credits = greatest(a.spent_credits - p_credits, 0)
     WHERE a.id = split_part(v_key, '_', 2)::bigint AND a.project_id = p_project AND a.spent_on = v_charged_on;
  END IF;
  UPDATE api_key k SET spent_credits = greatest(k.spent_credits - p_credits, 0)
   WHERE k.id = v_paid_by AND k.spent_on = v_charged_on;
END $$;

REVOKE EXECUTE ON FUNCTION return_to_caps FROM PUBLIC;

-- Applies stopping and resuming sales to every wallet in the same transaction.
CREATE OR REPLACE FUNCTION sales_stop_reaches_wallets() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     UPDATE pool_wallet SET status = status;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION sales_stop_reaches_wallets FROM PUBLIC;

-- The server and data of this session, as a text that changes when commits may have been lost: the timeline after a
-- failover or point-in-time recovery, the system after a restore into another cluster, and the ids of the database
-- and a table after a dump was restored. Any role may read it; parts that a hosting provider hides are omitted. A disk
-- copy without recovery keeps the mark; the age of the last search reveals it.
CREATE OR REPLACE FUNCTION server_mark() RETURNS text LANGUAGE plpgsql STABLE AS $$
   DECLARE
     v_timeline text := '';
     v_system text := '';
   BEGIN
     BEGIN
       v_timeline := substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
     EXCEPTION WHEN OTHERS THEN NULL;
     END;
     BEGIN
       v_system := (SELECT system_identifier::text FROM pg_control_system());
     EXCEPTION WHEN OTHERS THEN NULL;
     END;
     RETURN concat_ws('/', v_system, v_timeline, (SELECT oid FROM pg_database WHERE datname = current_database()),
       'reconcile_state'::regclass::oid);
   END $$;

REVOKE EXECUTE ON FUNCTION server_mark FROM PUBLIC;

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

-- Sets the time and the roles of an entry, and ignores the caller's values.
CREATE OR REPLACE FUNCTION stamp_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.at := clock_timestamp();
     NEW.login_role := session_user;
     NEW.acting_role := current_user;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION stamp_audit_entry FROM PUBLIC;

-- Writes the event of a closed statement.
CREATE OR REPLACE FUNCTION statement_closed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id, 'statement.ready', json_build_object('statement', row_to_json(NEW)));
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION statement_closed FROM PUBLIC;

-- Guards statements: a project's numbers rise by one, and each opens with the closing balance of the one before.
CREATE OR REPLACE FUNCTION statement_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_number integer := 0;
     v_closing bigint := 0;
     v_ends_at timestamptz := '-infinity';
     v_entries_to bigint := 0;
   BEGIN
     SELECT number, closing_credits, ends_at, entries_to INTO v_number, v_closing, v_ends_at, v_entries_to FROM statement
      WHERE project_id = NEW.project_id ORDER BY number DESC LIMIT 1;
     IF NEW.number <> coalesce(v_number, 0) + 1 OR NEW.opening_credits <> coalesce(v_closing, 0)
       OR NEW.ends_at <= coalesce(v_ends_at, '-infinity') OR NEW.entries_to < coalesce(v_entries_to, 0) THEN
       RAISE EXCEPTION 'statement % of %: does not follow the one before', NEW.number, NEW.project_id USING ERRCODE = 'check_violation';
     END IF;
     IF NOT EXISTS (SELECT FROM statement_month m WHERE m.month = NEW.month AND m.ends_at = NEW.ends_at
                      AND m.entries_to = NEW.entries_to AND m.closed_at IS NULL) THEN
       RAISE EXCEPTION 'statement % of %: its month is not being closed', NEW.number, NEW.project_id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION statement_guard FROM PUBLIC;

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

-- Writes the events of an endpoint. Changes within seconds are one event, marked by `change_reported_at`. The URL is
-- shown without its path and query, which may hold a token.
CREATE OR REPLACE FUNCTION webhook_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_type text := 'webhook.created';
   BEGIN
     IF TG_OP = 'UPDATE' THEN
       v_type := CASE
         WHEN NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL THEN 'webhook.disabled'
         WHEN NEW.failing_told_at IS NOT NULL AND OLD.failing_told_at IS NULL THEN 'webhook.failing'
         WHEN NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN 'webhook.changed'
         WHEN NEW.change_reported_at IS DISTINCT FROM OLD.change_reported_at THEN 'webhook.changed' END;
     END IF;
     IF v_type IS NOT NULL THEN
       INSERT INTO event (project_id, type, snapshot)
       VALUES (NEW.project_id, v_type, json_build_object('webhook', json_build_object(
         'id', NEW.id, 'url', regexp_replace(NEW.url, '^([^/]+://[^/?#]+)[/?#].+$', '\1/…'), 'types', NEW.types, 'description', NEW.description,
         'enabled', NEW.disabled_at IS NULL, 'disabled_reason', NEW.disabled_reason, 'deleted', NEW.deleted_at IS NOT NULL)));
     END IF;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION webhook_changed FROM PUBLIC;

-- Makes the deliveries of one event that is inserted with its position.
CREATE OR REPLACE FUNCTION webhook_fan_out() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     WITH numbered AS (SELECT NEW.*) INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT e.id, 'event', n.id, n.payload::json ->> 'id', n.type, n.position
       FROM numbered n JOIN webhook_endpoint e ON e.project_id = n.project_id
      WHERE n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        AND (e.types IS NULL OR n.type = ANY (e.types)) ORDER BY n.position;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION webhook_fan_out FROM PUBLIC;

-- Makes the deliveries of a batch of numbered events: one for each endpoint that wants the event. Ordered by position,
-- so that the list of deliveries, newest first, is the log in reverse. A pruned row has no payload.
-- Endpoints that answer become due at once: a held one before its lease ends, since its release may not see these
-- deliveries. The numberer waits for no endpoint's row: the deliveries of a locked or failing endpoint are fresh, and
-- the sender makes it due.
CREATE OR REPLACE FUNCTION webhook_fan_out_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     WITH wanted AS MATERIALIZED (
       SELECT e.id AS endpoint_id, n.id, n.payload::json ->> 'id' AS key, n.type, n.position
         FROM numbered n JOIN webhook_endpoint e ON e.project_id = n.project_id
        WHERE n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL
          AND (e.types IS NULL OR n.type = ANY (e.types))),
     held AS (
       SELECT endpoint_id FROM webhook_state WHERE endpoint_id IN (SELECT endpoint_id FROM wanted) AND failures = 0
        ORDER BY endpoint_id FOR NO KEY UPDATE SKIP LOCKED),
     due AS (
       UPDATE webhook_state s
          SET due_at = least(s.due_at, s.lease_until - interval '1 microsecond', clock_timestamp())
         FROM held WHERE s.endpoint_id = held.endpoint_id RETURNING s.endpoint_id)
     INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position, is_fresh)
     SELECT endpoint_id, 'event', id, key, type, position, endpoint_id NOT IN (SELECT endpoint_id FROM due)
       FROM wanted ORDER BY position;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION webhook_fan_out_batch FROM PUBLIC;

-- Counts the pending deliveries of an endpoint, up to p_most. Any plan without the index reads all of them or the
-- whole table.
CREATE OR REPLACE FUNCTION webhook_pending(p_endpoint uuid, p_most integer) RETURNS integer
  LANGUAGE sql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  SELECT count(*)::int FROM
    (SELECT FROM webhook_delivery d WHERE d.endpoint_id = p_endpoint AND d.status = 'pending' LIMIT p_most) d
$$;

REVOKE EXECUTE ON FUNCTION webhook_pending FROM PUBLIC;

-- Drops requested repetitions when a project is frozen; its events are still delivered. A request holds the
-- endpoint's row, so its repetitions are seen here, or it sees the frozen project.
CREATE OR REPLACE FUNCTION webhook_project_frozen() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     PERFORM FROM webhook_endpoint WHERE project_id = NEW.project_id AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE;
     UPDATE webhook_delivery d SET status = 'dropped', fault = 'PROJECT_FROZEN', next_at = NULL, is_fresh = false,
            ended_at = clock_timestamp()
       FROM webhook_endpoint e
      WHERE e.project_id = NEW.project_id AND e.deleted_at IS NULL AND d.endpoint_id = e.id AND d.status = 'pending'
        AND d.cause <> 'event';
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION webhook_project_frozen FROM PUBLIC;

-- Merchants’ projects.
CREATE TABLE project (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  api_key_sealed bytea NOT NULL,
  require_idempotency_key boolean NOT NULL DEFAULT false,
  require_quote boolean NOT NULL DEFAULT false,
  allowed_sources text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Which signatures the project accepts.
  signature_schemes text NOT NULL DEFAULT 'either' CHECK (signature_schemes IN ('md5', 'hmac', 'either')),
  -- A test project takes nothing of the pool. Fixed when it is made.
  test boolean NOT NULL DEFAULT false
);

CREATE TRIGGER project_announced AFTER INSERT OR UPDATE ON project FOR EACH ROW
  EXECUTE FUNCTION announce_project('id');
CREATE TRIGGER project_kept BEFORE DELETE ON project FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_primary_key AFTER INSERT OR UPDATE OF api_key_sealed ON project FOR EACH ROW
  EXECUTE FUNCTION project_primary_key();
CREATE TRIGGER project_test_fixed BEFORE UPDATE ON project FOR EACH ROW
  WHEN (old.test <> new.test)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_no_truncate BEFORE TRUNCATE ON project FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Up to ten API keys of a project, each with its scopes. The primary key has the id of its project, under which its
-- secret is sealed.
-- Half of each page stays free: the spent amount changes with every charge, and each change is a new row version.
CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ '{read,quote,order,manage}'::text[]),
  allowed_sources text[] NOT NULL DEFAULT '{}',
  sealed bytea NOT NULL,
  previous_sealed bytea,
  previous_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- The daily cap and the amount spent on `spent_on`, which a charge updates together.
  daily_cap_credits bigint CHECK (daily_cap_credits >= 0),
  spent_on date NOT NULL DEFAULT '1970-01-01',
  spent_credits bigint NOT NULL DEFAULT 0,
  -- Addresses that used the key recently, so that a new list of allowed addresses can name the callers it would lock
  -- out.
  recent_sources jsonb NOT NULL DEFAULT '{}',
  CONSTRAINT api_key_check CHECK ((previous_sealed IS NULL) = (previous_until IS NULL)),
  CONSTRAINT api_key_check1 CHECK (id <> project_id OR scopes @> '{read,quote,order,manage}'::text[])
) WITH (fillfactor = 50);

-- Keys are always read by project.
CREATE INDEX api_key_project ON api_key (project_id);
-- Verifying a signature reads the unrevoked keys only. Revoked keys are kept for ever, so this read must not grow
-- with them.
CREATE INDEX api_key_unrevoked ON api_key (project_id) WHERE revoked_at IS NULL;

CREATE TRIGGER api_key_announced AFTER INSERT
  OR UPDATE OF name, scopes, allowed_sources, sealed, previous_sealed, previous_until, revoked_at ON api_key
  FOR EACH ROW
  EXECUTE FUNCTION announce_project('project_id');
CREATE TRIGGER api_key_keeps_previous BEFORE UPDATE ON api_key FOR EACH ROW
  WHEN (old.previous_until IS DISTINCT FROM new.previous_until)
  EXECUTE FUNCTION keep_previous_key();
CREATE TRIGGER api_key_kept BEFORE DELETE ON api_key FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER api_key_no_truncate BEFORE TRUNCATE ON api_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The rate of each minute at which deposits are credited.
CREATE TABLE asset_rate (
  asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
  minute timestamptz NOT NULL,
  rate_e8 bigint NOT NULL CHECK (rate_e8 > 0),
  -- When the rate was stored: `verify` compares a deposit with the rates that existed when it was credited.
  kept_at timestamptz DEFAULT clock_timestamp(),
  PRIMARY KEY (asset, minute)
);

-- Acts of operators. Rows are only added.
CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  reason text,
  detail jsonb,
  -- The acting person, by facts that the caller cannot choose: the database role and the operating-system user of its
  -- process.
  login_role text,
  acting_role text,
  os_user text
);

-- The acts on one project, newest first.
CREATE INDEX audit_log_subject ON audit_log (subject, id DESC);

CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON audit_log FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- A trigger, not column defaults: a statement can override a default.
CREATE TRIGGER audit_log_stamped BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION stamp_audit_entry();

-- Addresses that are kept supplied with energy.
CREATE TABLE auto_delegation (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL,
  address text NOT NULL,
  api_key_id uuid NOT NULL,
  keep_energy bigint NOT NULL CHECK (keep_energy > 0),
  refill_below bigint NOT NULL,
  duration_sec integer NOT NULL CHECK (duration_sec > 0),
  max_sun_per_energy bigint CHECK (max_sun_per_energy > 0),
  daily_cap_credits bigint NOT NULL CHECK (daily_cap_credits >= 0),
  idle_after_sec integer NOT NULL CHECK (idle_after_sec > 0),
  until timestamptz,
  asleep boolean NOT NULL DEFAULT false,
  pause_reason text,
  paused_at timestamptz,
  failures smallint NOT NULL DEFAULT 0,
  purchases bigint NOT NULL DEFAULT 0,
  open_order_id bigint,
  spent_credits bigint NOT NULL DEFAULT 0 CHECK (spent_credits >= 0),
  spent_on date NOT NULL DEFAULT '1970-01-01',
  used_block bigint,
  used_block_id bytea,
  used_at timestamptz,
  usable_energy bigint,
  checked_at timestamptz,
  due_at timestamptz,
  change_at timestamptz,
  check_at timestamptz,
  fence bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The fence of a running check. Raising the fence ends that check.
  lease_fence bigint,
  due_again boolean NOT NULL DEFAULT false,
  -- True if the service chooses the duration of each purchase; duration_sec is then the one it starts with.
  auto_duration boolean NOT NULL DEFAULT false,
  -- The blocks with a use in each UTC day of the chain's clock: in the day uses_on and the days before it, newest first.
  uses_on date,
  daily_uses integer[],
  -- The transfer that sizes refills, and the energy that it last needed. keep_energy and refill_below are then the least.
  transfer json,
  transfer_energy bigint CHECK (transfer_energy >= 0),
  -- One for each address of a project.
  CONSTRAINT auto_delegation_address UNIQUE (project_id, address),
  CONSTRAINT auto_delegation_check CHECK (refill_below > 0 AND refill_below <= keep_energy),
  CONSTRAINT auto_delegation_check1 CHECK ((paused_at IS NULL) = (pause_reason IS NULL))
) WITH (fillfactor = 80);

-- Which auto-delegations the addresses in a block belong to.
CREATE INDEX auto_delegation_used ON auto_delegation (address);
-- A page of a project, newest first.
CREATE INDEX auto_delegation_project ON auto_delegation (project_id, id DESC);
-- Three queues: what is due now, what changes with a rental, and what the slow round checks.
CREATE INDEX auto_delegation_due ON auto_delegation (due_at) WHERE due_at IS NOT NULL;
-- Each project's next row in the queue and in the slow round, so that projects take turns.
CREATE INDEX auto_delegation_due_in_turn ON auto_delegation (project_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX auto_delegation_change ON auto_delegation (change_at) WHERE change_at IS NOT NULL;
CREATE INDEX auto_delegation_check ON auto_delegation (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX auto_delegation_check_in_turn ON auto_delegation (project_id, check_at) WHERE check_at IS NOT NULL;

CREATE TRIGGER auto_delegation_changed AFTER UPDATE ON auto_delegation FOR EACH ROW
  WHEN (old.pause_reason IS DISTINCT FROM new.pause_reason)
  EXECUTE FUNCTION auto_delegation_changed();
CREATE TRIGGER auto_delegation_live BEFORE INSERT ON auto_delegation FOR EACH ROW
  EXECUTE FUNCTION refuse_test_project();
CREATE TRIGGER auto_delegation_no_truncate BEFORE TRUNCATE ON auto_delegation FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Our own addresses from which the token's contract lets nothing be sent.
CREATE TABLE blacklisted_address (
  address text PRIMARY KEY,
  use text NOT NULL CHECK (use IN ('deposit', 'sweep', 'receiver')),
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Every answer of a node to a broadcast transaction.
CREATE TABLE broadcast (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain_tx_id bigint NOT NULL,
  node text NOT NULL,
  -- The answer of the node. It proves nothing either way.
  answer text NOT NULL,
  message text,
  sent_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX broadcast_tx ON broadcast (chain_tx_id);

CREATE TRIGGER broadcast_no_truncate BEFORE TRUNCATE ON broadcast FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE chain_tx (
  id bigint GENERATED ALWAYS AS IDENTITY,
  order_id bigint NOT NULL,
  leg_id bigint NOT NULL,
  purpose text NOT NULL,
  attempt integer NOT NULL,
  wallet_id integer NOT NULL,
  status text NOT NULL,
  -- Two orders never share an id: the chain would deliver once for both.
  txid bytea NOT NULL,
  raw_data bytea NOT NULL,
  signature bytea,
  ref_block_number bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  block_number bigint,
  block_id bytea,
  block_at timestamptz,
  sends integer NOT NULL DEFAULT 0,
  sent_at timestamptz,
  evidence jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The burnt amount, from the receipt of its solid block.
  fee_sun bigint,
  archived boolean NOT NULL DEFAULT false,
  -- The part of the status that partial indexes use: most changes of the status change no index.
  stage text NOT NULL GENERATED ALWAYS AS (
    CASE WHEN status IN ('dead', 'dropped') THEN 'dead' WHEN status <> 'solid' THEN 'open'
      WHEN fee_sun IS NULL THEN 'uncosted' ELSE 'final' END) STORED
) PARTITION BY LIST (archived);

CREATE TABLE open_chain_tx PARTITION OF chain_tx (
  CONSTRAINT chain_tx_leg_id_purpose_attempt_key UNIQUE (leg_id, purpose, attempt),
  CONSTRAINT chain_tx_txid_key UNIQUE (txid),
  CONSTRAINT open_chain_tx_open CHECK (NOT archived)
) FOR VALUES IN (false) WITH (fillfactor = 70);
ALTER TABLE open_chain_tx ADD CONSTRAINT chain_tx_pkey PRIMARY KEY (id);

-- Never two transactions that could both succeed for one leg and purpose.
CREATE UNIQUE INDEX chain_tx_live ON open_chain_tx (leg_id, purpose) WHERE stage <> 'dead';
-- All of an order's transactions.
CREATE INDEX chain_tx_order ON open_chain_tx (order_id);
-- Transactions on their way: those that wait for a block or for its solidity. They are those of a minute.
CREATE INDEX chain_tx_open ON open_chain_tx (ref_block_number) WHERE stage = 'open';
-- The newest dead transactions, which every pass queries again. They are few.
CREATE INDEX chain_tx_dead ON open_chain_tx (id) WHERE stage = 'dead';
-- Transactions whose receipt was not read with its block: looked up one by one, so nearly empty.
CREATE INDEX chain_tx_without_cost ON open_chain_tx (id) WHERE stage = 'uncosted';
-- Reports read by time. The table grows with time, so a summary of each range of pages is enough; a row index would
-- cost each order two more writes.
CREATE INDEX chain_tx_block_at ON open_chain_tx USING brin (block_at)
  WITH (pages_per_range = 32, autosummarize = on);

CREATE TABLE archived_chain_tx PARTITION OF chain_tx FOR VALUES IN (true) PARTITION BY RANGE (order_id);

CREATE INDEX archived_chain_tx_live ON archived_chain_tx (leg_id, purpose) WHERE stage <> 'dead';
CREATE INDEX archived_chain_tx_order ON archived_chain_tx (order_id);
CREATE INDEX archived_chain_tx_open ON archived_chain_tx (ref_block_number) WHERE stage = 'open';
CREATE INDEX archived_chain_tx_dead ON archived_chain_tx (id) WHERE stage = 'dead';
CREATE INDEX archived_chain_tx_without_cost ON archived_chain_tx (id) WHERE stage = 'uncosted';
CREATE INDEX archived_chain_tx_block_at ON archived_chain_tx USING brin (block_at)
  WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX archived_chain_tx_leg_id_purpose_attempt_key ON archived_chain_tx (leg_id, purpose, attempt);
CREATE INDEX archived_chain_tx_pkey ON archived_chain_tx (id);
CREATE INDEX archived_chain_tx_txid_key ON archived_chain_tx (txid);

CREATE TRIGGER chain_tx_final BEFORE UPDATE ON chain_tx FOR EACH ROW
  WHEN (old.status = ANY (ARRAY['solid'::text, 'dead'::text, 'dropped'::text]))
  EXECUTE FUNCTION chain_tx_final();
CREATE TRIGGER chain_tx_guard BEFORE INSERT OR UPDATE ON chain_tx FOR EACH ROW EXECUTE FUNCTION chain_tx_guard();
CREATE TRIGGER chain_tx_kept BEFORE DELETE ON chain_tx FOR EACH ROW EXECUTE FUNCTION kept_unless_archived('chain_tx');
CREATE TRIGGER chain_tx_no_truncate BEFORE TRUNCATE ON chain_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER open_chain_tx_no_truncate BEFORE TRUNCATE ON open_chain_tx FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

CREATE TRIGGER archived_chain_tx_final BEFORE INSERT OR DELETE OR UPDATE ON archived_chain_tx FOR EACH ROW
  EXECUTE FUNCTION archived_row('chain_tx');
CREATE TRIGGER archived_chain_tx_no_truncate BEFORE TRUNCATE ON archived_chain_tx FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- No guard of the open rows runs on the archive; see archived_row().
ALTER TABLE archived_chain_tx DISABLE TRIGGER chain_tx_final;
ALTER TABLE archived_chain_tx DISABLE TRIGGER chain_tx_guard;
ALTER TABLE archived_chain_tx DISABLE TRIGGER chain_tx_kept;

-- The latest time that the database's clock has shown, so that any worker notices a clock that was set back.
CREATE TABLE clock_mark (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When workers last followed the clock, and when it last jumped. Nothing is deleted, disabled or closed by an
  -- unconfirmed clock.
  followed_at timestamptz,
  jumped_at timestamptz,
  -- The jump after which the spending of the day was counted again.
  counted_jump timestamptz
);

INSERT INTO clock_mark DEFAULT VALUES;

-- The people who sign in to a console. Each belongs to one audience: a login of one console can do nothing in the
-- other.
CREATE TABLE person (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
  email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
  password_hash text NOT NULL,
  password_changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  totp_sealed bytea,
  totp_since timestamptz,
  totp_step bigint NOT NULL DEFAULT 0,
  credentials integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Null: nobody has proven that this person reads the mailbox, so no mail is sent there.
  address_proven_at timestamptz,
  -- Rows of a person refer to this pair, so that they have the same audience.
  CONSTRAINT person_audience UNIQUE (id, audience),
  CONSTRAINT person_email UNIQUE (audience, email),
  CONSTRAINT person_check CHECK ((totp_since IS NULL) = (totp_sealed IS NULL))
);

ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE POLICY person_of_audience ON person
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');

-- Sessions of the consoles.
CREATE TABLE console_session (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  token_hash bytea NOT NULL UNIQUE,
  audience text NOT NULL,
  person_id uuid NOT NULL,
  stage text NOT NULL CHECK (stage IN ('second_factor', 'enrol', 'signed_in')),
  wrong_codes smallint NOT NULL DEFAULT 0,
  pending_totp_sealed bytea,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  authenticated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  source_address text NOT NULL,
  user_agent text NOT NULL,
  CONSTRAINT console_session_person_id_audience_fkey FOREIGN KEY (person_id, audience) REFERENCES person (id, audience)
);

-- Expired sessions are deleted by age.
CREATE INDEX console_session_seen ON console_session (seen_at);
CREATE INDEX console_session_person ON console_session (person_id, created_at);

ALTER TABLE console_session ENABLE ROW LEVEL SECURITY;
CREATE POLICY console_session_of_audience ON console_session
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');

CREATE TRIGGER console_session_ended AFTER DELETE ON console_session FOR EACH ROW
  EXECUTE FUNCTION console_session_ended();

-- The balance and the terms of a project in one row: the update that charges also checks the terms under the same row
-- lock. Every charge locks this row last.
CREATE TABLE credit_account (
  project_id uuid PRIMARY KEY REFERENCES project (id),
  balance_credits bigint NOT NULL DEFAULT 0,
  is_postpaid boolean NOT NULL DEFAULT false,
  -- The lowest balance that a charge may leave: 0 for prepaid, minus the debt limit for postpaid, null for postpaid
  -- without a limit.
  floor_credits bigint DEFAULT 0 CHECK (floor_credits <= 0),
  frozen boolean NOT NULL DEFAULT false,
  daily_cap_credits bigint CHECK (daily_cap_credits >= 0),
  spent_on date NOT NULL DEFAULT '1970-01-01',
  spent_credits bigint NOT NULL DEFAULT 0,
  low_balance_credits bigint,
  CONSTRAINT credit_account_check CHECK (is_postpaid OR floor_credits IS NOT DISTINCT FROM 0)
) WITH (fillfactor = 50);

-- Every API process drops its cached record of the project.
CREATE TRIGGER credit_account_announced AFTER UPDATE ON credit_account FOR EACH ROW
  WHEN (old.frozen IS DISTINCT FROM new.frozen
    OR old.is_postpaid IS DISTINCT FROM new.is_postpaid
    OR old.floor_credits IS DISTINCT FROM new.floor_credits
    OR old.daily_cap_credits IS DISTINCT FROM new.daily_cap_credits)
  EXECUTE FUNCTION announce_project('project_id');
CREATE TRIGGER credit_account_frozen AFTER UPDATE ON credit_account FOR EACH ROW
  WHEN (old.frozen IS DISTINCT FROM new.frozen)
  EXECUTE FUNCTION project_frozen();
CREATE TRIGGER credit_account_kept BEFORE DELETE ON credit_account FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- Without a threshold the comparison is with null, which is never true.
CREATE TRIGGER credit_account_low AFTER UPDATE ON credit_account FOR EACH ROW
  WHEN (old.balance_credits >= new.low_balance_credits AND new.balance_credits < new.low_balance_credits)
  EXECUTE FUNCTION balance_low();
CREATE TRIGGER credit_account_no_truncate BEFORE TRUNCATE ON credit_account FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_account_frozen_stops_repetitions AFTER UPDATE ON credit_account FOR EACH ROW
  WHEN (new.frozen AND NOT old.frozen)
  EXECUTE FUNCTION webhook_project_frozen();

-- The ledger. Rows are only added; entries of test orders alone may be deleted.
CREATE TABLE credit_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The unique reason of the entry: charge:<order>, refund:<order>, topup:<reference>, adjustment:<reference> and so
  -- on.
  entry_key text NOT NULL UNIQUE,
  project_id uuid NOT NULL,
  -- The other side of the entry. It gets the same amount with the opposite sign, so the ledger balances by design.
  contra text NOT NULL,
  kind text NOT NULL,
  credits bigint NOT NULL,
  order_id bigint,
  actor text,
  reason text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The key that pays.
  api_key_id uuid
);

-- The entries of one project in order: the sum that proves its balance.
CREATE INDEX credit_entry_project ON credit_entry (project_id, id);
-- Entries of a project between two times, newest first. Ids are not in the order of time, and a page deep in the past
-- must not cost more than the first page.
CREATE INDEX credit_entry_time ON credit_entry (project_id, created_at, id);
-- Reports read by time. The table grows with time, so a summary of each range of pages is enough; a row index would
-- cost each order two more writes.
CREATE INDEX credit_entry_created_at ON credit_entry USING brin (created_at)
  WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX credit_entry_compensation ON credit_entry (order_id) WHERE kind = 'compensation';

CREATE TRIGGER credit_entry_append_only BEFORE UPDATE ON credit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_entry_kept BEFORE DELETE ON credit_entry FOR EACH ROW
  WHEN (old.contra <> 'test'::text)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_entry_guard BEFORE INSERT OR UPDATE ON credit_entry FOR EACH ROW
  EXECUTE FUNCTION credit_entry_guard();
CREATE TRIGGER credit_entry_no_truncate BEFORE TRUNCATE ON credit_entry FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_entry_compensates AFTER INSERT ON credit_entry FOR EACH ROW
  WHEN (new.kind = 'compensation'::text)
  EXECUTE FUNCTION order_compensated();

-- Credits beyond the amount that one admin may book alone: one admin asks, another decides. Rows are kept for ever,
-- and a decided request never changes.
CREATE TABLE credit_request (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  kind text NOT NULL CHECK (kind IN ('topup', 'adjustment', 'deposit', 'refusal')),
  credits bigint NOT NULL,
  -- The reference of the entry that an approval makes: topup:<reference>, adjustment:<reference> or
  -- deposit:<reference>. A refusal names the deposit in the same way and makes none.
  reference text NOT NULL CHECK (length(reference) BETWEEN 1 AND 200),
  reason text NOT NULL,
  asked_by uuid NOT NULL REFERENCES person (id),
  asked_by_email text NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'rejected')),
  decided_by uuid REFERENCES person (id),
  decided_by_email text,
  decided_at timestamptz,
  decision_reason text,
  CONSTRAINT credit_request_amount CHECK (credits > 0 OR ((kind = 'adjustment') AND (credits < 0))),
  CONSTRAINT credit_request_decision CHECK ((status = 'pending') = (decided_by IS NULL) AND (decided_by IS NULL) = (decided_at IS NULL)
    AND (decided_by IS NULL) = (decided_by_email IS NULL)),
  CONSTRAINT credit_request_second_person CHECK (decided_by <> asked_by)
);

-- One payment is requested once, unless the request was rejected.
CREATE UNIQUE INDEX credit_request_reference ON credit_request (kind, reference) WHERE status <> 'rejected';
-- The inbox of pending requests, and the list of all, newest first.
CREATE INDEX credit_request_pending ON credit_request (asked_at) WHERE status = 'pending';
CREATE INDEX credit_request_asked ON credit_request (asked_at);

CREATE TRIGGER credit_request_final BEFORE UPDATE ON credit_request FOR EACH ROW
  WHEN (old.status <> 'pending'::text
    OR old.id <> new.id
    OR old.project_id <> new.project_id
    OR old.kind <> new.kind
    OR old.credits <> new.credits
    OR old.reference <> new.reference
    OR old.asked_by <> new.asked_by)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_request_kept BEFORE DELETE ON credit_request FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_request_no_truncate BEFORE TRUNCATE ON credit_request FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Extended public keys from which deposit addresses are derived.
CREATE TABLE deposit_account (
  account bigint PRIMARY KEY CHECK (account BETWEEN 0 AND 2147483647),
  first_address text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TRIGGER deposit_account_kept BEFORE DELETE OR UPDATE ON deposit_account FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_account_no_truncate BEFORE TRUNCATE ON deposit_account FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- The deposit address of a project.
CREATE TABLE deposit_address (
  address text PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  account bigint NOT NULL REFERENCES deposit_account (account),
  place bigint NOT NULL CHECK (place BETWEEN 0 AND 2147483647),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The server on which the address was assigned. A different server leaves a gap in the numbers, in case the old one
  -- had assigned more.
  server_mark text DEFAULT server_mark(),
  CONSTRAINT deposit_address_account_place_key UNIQUE (account, place),
  -- One address of each account for a project, and no address twice.
  CONSTRAINT deposit_address_project_id_account_key UNIQUE (project_id, account)
);

CREATE TRIGGER deposit_address_kept BEFORE DELETE OR UPDATE ON deposit_address FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_address_live BEFORE INSERT ON deposit_address FOR EACH ROW
  EXECUTE FUNCTION refuse_test_project();
CREATE TRIGGER deposit_address_no_truncate BEFORE TRUNCATE ON deposit_address FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- The token that deposits are paid in, and its successors.
CREATE TABLE deposit_token (
  contract text PRIMARY KEY,
  -- The token before it; null for the first.
  replaces text UNIQUE REFERENCES deposit_token (contract),
  -- Transfers of this token count from this block on, until those of its successor do.
  from_block bigint NOT NULL UNIQUE CHECK (from_block >= 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- There is one first token, whichever process records it.
CREATE UNIQUE INDEX deposit_token_first ON deposit_token ((replaces IS NULL)) WHERE replaces IS NULL;

CREATE TRIGGER deposit_token_kept BEFORE DELETE OR UPDATE OF contract, replaces, created_at ON deposit_token
  FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_token_no_truncate BEFORE TRUNCATE ON deposit_token FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Sums of small deposits, added up as they arrive and decided as one payment. No reference to the project: a locked
-- project must not block a sum.
CREATE TABLE deposit_sum (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL,
  asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
  wait_reason text NOT NULL CHECK (wait_reason IN ('below_minimum', 'one_node')),
  amount numeric NOT NULL DEFAULT 0 CHECK (amount >= 0),
  worth numeric NOT NULL DEFAULT 0 CHECK (worth >= 0),
  entry_key text,
  decision text CHECK (decision IN ('credited', 'held', 'ignored')),
  reason text,
  is_settled boolean NOT NULL DEFAULT false,
  CONSTRAINT deposit_sum_check CHECK ((entry_key IS NULL) = (decision IS NULL))
);

-- Each payment that is too small by itself looks up the open sum of its project.
CREATE UNIQUE INDEX deposit_sum_open ON deposit_sum (project_id, asset, wait_reason) WHERE entry_key IS NULL;
-- A decision on a held deposit, and `verify`, look up the sum by its key.
CREATE UNIQUE INDEX deposit_sum_entry ON deposit_sum (entry_key) WHERE entry_key IS NOT NULL;
-- Read in every pass; nearly empty.
CREATE INDEX deposit_sum_unsettled ON deposit_sum (id) WHERE NOT is_settled AND entry_key IS NOT NULL;
-- Open sums that reached the minimum. Read in every pass; nearly empty.
CREATE INDEX deposit_sum_waiting ON deposit_sum (asset, amount) WHERE entry_key IS NULL;

-- Transfers to deposit addresses. The unique key of transaction, kind and place records for ever that a transfer was
-- taken; one transaction can pay an address twice.
CREATE TABLE deposit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  txid bytea NOT NULL CHECK (length(txid) = 32),
  kind text NOT NULL,
  place integer NOT NULL,
  project_id uuid NOT NULL REFERENCES project (id),
  address text NOT NULL REFERENCES deposit_address (address),
  from_address text NOT NULL,
  asset text NOT NULL,
  -- A value in a log has 256 bits.
  amount numeric(78) NOT NULL,
  block_number bigint NOT NULL,
  block_id bytea NOT NULL CHECK (length(block_id) = 32),
  block_at timestamptz NOT NULL,
  status text NOT NULL,
  reason text,
  rate_e8 bigint CHECK (rate_e8 > 0),
  entry_key text,
  credits bigint CHECK (credits > 0),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The token that was paid; null for TRX.
  contract text REFERENCES deposit_token (contract),
  sum_id bigint REFERENCES deposit_sum (id),
  CONSTRAINT deposit_txid_kind_place_key UNIQUE (txid, kind, place)
);

-- Lists of a project, newest first.
CREATE INDEX deposit_project ON deposit (project_id, id);
-- Few of many rows wait: for a rate, for the operator, or for more payments to the same address.
CREATE INDEX deposit_waiting ON deposit (status, reason, project_id, asset) WHERE status IN ('pending', 'held');
-- With a single node the amount credited per day is limited.
CREATE INDEX deposit_credited_at ON deposit (changed_at) WHERE status = 'credited' AND credits IS NOT NULL;
-- A ledger entry covers one deposit or many small ones.
CREATE INDEX deposit_entry ON deposit (entry_key) WHERE entry_key IS NOT NULL;
-- The oldest small deposits that wait for an undoubted rate. Read in every turn and mostly empty.
CREATE INDEX deposit_unrated ON deposit (asset, block_at)
  WHERE status = 'pending' AND reason IN ('below_minimum', 'one_node') AND rate_e8 IS NULL;
-- Deposits held until their address may send again. Read in every round and mostly empty.
CREATE INDEX deposit_blacklisted ON deposit (address) WHERE status = 'held' AND reason = 'blacklisted';
-- The next deposits that get the decision on their sum, and the newest of an open sum.
CREATE INDEX deposit_in_sum ON deposit (sum_id, entry_key, id) WHERE status = 'pending' AND sum_id IS NOT NULL;
-- Deposits that are to join a sum. Read in every pass and nearly empty.
CREATE INDEX deposit_unsummed ON deposit (id)
  WHERE status = 'pending'
    AND reason IN ('below_minimum', 'one_node')
    AND entry_key IS NULL
    AND rate_e8 IS NOT NULL
    AND sum_id IS NULL;
CREATE INDEX deposit_address_of ON deposit (address, asset);

CREATE TRIGGER deposit_changed AFTER INSERT OR UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION deposit_changed();
CREATE TRIGGER deposit_guard BEFORE INSERT OR UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION deposit_guard();
CREATE TRIGGER deposit_kept BEFORE DELETE ON deposit FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_no_truncate BEFORE TRUNCATE ON deposit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The last solid block that each consumer has read: deposits, chain costs, and uses of auto-delegated addresses.
CREATE TABLE deposit_cursor (
  id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  block_number bigint NOT NULL,
  block_id bytea NOT NULL CHECK (length(block_id) = 32),
  block_at timestamptz NOT NULL,
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  read_at timestamptz,
  -- The last block whose receipts had an internal transaction. Without those, TRX sent by contracts is invisible.
  internal_at timestamptz
);

-- Every other movement at deposit addresses: outflows, burnt fees, and transfers between our own addresses. With
-- these the deposits of an address add up to its balance.
CREATE TABLE deposit_movement (
  txid bytea NOT NULL CHECK (length(txid) = 32),
  kind text NOT NULL CHECK (kind IN ('native', 'log', 'internal', 'fee', 'destroyed')),
  place integer NOT NULL CHECK (place >= 0),
  address text NOT NULL REFERENCES deposit_address (address),
  asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
  -- Negative when it left the address.
  amount numeric(78) NOT NULL CHECK (amount <> 0),
  counterparty text,
  block_number bigint NOT NULL,
  block_at timestamptz NOT NULL,
  contract text,
  -- A transfer between two of our addresses moves both.
  PRIMARY KEY (txid, kind, place, address)
);

-- Summed by address.
CREATE INDEX deposit_movement_address ON deposit_movement (address, asset);
-- The addresses that anything left for, each found in one step. Without it every pass reads all movements.
CREATE INDEX deposit_movement_left ON deposit_movement (counterparty) WHERE amount < 0 AND kind <> 'fee';

CREATE TRIGGER deposit_movement_kept BEFORE DELETE OR UPDATE ON deposit_movement FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_movement_no_truncate BEFORE TRUNCATE ON deposit_movement FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Deposits that were sent back.
CREATE TABLE deposit_return (
  deposit_id bigint PRIMARY KEY REFERENCES deposit (id),
  to_address text NOT NULL,
  -- The ledger entry that takes the credits back; null if the deposit was never credited.
  entry_key text UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The newest unsigned transaction. Another one is made only when this one can no longer enter a block.
  txid bytea NOT NULL UNIQUE CHECK (length(txid) = 32),
  expires_at timestamptz NOT NULL
);

CREATE TRIGGER deposit_return_kept BEFORE DELETE ON deposit_return FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_return_no_truncate BEFORE TRUNCATE ON deposit_return FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Addresses to which the operator sweeps deposits.
CREATE TABLE deposit_sweep_address (
  address text PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TRIGGER deposit_sweep_address_kept BEFORE DELETE OR UPDATE ON deposit_sweep_address FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_sweep_address_no_truncate BEFORE TRUNCATE ON deposit_sweep_address FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Moves of orders and events of the projects' logs. An event gets its position when the numberer reaches it.
CREATE TABLE event (
  id bigint CONSTRAINT order_event_id_not_null NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id bigint,
  from_status text,
  to_status text,
  at timestamptz CONSTRAINT order_event_at_not_null NOT NULL DEFAULT clock_timestamp(),
  chain_at timestamptz,
  project_id uuid,
  type text,
  snapshot json,
  position bigint,
  payload text
);

-- A project's log in order. Pruned events are not in it.
CREATE UNIQUE INDEX event_log ON event (project_id, position) WHERE payload IS NOT NULL;
-- The history of an order.
CREATE INDEX event_order ON event (order_id);
-- The next rows for the numberer: few, whatever the size of the table.
CREATE INDEX event_unnumbered ON event (id) WHERE position IS NULL AND type IS NOT NULL;

-- A row gets its position and payload once. Pruning removes the payload and keeps the row.
CREATE TRIGGER event_changes BEFORE UPDATE ON event FOR EACH ROW
  WHEN (NOT (old.id = new.id
      AND NOT old.order_id IS DISTINCT FROM new.order_id
      AND NOT old.from_status IS DISTINCT FROM new.from_status
      AND NOT old.to_status IS DISTINCT FROM new.to_status
      AND old.at = new.at
      AND NOT old.chain_at IS DISTINCT FROM new.chain_at
      AND NOT old.project_id IS DISTINCT FROM new.project_id
      AND NOT old.type IS DISTINCT FROM new.type
      AND new.snapshot IS NULL
      AND (old."position" IS NULL AND old.type IS NOT NULL AND new."position" IS NOT NULL AND new.payload IS NOT NULL
        OR old."position" IS NOT NULL AND NOT old."position" IS DISTINCT FROM new."position" AND new.payload IS NULL)))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_first BEFORE INSERT ON event FOR EACH ROW
  WHEN ((new."position" IS NOT NULL
      OR new.payload IS NOT NULL)
    AND new.type IS DISTINCT FROM 'log.restarted'::text)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_kept BEFORE DELETE ON event FOR EACH ROW EXECUTE FUNCTION kept_unless_test();
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_numbered AFTER UPDATE ON event
  REFERENCING NEW TABLE AS numbered
  FOR EACH STATEMENT
  EXECUTE FUNCTION webhook_fan_out_batch();
-- The only event that is inserted with its position.
CREATE TRIGGER event_restarted AFTER INSERT ON event FOR EACH ROW
  WHEN (new."position" IS NOT NULL)
  EXECUTE FUNCTION webhook_fan_out();

-- One row: the server on which the numberer last worked, and the last pruned event.
CREATE TABLE event_numbering (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  server_mark text,
  pruned_id bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

INSERT INTO event_numbering DEFAULT VALUES;

-- The last position of each project's log, and the position up to which the log was pruned.
CREATE TABLE event_position (
  project_id uuid PRIMARY KEY,
  position bigint NOT NULL,
  pruned_to bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Disagreements that an operator explained, by fingerprint with all figures. An explained one no longer stops sales.
CREATE TABLE explained_finding (
  fingerprint text PRIMARY KEY,
  check_name text NOT NULL,
  subject text NOT NULL,
  facts jsonb NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL,
  explained_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The size of the disagreement when it was explained. A larger one is new. Null: it has no size.
  amount numeric
);

-- Transactions that people want explained in a console, which asks no node: a worker answers. Rows are kept for a day.
CREATE TABLE explanation_request (
  id uuid PRIMARY KEY,
  -- NULL: an operator asked, and the orders of all projects count.
  project_id uuid REFERENCES project (id),
  txid bytea NOT NULL CHECK (octet_length(txid) = 32),
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When a worker began to answer. It may have died since.
  taken_at timestamptz,
  answered_at timestamptz,
  -- The body of GET /v1/explain/{txid}. NULL in an answered row: no such transaction of the project.
  answer jsonb,
  -- The code of the error that replaces an answer.
  error text CHECK (length(error) BETWEEN 1 AND 100),
  CONSTRAINT explanation_request_answer CHECK (answered_at IS NOT NULL OR (answer IS NULL AND error IS NULL))
);

-- The requests that wait, oldest first; and the open ones of a project, which are limited.
CREATE INDEX explanation_request_open ON explanation_request (requested_at) WHERE answered_at IS NULL;
-- Their deletion a day later.
CREATE INDEX explanation_request_age ON explanation_request (requested_at);

-- Transfers of other tokens to deposit addresses, counted per day.
CREATE TABLE ignored_transfer (
  address text NOT NULL REFERENCES deposit_address (address),
  contract text NOT NULL,
  day date NOT NULL,
  transfers bigint NOT NULL,
  amount numeric NOT NULL DEFAULT 0,
  last_txid bytea,
  last_block bigint,
  PRIMARY KEY (address, contract, day)
);

-- Invitations to a console.
CREATE TABLE invitation (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  token_hash bytea NOT NULL UNIQUE,
  audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
  email text NOT NULL,
  project_id uuid REFERENCES project (id),
  role text NOT NULL,
  invited_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  accepted_at timestamptz,
  revoked_at timestamptz,
  -- True if accepting it proves the e-mail address: false if an owner saw the link.
  proves_address boolean NOT NULL DEFAULT false,
  CONSTRAINT invitation_check CHECK ((audience = 'operator') = (project_id IS NULL)),
  CONSTRAINT invitation_role CHECK (
    CASE audience WHEN 'operator' THEN role IN ('admin', 'support') ELSE role IN ('owner', 'member') END
  )
);

-- Counts the invitations that a project made within a day.
CREATE INDEX invitation_made ON invitation (project_id, created_at);
-- The open invitations of a project or of the operators.
CREATE INDEX invitation_open ON invitation (project_id, expires_at) WHERE accepted_at IS NULL AND revoked_at IS NULL;

ALTER TABLE invitation ENABLE ROW LEVEL SECURITY;
CREATE POLICY invitation_of_audience ON invitation
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');

-- The sum of each project over the entries up to reconcile_state.entries_to.
CREATE TABLE judged_credits (
  project_id uuid PRIMARY KEY,
  credits bigint NOT NULL
);

-- The digest of the thousand entries up to to_id when they were checked.
CREATE TABLE judged_entries (
  to_id bigint PRIMARY KEY,
  digest text NOT NULL
);

-- One sealed canary for each purpose of a key: a process with a wrong key refuses to start. Only operator commands
-- write it, since they hold every key.
CREATE TABLE key_canary (
  purpose text PRIMARY KEY,
  sealed bytea NOT NULL,
  sealed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The public half of the purpose's key, for a process that seals but cannot open.
  public_key bytea CHECK (length(public_key) = 32)
);

CREATE TABLE leg (
  id bigint GENERATED ALWAYS AS IDENTITY,
  order_id bigint NOT NULL,
  leg_no smallint NOT NULL,
  -- rental: a delegation of energy. bandwidth: one of bandwidth. activation.
  kind text NOT NULL,
  wallet_id integer NOT NULL,
  receive_address text NOT NULL,
  -- The delegated amount; for an activation, the amount reserved for its fee.
  amount_sun bigint NOT NULL,
  energy bigint,
  status text NOT NULL,
  active_at timestamptz,
  -- The database's clock, for reconciling capacity with a chain read that may not have seen the change yet.
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- For a leg that ended without our own undelegation: when by the chain's clock, by which transaction, and for which
  -- reason.
  closed_at timestamptz,
  closed_by_txid bytea,
  closed_reason text,
  top_up boolean NOT NULL DEFAULT false,
  archived boolean NOT NULL DEFAULT false,
  top_up_cause text,
  -- Units of a delegation of bandwidth, whose energy is null.
  bandwidth bigint
) PARTITION BY LIST (archived);

CREATE TABLE open_leg PARTITION OF leg (
  CONSTRAINT leg_order_id_leg_no_key UNIQUE (order_id, leg_no),
  CONSTRAINT open_leg_open CHECK (NOT archived)
) FOR VALUES IN (false) WITH (fillfactor = 80);
ALTER TABLE open_leg ADD CONSTRAINT leg_pkey PRIMARY KEY (id);

-- Sums of open delegations per wallet and receiver, compared with the chain. Ended legs are not in it.
CREATE INDEX leg_open ON open_leg (wallet_id, receive_address)
  WHERE status IN ('reserved', 'placed', 'active', 'reclaiming');
-- Changes since a chain read began.
CREATE INDEX leg_changed ON open_leg (wallet_id, changed_at);

CREATE TABLE archived_leg PARTITION OF leg FOR VALUES IN (true) PARTITION BY RANGE (order_id);

CREATE INDEX archived_leg_open ON archived_leg (wallet_id, receive_address)
  WHERE status IN ('reserved', 'placed', 'active', 'reclaiming');
CREATE INDEX archived_leg_changed ON archived_leg (wallet_id, changed_at);
CREATE INDEX archived_leg_order_id_leg_no_key ON archived_leg (order_id, leg_no);
CREATE INDEX archived_leg_pkey ON archived_leg (id);

CREATE TRIGGER leg_final BEFORE UPDATE ON leg FOR EACH ROW
  WHEN (old.status = ANY (ARRAY['reclaimed'::text, 'released'::text]))
  EXECUTE FUNCTION leg_final();
CREATE TRIGGER leg_guard BEFORE INSERT OR UPDATE ON leg FOR EACH ROW EXECUTE FUNCTION leg_guard();
CREATE TRIGGER leg_kept BEFORE DELETE ON leg FOR EACH ROW EXECUTE FUNCTION kept_unless_archived('leg');
CREATE TRIGGER leg_no_truncate BEFORE TRUNCATE ON leg FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER open_leg_no_truncate BEFORE TRUNCATE ON open_leg FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER archived_leg_final BEFORE INSERT OR DELETE OR UPDATE ON archived_leg FOR EACH ROW
  EXECUTE FUNCTION archived_row('leg');
CREATE TRIGGER archived_leg_no_truncate BEFORE TRUNCATE ON archived_leg FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- No guard of the open rows runs on the archive; see archived_row().
ALTER TABLE archived_leg DISABLE TRIGGER leg_final;
ALTER TABLE archived_leg DISABLE TRIGGER leg_guard;
ALTER TABLE archived_leg DISABLE TRIGGER leg_kept;

-- Addresses that refused further mail, by a keyed hash: the table names no address.
CREATE TABLE mail_refusal (
  address_key bytea PRIMARY KEY,
  refused_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Readings of the outside that processes share: one process reads, all use them.
CREATE TABLE market_state (
  name text PRIMARY KEY,
  value jsonb NOT NULL,
  measured_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_until timestamptz
);

-- A person's role in a project or among the operators.
CREATE TABLE membership (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person_id uuid NOT NULL,
  audience text NOT NULL,
  project_id uuid REFERENCES project (id),
  role text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT membership_person_id_audience_fkey FOREIGN KEY (person_id, audience) REFERENCES person (id, audience),
  CONSTRAINT membership_check CHECK ((audience = 'operator') = (project_id IS NULL)),
  CONSTRAINT membership_role CHECK (
    CASE audience WHEN 'operator' THEN role IN ('admin', 'support') ELSE role IN ('owner', 'member') END
  )
);

-- One role per person in a project, and one among the operators.
CREATE UNIQUE INDEX membership_project ON membership (project_id, person_id) WHERE project_id IS NOT NULL;
-- The memberships of a person, read with every request.
CREATE INDEX membership_person ON membership (person_id);
CREATE UNIQUE INDEX membership_operator ON membership (person_id) WHERE project_id IS NULL;

ALTER TABLE membership ENABLE ROW LEVEL SECURITY;
CREATE POLICY membership_of_audience ON membership
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');

-- The mail settings of a membership and its cursor through the log of its project. It is deleted with the membership.
CREATE TABLE notification (
  membership_id bigint PRIMARY KEY REFERENCES membership (id) ON DELETE CASCADE,
  audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
  kinds text[] NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The last event of the project's log that was mailed or passed. For operators: the inbox lines.
  position bigint NOT NULL DEFAULT 0,
  noted text[] NOT NULL DEFAULT '{}',
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  -- The mails of the last hour.
  mailed_at timestamptz[] NOT NULL DEFAULT '{}',
  sent_at timestamptz,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  fault text,
  given_up_at timestamptz,
  given_up bigint NOT NULL DEFAULT 0
);

-- Due notifications, for the sender.
CREATE INDEX notification_due ON notification (audience, due_at) WHERE kinds <> '{}';

ALTER TABLE notification ENABLE ROW LEVEL SECURITY;
CREATE POLICY notification_of_audience ON notification
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');

-- Paid extensions of a rental.
CREATE TABLE order_extension (
  order_id bigint NOT NULL,
  number smallint NOT NULL CHECK (number BETWEEN 1 AND 100),
  project_id uuid NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
  duration_sec integer NOT NULL CHECK (duration_sec > 0),
  price_sun bigint NOT NULL CHECK (price_sun > 0),
  credits bigint NOT NULL CHECK (credits > 0),
  trx_usd_e8 bigint NOT NULL CHECK (trx_usd_e8 > 0),
  ends_at timestamptz NOT NULL,
  request_id text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- As in orders.
  expected_uses integer,
  -- The least fee limit of a transaction that spends all of the energy, at the energy price of the extension.
  fee_limit_sun bigint,
  -- True if the chain accepted none that is high enough.
  fee_limit_capped boolean,
  PRIMARY KEY (order_id, number)
);

CREATE TRIGGER order_extension_final BEFORE UPDATE ON order_extension FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER order_extension_kept BEFORE DELETE ON order_extension FOR EACH ROW EXECUTE FUNCTION kept_unless_test();
CREATE TRIGGER order_extension_no_truncate BEFORE TRUNCATE ON order_extension FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- The idempotency keys of orders and extensions, unique for ever. Narrow, because every order writes it and it is
-- never split by time.
CREATE TABLE order_key (
  project_id uuid NOT NULL,
  key text NOT NULL,
  order_id bigint NOT NULL,
  extension smallint,
  PRIMARY KEY (project_id, key)
);

CREATE TRIGGER order_key_final BEFORE UPDATE ON order_key FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER order_key_kept BEFORE DELETE ON order_key FOR EACH ROW EXECUTE FUNCTION kept_unless_test();
CREATE TRIGGER order_key_no_truncate BEFORE TRUNCATE ON order_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The number of repetitions of an idempotency key, and the time of the last one. Deleted with its test order.
CREATE TABLE order_replay (
  order_id bigint PRIMARY KEY,
  replays bigint NOT NULL CHECK (replays > 0),
  last_at timestamptz NOT NULL
);

-- Orders, their legs and their chain transactions lie in two partitions each: open rows and the archive. Archived
-- rows never change again and lie in ranges of the order's id, each range a table of its own, made before its first
-- order is archived.
-- No foreign keys on the order path: each would take a key-share lock on the busy balance or wallet row. `verify`
-- finds the orphans they would have refused.
CREATE TABLE orders (
  id bigint GENERATED ALWAYS AS IDENTITY,
  project_id uuid NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  quote_id uuid,
  kind text NOT NULL,
  status text NOT NULL,
  receive_address text NOT NULL,
  energy bigint,
  duration_sec integer,
  price_sun bigint NOT NULL,
  credits bigint NOT NULL,
  trx_usd_e8 bigint NOT NULL,
  request_id text,
  settled boolean NOT NULL DEFAULT false,
  -- Set while a failed order reclaims the energy that other legs had delivered.
  undoing boolean NOT NULL DEFAULT false,
  needs_attention boolean NOT NULL DEFAULT false,
  error_code text,
  error text,
  delivered_energy bigint,
  created_at timestamptz NOT NULL,
  -- The chain's clock.
  delivered_at timestamptz,
  ends_at timestamptz,
  reclaimed_at timestamptz,
  -- The database's clock: when a transaction may first have been sent; then due work, its lease and its fence.
  placed_at timestamptz,
  next_run_at timestamptz,
  lease_until timestamptz,
  fence integer NOT NULL DEFAULT 0,
  -- Sun delegated for each energy sold, × 10^6. Set at delivery and with each top-up.
  sun_per_energy_e6 bigint,
  -- The database's clock: a top-up that found no capacity, or failed, is not retried before this time.
  top_up_after timestamptz,
  -- True once the reconciler has checked the row in its present form.
  judged boolean NOT NULL DEFAULT false,
  extensions smallint NOT NULL DEFAULT 0,
  test boolean NOT NULL DEFAULT false,
  play_at timestamptz,
  -- Labels of the merchant.
  reference text,
  metadata json,
  -- In which partition the row lies.
  archived boolean NOT NULL DEFAULT false,
  -- As the caller sent them: how often the wallet will spend the energy, and the transfer that sized the order.
  expected_uses integer,
  transfer json,
  -- The chain's price of one energy in sun when the order was priced.
  energy_fee_sun bigint,
  -- The highest fee limit that the chain accepted then, in sun.
  max_fee_limit_sun bigint,
  -- Parts beside energy, with their shares of the price and the charge. Energy has the rest.
  bandwidth bigint,
  bandwidth_price_sun bigint,
  bandwidth_credits bigint,
  activation_price_sun bigint,
  activation_credits bigint,
  delivered_bandwidth bigint,
  -- The share that a refund did not return: the chain has the activation.
  kept_credits bigint,
  -- The same two figures of the bandwidth as of the energy.
  sun_per_bandwidth_e6 bigint,
  bandwidth_top_up_after timestamptz
) PARTITION BY LIST (archived);

CREATE TABLE open_orders PARTITION OF orders (
  CONSTRAINT open_orders_open CHECK (NOT archived)
) FOR VALUES IN (false) WITH (fillfactor = 70);
ALTER TABLE open_orders ADD CONSTRAINT orders_pkey PRIMARY KEY (id);

-- Referee of idempotency: one order per key of a project, for ever.
CREATE UNIQUE INDEX orders_key ON open_orders (project_id, key);
-- Referee of quotes: one order per quote, for ever.
CREATE UNIQUE INDEX orders_quote ON open_orders (quote_id) WHERE quote_id IS NOT NULL;
-- The queue of record: work that is due by the database's clock. Finished orders are not in it.
CREATE INDEX orders_due ON open_orders (next_run_at) WHERE next_run_at IS NOT NULL;
-- Running rentals by their end, by the chain's clock.
CREATE INDEX orders_ending ON open_orders (ends_at)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL;
-- Running rentals with the least energy for the amount sold. Read with every block.
CREATE INDEX orders_standing ON open_orders (sun_per_energy_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL;
-- The same for bandwidth.
CREATE INDEX orders_standing_bandwidth ON open_orders (sun_per_bandwidth_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL AND sun_per_bandwidth_e6 IS NOT NULL;
-- Rows that the reconciler must check.
CREATE INDEX orders_unjudged ON open_orders (id) WHERE NOT judged;
-- Test orders to play, oldest first. No live order is in it.
CREATE INDEX orders_play ON open_orders (play_at) WHERE play_at IS NOT NULL;
-- The oldest test orders, which are deleted in the end. No live order is in it.
CREATE INDEX orders_test ON open_orders (created_at) WHERE test;
-- A project's orders from the newest down, all or between two times. Ids are not in the order of time, and a page
-- deep in the past must not cost more than the first page.
CREATE INDEX orders_time ON open_orders (project_id, created_at, id);
-- The same for one status. It covers every status: where most orders were refunded, delivered is the rare one.
CREATE INDEX orders_status_time ON open_orders (project_id, status, created_at, id);
-- The same for one receiver of possibly hundreds of thousands.
CREATE INDEX orders_receiver ON open_orders (project_id, receive_address, created_at, id);
-- The same for one reference. Orders without one are not in it.
CREATE INDEX orders_reference ON open_orders (project_id, reference, created_at, id) WHERE reference IS NOT NULL;
-- Orders that need an operator, newest first. Nearly empty; test orders resolve themselves.
CREATE INDEX orders_attention ON open_orders (id) WHERE needs_attention AND NOT test;
-- Unresolved orders of all projects, newest first. Nearly empty. Without it the list reads every order.
CREATE INDEX orders_unresolved ON open_orders (id) WHERE status = 'unresolved';

-- Guards of open rows are off here: no row changes. Each range gets triggers of its own.
-- Every index of the open rows has its counterpart, so that each query finds both.
CREATE TABLE archived_orders PARTITION OF orders FOR VALUES IN (true) PARTITION BY RANGE (id);

CREATE INDEX archived_orders_key ON archived_orders (project_id, key);
CREATE INDEX archived_orders_quote ON archived_orders (quote_id) WHERE quote_id IS NOT NULL;
CREATE INDEX archived_orders_due ON archived_orders (next_run_at) WHERE next_run_at IS NOT NULL;
CREATE INDEX archived_orders_ending ON archived_orders (ends_at)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL;
CREATE INDEX archived_orders_standing ON archived_orders (sun_per_energy_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL;
CREATE INDEX archived_orders_standing_bandwidth ON archived_orders (sun_per_bandwidth_e6)
  WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL AND sun_per_bandwidth_e6 IS NOT NULL;
CREATE INDEX archived_orders_unjudged ON archived_orders (id) WHERE NOT judged;
CREATE INDEX archived_orders_play ON archived_orders (play_at) WHERE play_at IS NOT NULL;
CREATE INDEX archived_orders_test ON archived_orders (created_at) WHERE test;
CREATE INDEX archived_orders_time ON archived_orders (project_id, created_at, id);
CREATE INDEX archived_orders_status_time ON archived_orders (project_id, status, created_at, id);
CREATE INDEX archived_orders_receiver ON archived_orders (project_id, receive_address, created_at, id);
CREATE INDEX archived_orders_reference ON archived_orders (project_id, reference, created_at, id)
  WHERE reference IS NOT NULL;
CREATE INDEX archived_orders_attention ON archived_orders (id) WHERE needs_attention AND NOT test;
CREATE INDEX archived_orders_unresolved ON archived_orders (id) WHERE status = 'unresolved';
CREATE INDEX archived_orders_pkey ON archived_orders (id);

CREATE TRIGGER orders_changed AFTER UPDATE ON orders FOR EACH ROW
  WHEN (old.status IS DISTINCT FROM new.status
    OR old.settled IS DISTINCT FROM new.settled
    OR old.reclaimed_at IS DISTINCT FROM new.reclaimed_at
    OR old.extensions IS DISTINCT FROM new.extensions)
  EXECUTE FUNCTION order_changed();
CREATE TRIGGER orders_of_auto_delegation AFTER UPDATE ON orders FOR EACH ROW
  WHEN (new.key ~~ 'auto\_%'::text
    AND (old.status IS DISTINCT FROM new.status
      OR old.reclaimed_at IS DISTINCT FROM new.reclaimed_at))
  EXECUTE FUNCTION auto_delegation_order_moved();
CREATE TRIGGER orders_guard BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard();
CREATE TRIGGER orders_judged BEFORE INSERT OR UPDATE ON orders FOR EACH ROW
  WHEN (new.judged)
  EXECUTE FUNCTION orders_judged();
CREATE TRIGGER orders_keyed AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION keep_order_key();
CREATE TRIGGER orders_kept BEFORE DELETE ON orders FOR EACH ROW
  WHEN (NOT old.test)
  EXECUTE FUNCTION kept_unless_archived('orders');
CREATE TRIGGER orders_no_truncate BEFORE TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER open_orders_no_truncate BEFORE TRUNCATE ON open_orders FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

CREATE TRIGGER archived_orders_final BEFORE INSERT OR DELETE OR UPDATE ON archived_orders FOR EACH ROW
  EXECUTE FUNCTION archived_row('orders');
CREATE TRIGGER archived_orders_no_truncate BEFORE TRUNCATE ON archived_orders FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- No guard of the open rows runs on the archive; see archived_row().
ALTER TABLE archived_orders DISABLE TRIGGER orders_changed;
ALTER TABLE archived_orders DISABLE TRIGGER orders_guard;
ALTER TABLE archived_orders DISABLE TRIGGER orders_judged;
ALTER TABLE archived_orders DISABLE TRIGGER orders_kept;
ALTER TABLE archived_orders DISABLE TRIGGER orders_keyed;
ALTER TABLE archived_orders DISABLE TRIGGER orders_of_auto_delegation;

-- Transactions of our wallets on chain without a record.
CREATE TABLE orphan_tx (
  txid bytea PRIMARY KEY,
  wallet_id integer NOT NULL,
  -- TRON's contract type: 57 delegate, 58 undelegate, 0 create account.
  type smallint NOT NULL,
  -- Made through the permission of the service's own key, not by the wallet's owner.
  by_own_key boolean NOT NULL,
  receive_address text,
  amount_sun bigint,
  raw_data bytea NOT NULL,
  signature bytea,
  block_number bigint NOT NULL,
  block_id bytea NOT NULL,
  block_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The order that reclaims the delegation.
  order_id bigint,
  -- Seen to be gone again: nothing is left to reclaim.
  gone_at timestamptz,
  -- The legs that an undelegation by another party has ended.
  leg_ids bigint[],
  -- ENERGY or BANDWIDTH; null for an account creation.
  resource text,
  CONSTRAINT orphan_tx_check CHECK (length(txid) = 32 AND txid = sha256(raw_data))
);

CREATE TRIGGER orphan_tx_kept BEFORE DELETE ON orphan_tx FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER orphan_tx_no_truncate BEFORE TRUNCATE ON orphan_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Payments whose project or row is locked: parked, so that reading continues. No references: a locked row must not
-- block a parked one.
CREATE TABLE parked_payment (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  txid bytea NOT NULL CHECK (length(txid) = 32),
  kind text NOT NULL,
  place integer NOT NULL,
  project_id uuid NOT NULL,
  address text NOT NULL,
  from_address text NOT NULL,
  asset text NOT NULL,
  contract text,
  amount numeric(78) NOT NULL,
  is_agreed boolean NOT NULL,
  is_paid_by_us boolean NOT NULL,
  block_number bigint NOT NULL,
  block_id bytea NOT NULL CHECK (length(block_id) = 32),
  block_at timestamptz NOT NULL,
  parked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT parked_payment_txid_kind_place_key UNIQUE (txid, kind, place)
);

-- The wallets that delegate and activate.
CREATE TABLE pool_wallet (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  address text NOT NULL UNIQUE,
  role text NOT NULL CHECK (role IN ('pool', 'activation')),
  permission_id smallint NOT NULL CHECK (permission_id BETWEEN 0 AND 9),
  -- The key's own address, so that a signature can be checked without opening the key.
  key_address text NOT NULL,
  -- Null when a signer process holds the key.
  key_sealed bytea,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused')),
  pause_reason text,
  -- Sums of the last read of the chain.
  staked_sun bigint NOT NULL DEFAULT 0,
  delegated_sun bigint NOT NULL DEFAULT 0,
  free_sun_seen bigint NOT NULL DEFAULT 0,
  balance_sun bigint NOT NULL DEFAULT 0,
  synced_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Each observer of a wallet has a column of its own, so that no observer lifts the fault of another.
  wallet_fault text,
  books_fault text,
  recovering_sun bigint NOT NULL DEFAULT 0,
  -- The last successful read: transactions that bandwidth and TRX pay for, a day's staked bandwidth for them, and the time up
  -- to which ending rentals were counted. `sells_until` is how long the wallet sells without another read, by the
  -- database's clock.
  transactions_seen bigint NOT NULL DEFAULT 0,
  net_limit bigint NOT NULL DEFAULT 0,
  net_used bigint NOT NULL DEFAULT 0,
  ends_counted_to timestamptz,
  read_at timestamptz,
  sells_until timestamptz,
  -- Why nothing of this wallet can be delivered.
  delivery_fault text,
  -- A hold by time; null while only a signature is missing.
  delivery_held_until timestamptz,
  delivery_failed_at timestamptz,
  -- Holds since one of its transactions last entered a block. Each hold is longer.
  delivery_pauses integer NOT NULL DEFAULT 0,
  sign_failures integer NOT NULL DEFAULT 0,
  deaths integer NOT NULL DEFAULT 0,
  -- Stake for bandwidth at the last read, delegated or not.
  staked_bandwidth_sun bigint NOT NULL DEFAULT 0,
  delegated_bandwidth_sun bigint NOT NULL DEFAULT 0
);

CREATE TRIGGER pool_wallet_kept BEFORE DELETE ON pool_wallet FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER pool_wallet_no_truncate BEFORE TRUNCATE ON pool_wallet FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER pool_wallet_status BEFORE INSERT OR UPDATE ON pool_wallet FOR EACH ROW
  EXECUTE FUNCTION pool_wallet_status();

-- Free stake in slots: one row per wallet would be a busy row for all projects (measured: a quarter of the rate).
CREATE TABLE pool_slot (
  wallet_id integer NOT NULL REFERENCES pool_wallet (id),
  slot_no smallint NOT NULL,
  free_sun bigint NOT NULL DEFAULT 0 CHECK (free_sun >= 0),
  -- Bandwidth in transactions of the size of a delegation, taken in the same update as the stake.
  free_transactions bigint NOT NULL DEFAULT 0 CHECK (free_transactions >= 0),
  -- Stake for bandwidth that can be sold. The wallet's own transactions do not count on it.
  free_bandwidth_sun bigint NOT NULL DEFAULT 0 CHECK (free_bandwidth_sun >= 0),
  PRIMARY KEY (wallet_id, slot_no)
) WITH (fillfactor = 20);

-- The idle and the recovering part of each wallet's stake, day by day, for reports.
CREATE TABLE pool_wallet_day (
  wallet_id integer NOT NULL REFERENCES pool_wallet (id),
  day date NOT NULL,
  measured_ms bigint NOT NULL DEFAULT 0,
  idle_energy_ms numeric NOT NULL DEFAULT 0,
  recovering_energy_ms numeric NOT NULL DEFAULT 0,
  -- By day: a report reads every wallet of its days, and the oldest days are deleted.
  PRIMARY KEY (day, wallet_id)
) WITH (fillfactor = 50);

-- Prices by duration.
CREATE TABLE price_row (
  duration_max_sec integer PRIMARY KEY CHECK (duration_max_sec > 0),
  sun_per_energy bigint NOT NULL CHECK (sun_per_energy > 0),
  -- The price of one unit of bandwidth; null where none is sold.
  sun_per_bandwidth bigint CHECK (sun_per_bandwidth > 0)
);

-- Defaults for a burn price of 100 sun.
INSERT INTO price_row VALUES (600, 38), (3600, 45), (86400, 65), (259200, 150), (604800, 315), (1209600, 600), (2592000, 1200);

-- The energy of an order's receiver before the first transaction, and at its block or later. Each reading names the
-- head block of the node; a missing reading is null.
CREATE TABLE receiver_energy (
  order_id bigint PRIMARY KEY,
  before_energy bigint CHECK (before_energy >= 0),
  before_block bigint,
  after_energy bigint CHECK (after_energy >= 0),
  after_block bigint,
  CONSTRAINT receiver_energy_blocks CHECK ((before_energy IS NULL) = (before_block IS NULL)
    AND (after_energy IS NULL) = (after_block IS NULL))
);

-- The energy of a receiver when a reclaim was built beside other rentals of the same receiver. Used energy that a
-- reclaim leaves behind is made up for, once.
CREATE TABLE reclaim_usage (
  tx_id bigint PRIMARY KEY,
  order_id bigint NOT NULL,
  receive_address text NOT NULL,
  used_energy bigint NOT NULL CHECK (used_energy >= 0),
  limit_energy bigint NOT NULL CHECK (limit_energy >= 0),
  pool_energy bigint NOT NULL CHECK (pool_energy >= 0),
  sold_energy bigint NOT NULL CHECK (sold_energy >= 0),
  taken_energy bigint NOT NULL CHECK (taken_energy >= 0),
  read_block bigint NOT NULL,
  read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  weighed_at timestamptz,
  left_energy bigint CHECK (left_energy >= 0)
);

-- The newest rows of a receiver, whenever one of its rentals may have lost energy.
CREATE INDEX reclaim_usage_receiver ON reclaim_usage (receive_address, tx_id);
-- Empty while nothing is to be made up for. Every worker reads it with each read of the chain.
CREATE INDEX reclaim_usage_due ON reclaim_usage (receive_address) WHERE weighed_at IS NULL;

CREATE TRIGGER reclaim_usage_final BEFORE UPDATE ON reclaim_usage FOR EACH ROW
  WHEN (old.tx_id IS DISTINCT FROM new.tx_id
    OR old.order_id IS DISTINCT FROM new.order_id
    OR old.receive_address IS DISTINCT FROM new.receive_address
    OR old.used_energy IS DISTINCT FROM new.used_energy
    OR old.limit_energy IS DISTINCT FROM new.limit_energy
    OR old.pool_energy IS DISTINCT FROM new.pool_energy
    OR old.sold_energy IS DISTINCT FROM new.sold_energy
    OR old.taken_energy IS DISTINCT FROM new.taken_energy
    OR old.read_block IS DISTINCT FROM new.read_block
    OR old.read_at IS DISTINCT FROM new.read_at)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reclaim_usage_kept BEFORE DELETE ON reclaim_usage FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reclaim_usage_no_truncate BEFORE TRUNCATE ON reclaim_usage FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- One row: whose turn the reconciler is, and the last solid block that was searched for unrecorded transactions.
CREATE TABLE reconcile_state (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  lease_until timestamptz,
  fence integer NOT NULL DEFAULT 0,
  passed_at timestamptz,
  scanned_to bigint,
  -- When the search last reached the solid head.
  searched_at timestamptz,
  -- The server and data on which the records were last complete; see server_mark().
  server_mark text,
  -- A different server seen since, and the chain's time up to which its past must be searched before it counts as
  -- complete.
  search_mark text,
  search_until timestamptz,
  -- The time of the last searched block, by the chain's clock.
  scanned_at timestamptz,
  -- The ledger entry up to which ranges were checked and summed; then the entry and the order after which the next
  -- round through checked rows continues.
  entries_to bigint NOT NULL DEFAULT 0,
  entries_after bigint NOT NULL DEFAULT 0,
  orders_after bigint NOT NULL DEFAULT 0
);

INSERT INTO reconcile_state DEFAULT VALUES;

-- Recovery codes of second factors.
CREATE TABLE recovery_code (
  code_hash bytea PRIMARY KEY,
  person_id uuid NOT NULL,
  audience text NOT NULL,
  CONSTRAINT recovery_code_person_id_audience_fkey FOREIGN KEY (person_id, audience) REFERENCES person (id, audience)
);

CREATE INDEX recovery_code_person ON recovery_code (person_id);

ALTER TABLE recovery_code ENABLE ROW LEVEL SECURITY;
CREATE POLICY recovery_code_of_audience ON recovery_code
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');

-- Requests refused in the last days, with the reason. Ids grow with time, so the oldest rows are found by id.
CREATE TABLE refused_request (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL,
  at timestamptz NOT NULL,
  request_id text NOT NULL CHECK (length(request_id) <= 128),
  method text NOT NULL CHECK (length(method) <= 16),
  path text NOT NULL CHECK (length(path) <= 300),
  status smallint NOT NULL CHECK (status BETWEEN 400 AND 499),
  error text NOT NULL CHECK (length(error) <= 64),
  reason text NOT NULL CHECK (length(reason) <= 500),
  source_address text NOT NULL CHECK (length(source_address) <= 64),
  key_id uuid,
  omitted integer NOT NULL DEFAULT 0 CHECK (omitted >= 0)
);

-- Read page by page, and cut to the newest, for one project.
CREATE INDEX refused_request_project ON refused_request (project_id, id);

-- Energy that receivers' calls took from stake while a rental ran, by the receipts of solid blocks, as one node has them.
-- Blocks that were skipped unread are missing. No money depends on it.
CREATE TABLE rental_use (
  order_id bigint PRIMARY KEY,
  energy bigint NOT NULL CHECK (energy > 0),
  calls integer NOT NULL CHECK (calls > 0),
  last_block bigint NOT NULL
);

-- Nonces of signed requests while Redis is away. Logged: a nonce that a crash of the server lost could be used again.
CREATE TABLE request_nonce (
  project_id uuid NOT NULL,
  nonce text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, nonce)
);

-- Expired nonces are deleted.
CREATE INDEX request_nonce_expires_at ON request_nonce (expires_at);

-- One row while nothing may be sold. An operator removes it.
CREATE TABLE sales_stop (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  reason text NOT NULL,
  findings jsonb NOT NULL,
  stopped_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TRIGGER sales_stop_reaches_wallets AFTER INSERT OR DELETE OR UPDATE ON sales_stop FOR EACH STATEMENT
  EXECUTE FUNCTION sales_stop_reaches_wallets();

-- Sign-in attempts, named by a keyed hash: the table names no account, device or address.
CREATE TABLE sign_in_guess (
  key bytea PRIMARY KEY,
  guesses integer NOT NULL,
  window_ends timestamptz NOT NULL
);

CREATE INDEX sign_in_guess_ends ON sign_in_guess (window_ends);

-- Months that are closed or being closed. Entries up to entries_to are complete: entries in progress at the cut were
-- waited for.
CREATE TABLE statement_month (
  month date PRIMARY KEY CHECK (EXTRACT(day FROM month) = 1),
  ends_at timestamptz NOT NULL,
  entries_to bigint NOT NULL CHECK (entries_to >= 0),
  cut_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Projects are closed in the order of their ids. A project that could not be closed is retried.
  projects_after uuid,
  skipped boolean NOT NULL DEFAULT false,
  closed_at timestamptz,
  CONSTRAINT statement_month_check CHECK (ends_at = (month + interval '1 month') AT TIME ZONE 'UTC')
);

CREATE TRIGGER statement_month_final BEFORE UPDATE ON statement_month FOR EACH ROW
  WHEN (old.closed_at IS NOT NULL
    OR old.month <> new.month
    OR old.ends_at <> new.ends_at
    OR old.entries_to <> new.entries_to
    OR old.cut_at <> new.cut_at)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_month_kept BEFORE DELETE ON statement_month FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_month_no_truncate BEFORE TRUNCATE ON statement_month FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Statements by calendar month. Lines are the entries up to entries_to made before ends_at that no earlier statement
-- has. From rest_from on, entries may be in no statement yet.
CREATE TABLE statement (
  project_id uuid NOT NULL REFERENCES project (id),
  number integer NOT NULL CHECK (number > 0),
  month date NOT NULL REFERENCES statement_month (month),
  ends_at timestamptz NOT NULL,
  entries_to bigint NOT NULL,
  rest_from bigint NOT NULL,
  first_at timestamptz NOT NULL,
  lines bigint NOT NULL CHECK (lines > 0),
  opening_credits bigint NOT NULL,
  charge_credits bigint NOT NULL CHECK (charge_credits <= 0),
  refund_credits bigint NOT NULL CHECK (refund_credits >= 0),
  compensation_credits bigint NOT NULL CHECK (compensation_credits >= 0),
  deposit_credits bigint NOT NULL CHECK (deposit_credits >= 0),
  topup_credits bigint NOT NULL CHECK (topup_credits >= 0),
  adjustment_credits bigint NOT NULL,
  closing_credits bigint NOT NULL,
  closed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (project_id, number),
  -- One per month; it also shows which projects are closed.
  CONSTRAINT statement_project_id_month_key UNIQUE (project_id, month),
  CONSTRAINT statement_check CHECK (closing_credits = opening_credits + charge_credits + refund_credits + compensation_credits
    + deposit_credits + topup_credits + adjustment_credits)
);

-- Recently closed statements are verified again.
CREATE INDEX statement_closed_at ON statement (closed_at);

CREATE TRIGGER statement_closed AFTER INSERT ON statement FOR EACH ROW EXECUTE FUNCTION statement_closed();
CREATE TRIGGER statement_guard BEFORE INSERT ON statement FOR EACH ROW EXECUTE FUNCTION statement_guard();
CREATE TRIGGER statement_kept BEFORE DELETE OR UPDATE ON statement FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_live BEFORE INSERT ON statement FOR EACH ROW EXECUTE FUNCTION refuse_test_project();
CREATE TRIGGER statement_no_truncate BEFORE TRUNCATE ON statement FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The settings of the token contract at the last read by a worker.
CREATE TABLE token_state (
  contract text PRIMARY KEY,
  deprecated boolean NOT NULL DEFAULT false,
  successor text,
  paused boolean NOT NULL DEFAULT false,
  fee_basis_points numeric NOT NULL DEFAULT 0,
  maximum_fee numeric NOT NULL DEFAULT 0,
  -- The address after which the next round continues.
  checked_to text NOT NULL DEFAULT '',
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Null until the first read.
  read_at timestamptz
);

-- Blocks that the search for unrecorded transactions passed without knowing their content, until a node answers.
CREATE TABLE unsearched_block (
  number bigint PRIMARY KEY,
  tries integer NOT NULL DEFAULT 0
);

-- Requests of the last 24 hours that are limited per project.
CREATE TABLE webhook_act (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  act text NOT NULL CHECK (act IN ('change', 'rotate', 'resend', 'replay')),
  count integer NOT NULL CHECK (count > 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Every count of a project's acts, and their deletion a day later.
CREATE INDEX webhook_act_project ON webhook_act (project_id, act, created_at);

-- Deliveries of events. No foreign keys: endpoints and events are kept, and each key would lock a row for every
-- delivery.
CREATE TABLE webhook_delivery (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  endpoint_id uuid NOT NULL,
  cause text NOT NULL CHECK (cause IN ('event', 'replay', 'resend', 'test')),
  event_id bigint,
  event_key text NOT NULL,
  type text NOT NULL,
  position bigint NOT NULL DEFAULT 0,
  payload text,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'dropped')),
  is_fresh boolean NOT NULL DEFAULT true,
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempted_at timestamptz,
  ended_at timestamptz,
  answer_status integer,
  answer text,
  fault text,
  duration_ms integer,
  is_requested boolean NOT NULL DEFAULT false,
  CONSTRAINT webhook_delivery_check CHECK ((status = 'pending') = (next_at IS NOT NULL)),
  CONSTRAINT webhook_delivery_check1 CHECK ((status = 'pending') = (ended_at IS NULL)),
  CONSTRAINT webhook_delivery_check2 CHECK ((event_id IS NULL) = (payload IS NOT NULL))
);

-- Deliveries written since the sender last read.
CREATE INDEX webhook_delivery_fresh ON webhook_delivery (id) WHERE is_fresh;
-- Pending deliveries of an endpoint in order, replays last.
CREATE INDEX webhook_delivery_pending ON webhook_delivery (endpoint_id, (cause = 'replay'), position, id)
  WHERE status = 'pending';
-- An endpoint's deliveries, newest first.
CREATE INDEX webhook_delivery_endpoint ON webhook_delivery (endpoint_id, id);
-- The deliveries of one event, for the history of its order.
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id) WHERE event_id IS NOT NULL;
-- Deliveries that an owner requested go first. Nearly empty: rows leave it with their next attempt.
CREATE INDEX webhook_delivery_requested ON webhook_delivery (endpoint_id, id) WHERE status = 'pending' AND is_requested;
CREATE INDEX webhook_delivery_again ON webhook_delivery (endpoint_id, (cause = 'replay'), next_at)
  WHERE status = 'pending' AND attempts > 0;
CREATE INDEX webhook_delivery_ended ON webhook_delivery (endpoint_id, status, id) WHERE status IN ('failed', 'dropped');
CREATE INDEX webhook_delivery_first ON webhook_delivery (endpoint_id, (cause = 'replay'), position, id)
  WHERE status = 'pending' AND attempts = 0;
CREATE INDEX webhook_delivery_test ON webhook_delivery (endpoint_id, created_at) WHERE cause = 'test';

CREATE TRIGGER webhook_delivery_no_truncate BEFORE TRUNCATE ON webhook_delivery FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- When the next request may go to a host or address, whichever process sends it. Unlogged: losing it loses nothing.
CREATE UNLOGGED TABLE webhook_destination (
  name text PRIMARY KEY,
  free_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Never deleted, so that deliveries and events keep naming an endpoint. Deletion removes its secret.
CREATE TABLE webhook_endpoint (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  types text[] CHECK (cardinality(types) > 0),
  description text NOT NULL DEFAULT '' CHECK (length(description) <= 500),
  secret_sealed bytea,
  previous_secret_sealed bytea,
  previous_until timestamptz,
  made_by_key uuid,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  failing_told_at timestamptz,
  disabled_at timestamptz,
  disabled_reason text CHECK (disabled_reason IN ('owner', 'gone', 'failing')),
  deleted_at timestamptz,
  change_reported_at timestamptz,
  CONSTRAINT webhook_endpoint_check CHECK ((secret_sealed IS NULL) = (deleted_at IS NOT NULL)),
  CONSTRAINT webhook_endpoint_check1 CHECK ((previous_secret_sealed IS NULL) = (previous_until IS NULL)),
  CONSTRAINT webhook_endpoint_check2 CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);

-- Read for every event and every list.
CREATE INDEX webhook_endpoint_project ON webhook_endpoint (project_id) WHERE deleted_at IS NULL;
-- Changes without an event so far. Read every five seconds; nearly empty.
CREATE INDEX webhook_endpoint_unreported ON webhook_endpoint (id)
  WHERE changed_at > change_reported_at AND deleted_at IS NULL;
CREATE INDEX webhook_endpoint_told ON webhook_endpoint (id) WHERE failing_told_at IS NOT NULL AND deleted_at IS NULL;

CREATE TRIGGER webhook_endpoint_changed AFTER INSERT OR UPDATE ON webhook_endpoint FOR EACH ROW
  EXECUTE FUNCTION webhook_changed();
CREATE TRIGGER webhook_endpoint_keeps_previous BEFORE UPDATE ON webhook_endpoint FOR EACH ROW
  WHEN (old.previous_until IS DISTINCT FROM new.previous_until)
  EXECUTE FUNCTION keep_previous_secret();
CREATE TRIGGER webhook_endpoint_kept BEFORE DELETE ON webhook_endpoint FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER webhook_endpoint_no_truncate BEFORE TRUNCATE ON webhook_endpoint FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- The sender’s lease on an endpoint. It changes with every attempt, so it lies apart from the settings, and half of
-- each page stays free.
CREATE TABLE webhook_state (
  endpoint_id uuid PRIMARY KEY REFERENCES webhook_endpoint (id),
  due_at timestamptz,
  lease_until timestamptz,
  holder uuid,
  fence integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  taken_at timestamptz,
  refused_since jsonb NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);

-- Due endpoints. Those that answer and those that fail are separate, so that neither waits for the other.
CREATE INDEX webhook_state_due ON webhook_state ((failures > 0), due_at) WHERE due_at IS NOT NULL;
-- Endpoints that fail, by since when; few.
CREATE INDEX webhook_state_failing ON webhook_state (failing_since) WHERE failing_since IS NOT NULL;
