/** Addresses that are kept supplied with energy, and what buys for them. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE TABLE auto_delegation (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     project_id uuid NOT NULL,
     address text NOT NULL,
     api_key_id uuid NOT NULL,
     keep_energy bigint NOT NULL CHECK (keep_energy > 0),
     refill_below bigint NOT NULL CHECK (refill_below > 0 AND refill_below <= keep_energy),
     duration_sec integer NOT NULL CHECK (duration_sec > 0),
     max_sun_per_energy bigint CHECK (max_sun_per_energy > 0),
     daily_cap_credits bigint NOT NULL CHECK (daily_cap_credits >= 0),
     idle_after_sec integer NOT NULL CHECK (idle_after_sec > 0),
     until timestamptz,
     asleep boolean NOT NULL DEFAULT false,
     pause_reason text,
     paused_at timestamptz CHECK ((paused_at IS NULL) = (pause_reason IS NULL)),
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
     -- One for each address of a project.
     CONSTRAINT auto_delegation_address UNIQUE (project_id, address)
   ) WITH (fillfactor = 80)`,
  // Whose address is in a block.
  `CREATE INDEX auto_delegation_used ON auto_delegation (address)`,
  // A project's, newest first, and its cursor.
  `CREATE INDEX auto_delegation_project ON auto_delegation (project_id, id DESC)`,
  // What is to be checked now, at a change of rentals, and in the slow round.
  `CREATE INDEX auto_delegation_due ON auto_delegation (due_at) WHERE due_at IS NOT NULL`,
  `CREATE INDEX auto_delegation_change ON auto_delegation (change_at) WHERE change_at IS NOT NULL`,
  `CREATE INDEX auto_delegation_check ON auto_delegation (check_at) WHERE check_at IS NOT NULL`,
  `CREATE OR REPLACE FUNCTION buy_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_energy bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_amount bigint, p_leg_slack bigint, p_legs_max integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
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
  PERFORM set_config('energy.auto_delegation', p_auto || ':' || p_fence || ':' || p_number || ':order', true);
  SELECT t.refusal, t.created, t.order_id, t.same_request INTO v_refusal, created, order_id, v_same
    FROM take_order(
      v_auto.project_id, v_auto.api_key_id, 'auto_' || p_auto || '_' || p_number, p_hash, 'rental', NULL, NULL,
      v_auto.address, p_energy, p_duration, p_price, p_credits, p_rate, p_amount, p_leg_slack, p_refusal,
      p_request_id, p_legs_max, p_lock_ms) t;
  IF v_refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', v_refusal USING ERRCODE = 'ER001';
  END IF;
  -- Callers could take such keys before they were kept for this: the number is passed over.
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$`,
  `CREATE OR REPLACE FUNCTION extend_for_auto_delegation(
  p_auto bigint, p_fence bigint, p_number bigint, p_hash bytea, p_order bigint, p_duration integer,
  p_price bigint, p_credits bigint, p_rate bigint, p_head timestamptz, p_longest integer,
  p_refusal text, p_request_id text, p_lock_ms integer DEFAULT 2000,
  OUT created boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_auto auto_delegation;
BEGIN
  SELECT * INTO v_auto FROM auto_delegation a WHERE a.id = p_auto;
  IF NOT FOUND OR v_auto.fence <> p_fence OR v_auto.purchases <> p_number - 1 THEN
    RAISE EXCEPTION 'AUTO_DELEGATION_MOVED' USING ERRCODE = 'ER001';
  END IF;
  IF NOT EXISTS (SELECT FROM orders o WHERE o.id = p_order AND o.project_id = v_auto.project_id
                    AND o.key LIKE 'auto\\_' || p_auto || '\\_%') THEN
    RAISE EXCEPTION 'NOT_EXTENDABLE' USING ERRCODE = 'ER001';
  END IF;
  PERFORM set_config('energy.auto_delegation', p_auto || ':' || p_fence || ':' || p_number || ':extension', true);
  SELECT x.created INTO created
    FROM extend_order(
      v_auto.project_id, v_auto.api_key_id, 'auto_' || p_auto || '_' || p_number, p_hash, p_order, p_duration,
      p_price, p_credits, p_rate, p_head, p_longest, p_refusal, p_request_id, p_lock_ms) x;
  IF NOT created THEN
    UPDATE auto_delegation a SET purchases = p_number WHERE a.id = p_auto AND a.fence = p_fence AND a.purchases = p_number - 1;
  END IF;
END $$`,
  `CREATE OR REPLACE FUNCTION charge_auto_delegation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_purchase text[] := string_to_array(current_setting('energy.auto_delegation', true), ':');
     v_key text;
     v_today date;
     v_counted_on date;
     v_charged_on date;
   BEGIN
     IF NEW.kind = 'refund' THEN
       SELECT o.key INTO v_key FROM orders o WHERE o.id = NEW.order_id;
       IF v_key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
         UPDATE auto_delegation a SET spent_credits = greatest(a.spent_credits - NEW.credits, 0)
           FROM credit_entry c
          WHERE a.id = split_part(v_key, '_', 2)::bigint AND a.project_id = NEW.project_id
            AND c.entry_key = 'charge:' || NEW.order_id AND a.spent_on = (c.created_at AT TIME ZONE 'UTC')::date;
       END IF;
       RETURN NULL;
     END IF;
     LOOP
       v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
       UPDATE auto_delegation a
          SET purchases = v_purchase[3]::bigint,
              open_order_id = CASE v_purchase[4] WHEN 'order' THEN NEW.order_id END,
              spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits,
              spent_on = greatest(a.spent_on, v_today)
        WHERE a.id = v_purchase[1]::bigint AND a.project_id = NEW.project_id AND a.fence = v_purchase[2]::bigint
          AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL
          AND CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits <= a.daily_cap_credits
       RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
       IF FOUND THEN
         -- The wait for the row's lock lasted into the next day, which begins with this charge.
         IF v_charged_on > v_counted_on THEN
           UPDATE auto_delegation SET spent_on = v_charged_on, spent_credits = -NEW.credits WHERE id = v_purchase[1]::bigint;
         END IF;
         RETURN NULL;
       END IF;
       CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
       RAISE EXCEPTION '%', CASE WHEN EXISTS (
           SELECT FROM auto_delegation a
            WHERE a.id = v_purchase[1]::bigint AND a.fence = v_purchase[2]::bigint
              AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL)
         THEN 'SPEND_CAP_REACHED' ELSE 'AUTO_DELEGATION_MOVED' END USING ERRCODE = 'ER001';
     END LOOP;
   END $$`,
  `CREATE OR REPLACE FUNCTION auto_delegation_order_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     IF NEW.key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
       UPDATE auto_delegation a
          SET open_order_id = CASE WHEN a.open_order_id = NEW.id AND NEW.status IN ('delivered', 'refunded') THEN NULL
                                   ELSE a.open_order_id END,
              due_at = CASE WHEN a.asleep THEN a.due_at ELSE clock_timestamp() END, fence = a.fence + 1
        WHERE a.id = split_part(NEW.key, '_', 2)::bigint AND a.project_id = NEW.project_id;
     END IF;
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION auto_delegation_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id,
             CASE WHEN NEW.pause_reason IS NULL THEN 'auto_delegation.resumed' ELSE 'auto_delegation.paused' END,
             json_build_object('auto_delegation', row_to_json(NEW)));
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION buy_for_auto_delegation, extend_for_auto_delegation, charge_auto_delegation,
     auto_delegation_order_moved, auto_delegation_changed FROM PUBLIC`,
  // Before the charge of the API key, by its name: the order of locks.
  `CREATE TRIGGER credit_entry_charges_auto_delegation AFTER INSERT ON credit_entry FOR EACH ROW
     WHEN (NEW.kind = 'refund' OR (NEW.kind = 'charge' AND current_setting('energy.auto_delegation', true) <> ''))
     EXECUTE FUNCTION charge_auto_delegation()`,
  `CREATE TRIGGER orders_of_auto_delegation AFTER UPDATE ON orders FOR EACH ROW
     WHEN (NEW.key LIKE 'auto\\_%' AND
           (OLD.status IS DISTINCT FROM NEW.status OR OLD.reclaimed_at IS DISTINCT FROM NEW.reclaimed_at))
     EXECUTE FUNCTION auto_delegation_order_moved()`,
  `CREATE TRIGGER auto_delegation_changed AFTER UPDATE ON auto_delegation FOR EACH ROW
     WHEN (OLD.pause_reason IS DISTINCT FROM NEW.pause_reason) EXECUTE FUNCTION auto_delegation_changed()`,
  `CREATE TRIGGER auto_delegation_no_truncate BEFORE TRUNCATE ON auto_delegation FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

export class AutoDelegations1760000000043 implements MigrationInterface {
  readonly name = 'AutoDelegations1760000000043';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TRIGGER credit_entry_charges_auto_delegation ON credit_entry`);
    await runner.query(`DROP TRIGGER orders_of_auto_delegation ON orders`);
    await runner.query(`DROP FUNCTION buy_for_auto_delegation, extend_for_auto_delegation, charge_auto_delegation,
      auto_delegation_order_moved`);
    await runner.query(`DROP TABLE auto_delegation`);
    await runner.query(`DROP FUNCTION auto_delegation_changed`);
  }
}
