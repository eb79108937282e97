/**
 * Webhooks: what a receiver refuses no longer slows its endpoint down, a request of the owner is sent immediately, and what
 * a project may change, rotate and have repeated in a day is bounded.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `ALTER TABLE webhook_state ADD COLUMN taken_at timestamptz, ADD COLUMN refused_since jsonb NOT NULL DEFAULT '{}'`,
  `ALTER TABLE webhook_delivery ADD COLUMN is_requested boolean NOT NULL DEFAULT false`,
  // What an owner asked for goes before everything that waits. Nearly empty: rows leave it with their next attempt.
  `CREATE INDEX webhook_delivery_requested ON webhook_delivery (endpoint_id, id) WHERE status = 'pending' AND is_requested`,
  `ALTER TABLE webhook_endpoint ADD COLUMN change_reported_at timestamptz`,
  // Changes that no event was written of yet; nearly empty. Asked every five seconds.
  `CREATE INDEX webhook_endpoint_unreported ON webhook_endpoint (id) WHERE changed_at > change_reported_at AND deleted_at IS NULL`,
  // What was asked for in the last 24 hours: at most as many rows for a project as its bounds allow.
  `CREATE TABLE webhook_act (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     project_id uuid NOT NULL REFERENCES project (id),
     act text NOT NULL CHECK (act IN ('change', 'rotate', 'resend', 'replay')),
     count integer NOT NULL CHECK (count > 0),
     created_at timestamptz NOT NULL DEFAULT clock_timestamp()
   )`,
  // Every count of a project's acts, and their deletion a day later.
  `CREATE INDEX webhook_act_project ON webhook_act (project_id, act, created_at)`,
  `CREATE OR REPLACE FUNCTION webhook_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_type text := 'webhook.created';
   BEGIN
     IF TG_OP = 'UPDATE' THEN
       v_type := CASE
         WHEN NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL THEN 'webhook.disabled'
         WHEN NEW.failing_told_at IS NOT NULL AND OLD.failing_told_at IS NULL THEN 'webhook.failing'
         WHEN NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN 'webhook.changed'
         WHEN NEW.change_reported_at IS DISTINCT FROM OLD.change_reported_at THEN 'webhook.changed'
         WHEN NEW.change_reported_at IS NULL AND NEW.changed_at IS DISTINCT FROM OLD.changed_at THEN 'webhook.changed' END;
     END IF;
     IF v_type IS NOT NULL THEN
       INSERT INTO event (project_id, type, snapshot)
       VALUES (NEW.project_id, v_type, json_build_object('webhook', json_build_object(
         'id', NEW.id, 'url', split_part(NEW.url, '?', 1), 'types', NEW.types, 'description', NEW.description,
         'enabled', NEW.disabled_at IS NULL, 'disabled_reason', NEW.disabled_reason, 'deleted', NEW.deleted_at IS NOT NULL)));
     END IF;
     RETURN NULL;
   END $$`,
];

const DOWN = [
  `CREATE OR REPLACE FUNCTION webhook_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_type text := 'webhook.created';
   BEGIN
     IF TG_OP = 'UPDATE' THEN
       v_type := CASE
         WHEN NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL THEN 'webhook.disabled'
         WHEN NEW.failing_told_at IS NOT NULL AND OLD.failing_told_at IS NULL THEN 'webhook.failing'
         WHEN NEW.changed_at IS DISTINCT FROM OLD.changed_at THEN 'webhook.changed' END;
     END IF;
     IF v_type IS NOT NULL THEN
       INSERT INTO event (project_id, type, snapshot)
       VALUES (NEW.project_id, v_type, json_build_object('webhook', json_build_object(
         'id', NEW.id, 'url', split_part(NEW.url, '?', 1), 'types', NEW.types, 'description', NEW.description,
         'enabled', NEW.disabled_at IS NULL, 'disabled_reason', NEW.disabled_reason, 'deleted', NEW.deleted_at IS NOT NULL)));
     END IF;
     RETURN NULL;
   END $$`,
  `DROP TABLE webhook_act`,
  `DROP INDEX webhook_endpoint_unreported`,
  `ALTER TABLE webhook_endpoint DROP COLUMN change_reported_at`,
  `DROP INDEX webhook_delivery_requested`,
  `ALTER TABLE webhook_delivery DROP COLUMN is_requested`,
  `ALTER TABLE webhook_state DROP COLUMN taken_at, DROP COLUMN refused_since`,
];

export class BoundedWebhooks1760000000075 implements MigrationInterface {
  readonly name = 'BoundedWebhooks1760000000075';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
