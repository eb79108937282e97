/**
 * Deliveries of a batch of events are written by position: row by row they came in whatever order the planner numbered the
 * events, and the list of deliveries, newest first, did not follow the log.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE OR REPLACE FUNCTION webhook_fan_out() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     WITH numbered AS (SELECT NEW.*) INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT e.id, 'event', n.id, n.payload::json ->> 'id', n.type, n.position
       FROM numbered n JOIN webhook_endpoint e ON e.project_id = n.project_id
      WHERE n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        AND (e.types IS NULL OR n.type = ANY (e.types)) ORDER BY n.position;
     RETURN NULL;
   END $$`,
  `CREATE FUNCTION webhook_fan_out_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT e.id, 'event', n.id, n.payload::json ->> 'id', n.type, n.position
       FROM numbered n JOIN webhook_endpoint e ON e.project_id = n.project_id
      WHERE n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        AND (e.types IS NULL OR n.type = ANY (e.types)) ORDER BY n.position;
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION webhook_fan_out_batch FROM PUBLIC`,
  `DROP TRIGGER event_numbered ON event`,
  `CREATE TRIGGER event_numbered AFTER UPDATE ON event REFERENCING NEW TABLE AS numbered FOR EACH STATEMENT
     EXECUTE FUNCTION webhook_fan_out_batch()`,
];

const DOWN = [
  `DROP TRIGGER event_numbered ON event`,
  `CREATE OR REPLACE FUNCTION webhook_fan_out() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT e.id, 'event', NEW.id, NEW.payload::json ->> 'id', NEW.type, NEW.position FROM webhook_endpoint e
      WHERE e.project_id = NEW.project_id AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        AND (e.types IS NULL OR NEW.type = ANY (e.types));
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER event_numbered AFTER UPDATE ON event FOR EACH ROW
     WHEN (OLD.position IS NULL AND NEW.position IS NOT NULL) EXECUTE FUNCTION webhook_fan_out()`,
  `DROP FUNCTION webhook_fan_out_batch()`,
];

export class DeliveriesInOrder1760000000060 implements MigrationInterface {
  readonly name = 'DeliveriesInOrder1760000000060';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
