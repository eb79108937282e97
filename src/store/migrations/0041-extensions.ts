/**
 * Rentals can be extended while they run. The keys of orders and extensions lie in one table, unique for ever; those of the
 * orders there are come with the migration after this one, while sales go on.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Whoever is taking or moving an order ends first, and whoever comes next meets the new triggers.
  `LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE`,
  // Narrow, since it is written by every order and never split by time.
  `CREATE TABLE order_key (
     project_id uuid NOT NULL,
     key text NOT NULL,
     order_id bigint NOT NULL,
     extension smallint,
     PRIMARY KEY (project_id, key)
   )`,
  `CREATE TABLE order_extension (
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
     PRIMARY KEY (order_id, number)
   )`,
  `ALTER TABLE orders ADD COLUMN extensions smallint NOT NULL DEFAULT 0`,
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
  `CREATE OR REPLACE FUNCTION order_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
             NEW.project_id, v_type, CASE WHEN v_type IS NOT NULL THEN json_build_object('order', row_to_json(NEW),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < NEW.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = NEW.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = NEW.id),
       'extensions', CASE WHEN NEW.extensions > 0 THEN (
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = NEW.id) END) END);
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION order_compensated() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (order_id, project_id, type, snapshot)
     SELECT o.id, o.project_id, 'order.compensated', json_build_object('order', row_to_json(o),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < o.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = o.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = o.id),
       'extensions', CASE WHEN o.extensions > 0 THEN (
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = o.id) END)
       FROM orders o WHERE o.id = NEW.order_id AND o.project_id <> '00000000-0000-0000-0000-000000000000';
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION order_refusal(
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
END $$`,
  `CREATE OR REPLACE FUNCTION keep_order_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO order_key (project_id, key, order_id) VALUES (NEW.project_id, NEW.key, NEW.id) ON CONFLICT DO NOTHING;
     IF NOT FOUND THEN
       RAISE EXCEPTION 'IDEMPOTENCY_KEY_REUSED' USING ERRCODE = 'ER001';
     END IF;
     RETURN NULL;
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
  `REVOKE EXECUTE ON FUNCTION keep_order_key, extend_order FROM PUBLIC`,
  // By a trigger, and not in accept_order: a session that runs the old body of the function and waits for the lock above
  // goes on with that body, and meets the trigger.
  `CREATE TRIGGER orders_keyed AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION keep_order_key()`,
  `CREATE TRIGGER order_key_kept BEFORE DELETE OR UPDATE ON order_key FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER order_key_no_truncate BEFORE TRUNCATE ON order_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER order_extension_kept BEFORE DELETE OR UPDATE ON order_extension FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER order_extension_no_truncate BEFORE TRUNCATE ON order_extension FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE OR REPLACE TRIGGER orders_changed AFTER UPDATE ON orders FOR EACH ROW
     WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.settled IS DISTINCT FROM NEW.settled
       OR OLD.reclaimed_at IS DISTINCT FROM NEW.reclaimed_at OR OLD.extensions IS DISTINCT FROM NEW.extensions)
     EXECUTE FUNCTION order_changed()`,
];

/** Only while nothing was extended: what was paid for is not to be forgotten. */
const DOWN = [
  `DO $$ BEGIN IF EXISTS (SELECT FROM order_extension) THEN RAISE EXCEPTION 'rentals were extended'; END IF; END $$`,
  `CREATE OR REPLACE TRIGGER orders_changed AFTER UPDATE ON orders FOR EACH ROW
     WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.settled IS DISTINCT FROM NEW.settled
       OR OLD.reclaimed_at IS DISTINCT FROM NEW.reclaimed_at)
     EXECUTE FUNCTION order_changed()`,
  `DROP TRIGGER orders_keyed ON orders`,
  `DROP FUNCTION extend_order, keep_order_key`,
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
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION order_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
             NEW.project_id, v_type, CASE WHEN v_type IS NOT NULL THEN json_build_object('order', row_to_json(NEW),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < NEW.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = NEW.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = NEW.id)) END);
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION order_compensated() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (order_id, project_id, type, snapshot)
     SELECT o.id, o.project_id, 'order.compensated', json_build_object('order', row_to_json(o),
       'legs', (
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < o.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM chain_tx r
                             WHERE r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN chain_tx t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = o.id),
       'compensations', (
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = o.id))
       FROM orders o WHERE o.id = NEW.order_id AND o.project_id <> '00000000-0000-0000-0000-000000000000';
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION order_refusal(
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
     AND NOT EXISTS (SELECT FROM orders o WHERE o.project_id = p_project AND o.key = p_key);
  RETURN v_refusal;
END $$`,
  `ALTER TABLE orders DROP COLUMN extensions`,
  `DROP TABLE order_extension, order_key`,
];

export class Extensions1760000000041 implements MigrationInterface {
  readonly name = 'Extensions1760000000041';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
