/** Webhooks: where a project's events are sent, and every delivery of one. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const FUNCTIONS = `webhook_fan_out, webhook_changed, webhook_project_frozen`;

const UP = [
  // Never deleted, so that deliveries and events go on naming something; what was its secret goes.
  `CREATE TABLE webhook_endpoint (
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
     CHECK ((secret_sealed IS NULL) = (deleted_at IS NOT NULL)),
     CHECK ((previous_secret_sealed IS NULL) = (previous_until IS NULL)),
     CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
   )`,
  // Asked of every event, and of every list.
  `CREATE INDEX webhook_endpoint_project ON webhook_endpoint (project_id) WHERE deleted_at IS NULL`,
  // Whose turn it is, which changes with every attempt: apart from what was configured, and half of each page free for it.
  `CREATE TABLE webhook_state (
     endpoint_id uuid PRIMARY KEY REFERENCES webhook_endpoint (id),
     due_at timestamptz,
     lease_until timestamptz,
     holder uuid,
     fence integer NOT NULL DEFAULT 0,
     failures integer NOT NULL DEFAULT 0,
     failing_since timestamptz
   ) WITH (fillfactor=50)`,
  // What is due, of endpoints that answer and of those that fail apart: the one never waits for the other.
  `CREATE INDEX webhook_state_due ON webhook_state ((failures > 0), due_at) WHERE due_at IS NOT NULL`,
  // Who has failed for how long; few.
  `CREATE INDEX webhook_state_failing ON webhook_state (failing_since) WHERE failing_since IS NOT NULL`,
  // No foreign keys: endpoints stay, events stay, and each would lock a row of theirs for every delivery.
  `CREATE TABLE webhook_delivery (
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
     CHECK ((status = 'pending') = (next_at IS NOT NULL)),
     CHECK ((status = 'pending') = (ended_at IS NULL)),
     CHECK ((event_id IS NULL) = (payload IS NOT NULL))
   )`,
  // What was written since the sender last looked.
  `CREATE INDEX webhook_delivery_fresh ON webhook_delivery (id) WHERE is_fresh`,
  // What an endpoint waits for, in its order: replays behind everything else.
  `CREATE INDEX webhook_delivery_pending ON webhook_delivery (endpoint_id, (cause = 'replay'), position, id) WHERE status = 'pending'`,
  // The list of an endpoint's deliveries, newest first.
  `CREATE INDEX webhook_delivery_endpoint ON webhook_delivery (endpoint_id, id)`,
  // When the next request may go to a host or an address, whichever process sends it. Nothing is lost with it.
  `CREATE UNLOGGED TABLE webhook_destination (name text PRIMARY KEY, free_at timestamptz NOT NULL) WITH (fillfactor=50)`,
  `CREATE OR REPLACE FUNCTION webhook_fan_out() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT e.id, 'event', NEW.id, NEW.payload::json ->> 'id', NEW.type, NEW.position FROM webhook_endpoint e
      WHERE e.project_id = NEW.project_id AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        AND (e.types IS NULL OR NEW.type = ANY (e.types));
     RETURN NULL;
   END $$`,
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
  `CREATE OR REPLACE FUNCTION webhook_project_frozen() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     UPDATE webhook_delivery d SET status = 'dropped', fault = 'PROJECT_FROZEN', next_at = NULL, is_fresh = false,
            ended_at = clock_timestamp()
       FROM webhook_endpoint e
      WHERE e.project_id = NEW.project_id AND d.endpoint_id = e.id AND d.status = 'pending' AND d.cause <> 'event';
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION ${FUNCTIONS} FROM PUBLIC`,
  `CREATE TRIGGER event_numbered AFTER UPDATE ON event FOR EACH ROW
     WHEN (OLD.position IS NULL AND NEW.position IS NOT NULL) EXECUTE FUNCTION webhook_fan_out()`,
  // The one event that comes with its position.
  `CREATE TRIGGER event_restarted AFTER INSERT ON event FOR EACH ROW
     WHEN (NEW.position IS NOT NULL) EXECUTE FUNCTION webhook_fan_out()`,
  `CREATE TRIGGER webhook_endpoint_changed AFTER INSERT OR UPDATE ON webhook_endpoint FOR EACH ROW
     EXECUTE FUNCTION webhook_changed()`,
  `CREATE TRIGGER webhook_endpoint_kept BEFORE DELETE ON webhook_endpoint FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER webhook_endpoint_no_truncate BEFORE TRUNCATE ON webhook_endpoint FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER webhook_delivery_no_truncate BEFORE TRUNCATE ON webhook_delivery FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER credit_account_frozen_stops_repetitions AFTER UPDATE ON credit_account FOR EACH ROW
     WHEN (NEW.frozen AND NOT OLD.frozen) EXECUTE FUNCTION webhook_project_frozen()`,
];

const DOWN = [
  `DROP TRIGGER credit_account_frozen_stops_repetitions ON credit_account`,
  `DROP TRIGGER event_restarted ON event`,
  `DROP TRIGGER event_numbered ON event`,
  `DROP TABLE webhook_destination, webhook_delivery, webhook_state, webhook_endpoint`,
  `DROP FUNCTION ${FUNCTIONS}`,
];

export class Webhooks1760000000027 implements MigrationInterface {
  readonly name = 'Webhooks1760000000027';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
