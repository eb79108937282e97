/**
 * Events that cannot be missed: the moves of orders become one table with all other events, whose rows get a position in
 * their project's log. The rows there are stay where they are. The version before goes on reading moves by the old name.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const WRITERS = `order_changed, order_compensated, project_frozen, keep_moves`;

const UP = [
  // Whoever is moving an order ends first, and whoever comes next meets the new triggers.
  `LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE`,
  `ALTER TABLE order_event RENAME TO event`,
  `ALTER INDEX order_event_pkey RENAME TO event_pkey`,
  // An order with its history.
  `ALTER INDEX order_event_order RENAME TO event_order`,
  `ALTER SEQUENCE order_event_id_seq RENAME TO event_id_seq`,
  `ALTER TABLE event ALTER COLUMN order_id DROP NOT NULL, ALTER COLUMN from_status DROP NOT NULL,
     ALTER COLUMN to_status DROP NOT NULL, ADD COLUMN project_id uuid, ADD COLUMN type text, ADD COLUMN snapshot json,
     ADD COLUMN position bigint, ADD COLUMN payload text`,
  // What the numberer takes next: few rows, whatever was ever written.
  `CREATE INDEX event_unnumbered ON event (id) WHERE position IS NULL AND type IS NOT NULL`,
  // A project's log, in order; what is too old to be read is not in it.
  `CREATE UNIQUE INDEX event_log ON event (project_id, position) WHERE payload IS NOT NULL`,
  `CREATE TABLE event_position (project_id uuid PRIMARY KEY, position bigint NOT NULL, pruned_to bigint NOT NULL DEFAULT 0)
     WITH (fillfactor=50)`,
  `CREATE TABLE event_numbering (id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1), server_mark text, pruned_id bigint NOT NULL DEFAULT 0)
     WITH (fillfactor=50)`,
  `INSERT INTO event_numbering DEFAULT VALUES`,
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
  `CREATE OR REPLACE FUNCTION project_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     SELECT p.id, CASE WHEN NEW.frozen THEN 'project.frozen' ELSE 'project.unfrozen' END,
            json_build_object('project', json_build_object('id', p.id, 'name', p.name, 'frozen', NEW.frozen))
       FROM project p WHERE p.id = NEW.project_id;
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION keep_moves() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RETURN NULL; END $$`,
  `REVOKE EXECUTE ON FUNCTION ${WRITERS} FROM PUBLIC`,
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
  `DROP TRIGGER order_event_no_truncate ON event`,
  `CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON event FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER event_kept BEFORE DELETE ON event FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER event_first BEFORE INSERT ON event FOR EACH ROW
     WHEN ((NEW.position IS NOT NULL OR NEW.payload IS NOT NULL) AND NEW.type IS DISTINCT FROM 'log.restarted')
     EXECUTE FUNCTION refuse_change()`,
  // A row gets its position and its payload once; what is too old to be read loses the payload, and stays.
  `CREATE TRIGGER event_changes BEFORE UPDATE ON event FOR EACH ROW
     WHEN (NOT (OLD.id = NEW.id AND OLD.order_id IS NOT DISTINCT FROM NEW.order_id
       AND OLD.from_status IS NOT DISTINCT FROM NEW.from_status AND OLD.to_status IS NOT DISTINCT FROM NEW.to_status
       AND OLD.at = NEW.at AND OLD.chain_at IS NOT DISTINCT FROM NEW.chain_at
       AND OLD.project_id IS NOT DISTINCT FROM NEW.project_id AND OLD.type IS NOT DISTINCT FROM NEW.type
       AND NEW.snapshot IS NULL
       AND (OLD.position IS NULL AND OLD.type IS NOT NULL AND NEW.position IS NOT NULL AND NEW.payload IS NOT NULL
         OR OLD.position IS NOT NULL AND OLD.position IS NOT DISTINCT FROM NEW.position AND NEW.payload IS NULL)))
     EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER orders_changed AFTER UPDATE ON orders FOR EACH ROW
     WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.settled IS DISTINCT FROM NEW.settled
       OR OLD.reclaimed_at IS DISTINCT FROM NEW.reclaimed_at)
     EXECUTE FUNCTION order_changed()`,
  `CREATE TRIGGER credit_entry_compensates AFTER INSERT ON credit_entry FOR EACH ROW WHEN (NEW.kind = 'compensation')
     EXECUTE FUNCTION order_compensated()`,
  `CREATE TRIGGER credit_account_frozen AFTER UPDATE ON credit_account FOR EACH ROW
     WHEN (OLD.frozen IS DISTINCT FROM NEW.frozen) EXECUTE FUNCTION project_frozen()`,
  `CREATE VIEW order_event AS SELECT id, order_id, from_status, to_status, at, chain_at FROM event WHERE to_status IS NOT NULL`,
  // Its verify asks for a trigger of this name.
  `CREATE TRIGGER order_event_no_truncate INSTEAD OF DELETE ON order_event FOR EACH ROW EXECUTE FUNCTION keep_moves()`,
];

const DOWN = [
  `DROP VIEW order_event`,
  `DROP TRIGGER credit_account_frozen ON credit_account`,
  `DROP TRIGGER credit_entry_compensates ON credit_entry`,
  `DROP TRIGGER orders_changed ON orders`,
  `DROP TRIGGER event_changes ON event`,
  `DROP TRIGGER event_first ON event`,
  `DROP TRIGGER event_kept ON event`,
  `DROP TRIGGER event_no_truncate ON event`,
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
    INSERT INTO order_event (order_id, from_status, to_status, chain_at)
    VALUES (NEW.id, OLD.status, NEW.status, NEW.delivered_at);
  END IF;
  RETURN NEW;
END$$`,
  `DROP FUNCTION ${WRITERS}`,
  `DROP TABLE event_numbering, event_position`,
  `DROP INDEX event_log`,
  `DROP INDEX event_unnumbered`,
  `DELETE FROM event WHERE to_status IS NULL`,
  `ALTER TABLE event DROP COLUMN payload, DROP COLUMN position, DROP COLUMN snapshot, DROP COLUMN type,
     DROP COLUMN project_id, ALTER COLUMN to_status SET NOT NULL, ALTER COLUMN from_status SET NOT NULL,
     ALTER COLUMN order_id SET NOT NULL`,
  `ALTER SEQUENCE event_id_seq RENAME TO order_event_id_seq`,
  `ALTER INDEX event_order RENAME TO order_event_order`,
  `ALTER INDEX event_pkey RENAME TO order_event_pkey`,
  `ALTER TABLE event RENAME TO order_event`,
  `CREATE TRIGGER order_event_no_truncate BEFORE TRUNCATE ON order_event FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

export class Events1760000000020 implements MigrationInterface {
  readonly name = 'Events1760000000020';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
