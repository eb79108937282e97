/**
 * What is due for auto-delegations is claimed in turn by project, and what happens during a check has it checked once more
 * instead of ending it. Nothing is bought under a key that may not order any more.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const CHARGE = `CREATE OR REPLACE FUNCTION charge_auto_delegation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
         -- The key that set it goes on ordering for it as long as it may order.
         IF NOT EXISTS (SELECT FROM auto_delegation a JOIN api_key k ON k.id = a.api_key_id
                         WHERE a.id = v_purchase[1]::bigint AND 'order' = ANY (k.scopes)) THEN
           RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
         END IF;
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
   END $$`;

const CHARGE_BEFORE = `CREATE OR REPLACE FUNCTION charge_auto_delegation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
   END $$`;

const UP = [
  // The fence of a check that is under way: whoever raises the fence, the version before too, ends it.
  `ALTER TABLE auto_delegation ADD COLUMN lease_fence bigint`,
  `ALTER TABLE auto_delegation ADD COLUMN due_again boolean NOT NULL DEFAULT false`,
  // Each project's next in the queue, and in the slow round.
  `CREATE INDEX auto_delegation_due_in_turn ON auto_delegation (project_id, due_at) WHERE due_at IS NOT NULL`,
  `CREATE INDEX auto_delegation_check_in_turn ON auto_delegation (project_id, check_at) WHERE check_at IS NOT NULL`,
  CHARGE,
];

const DOWN = [
  CHARGE_BEFORE,
  `DROP INDEX auto_delegation_due_in_turn, auto_delegation_check_in_turn`,
  `ALTER TABLE auto_delegation DROP COLUMN lease_fence, DROP COLUMN due_again`,
];

export class RefillsInTurn1760000000049 implements MigrationInterface {
  readonly name = 'RefillsInTurn1760000000049';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
