/** The first check after an order of an auto-delegation moved is known by the time of its next change, which is not known then. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const MOVED = `CREATE OR REPLACE FUNCTION auto_delegation_order_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     IF NEW.key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
       UPDATE auto_delegation a
          SET open_order_id = CASE WHEN a.open_order_id = NEW.id AND NEW.status IN ('delivered', 'refunded') THEN NULL
                                   ELSE a.open_order_id END,
              due_at = CASE WHEN a.asleep THEN a.due_at ELSE clock_timestamp() END, change_at = NULL, fence = a.fence + 1
        WHERE a.id = split_part(NEW.key, '_', 2)::bigint AND a.project_id = NEW.project_id;
     END IF;
     RETURN NULL;
   END $$`;

const MOVED_BEFORE = `CREATE OR REPLACE FUNCTION auto_delegation_order_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     IF NEW.key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
       UPDATE auto_delegation a
          SET open_order_id = CASE WHEN a.open_order_id = NEW.id AND NEW.status IN ('delivered', 'refunded') THEN NULL
                                   ELSE a.open_order_id END,
              due_at = CASE WHEN a.asleep THEN a.due_at ELSE clock_timestamp() END, fence = a.fence + 1
        WHERE a.id = split_part(NEW.key, '_', 2)::bigint AND a.project_id = NEW.project_id;
     END IF;
     RETURN NULL;
   END $$`;

export class FirstCheck1760000000055 implements MigrationInterface {
  readonly name = 'FirstCheck1760000000055';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(MOVED);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(MOVED_BEFORE);
  }
}
