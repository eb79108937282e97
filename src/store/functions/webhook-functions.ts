/**
 * What webhooks ask of the database itself: a numbered event becomes a delivery for each endpoint that wants it, in the
 * transaction that numbers it; a change of an endpoint is an event; a project that is frozen gets no repetitions.
 */

/**
 * Only rows of its own are written: whoever numbers events waits for no endpoint's row, which the process that speaks to
 * other people's hosts may hold. By position, so that the list of deliveries, newest first, is the log's order backwards.
 */
const FAN_OUT = `INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT e.id, 'event', n.id, n.payload::json ->> 'id', n.type, n.position
       FROM numbered n JOIN webhook_endpoint e ON e.project_id = n.project_id
      WHERE n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        AND (e.types IS NULL OR n.type = ANY (e.types)) ORDER BY n.position;
     RETURN NULL;`;

/** Of a batch, in one statement: a row of it has its payload when it was numbered, and none when it was pruned. */
const WEBHOOK_FAN_OUT_BATCH_SQL = `
CREATE OR REPLACE FUNCTION webhook_fan_out_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     ${FAN_OUT}
   END $$`;

/** Of the one event that comes with its position. */
const WEBHOOK_FAN_OUT_SQL = `
CREATE OR REPLACE FUNCTION webhook_fan_out() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     WITH numbered AS (SELECT NEW.*) ${FAN_OUT}
   END $$`;

/**
 * Writes the events of an endpoint. Changes within seconds are one event, which `change_reported_at` stands for; a process of the
 * version before does not set it, and then each change is one. A URL is shown without its path and query, which may hold a token.
 */
const WEBHOOK_CHANGED_SQL = `
CREATE OR REPLACE FUNCTION webhook_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
         'id', NEW.id, 'url', regexp_replace(NEW.url, '^([^/]+://[^/?#]+)[/?#].+$', '\\1/…'), 'types', NEW.types, 'description', NEW.description,
         'enabled', NEW.disabled_at IS NULL, 'disabled_reason', NEW.disabled_reason, 'deleted', NEW.deleted_at IS NOT NULL)));
     END IF;
     RETURN NULL;
   END $$`;

/**
 * What is asked for again stops with the project; its events still go out. Who asks holds the endpoint's row, so that what it
 * writes is seen here, or it sees the project frozen.
 */
const WEBHOOK_PROJECT_FROZEN_SQL = `
CREATE OR REPLACE FUNCTION webhook_project_frozen() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     PERFORM FROM webhook_endpoint WHERE project_id = NEW.project_id AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE;
     UPDATE webhook_delivery d SET status = 'dropped', fault = 'PROJECT_FROZEN', next_at = NULL, is_fresh = false,
            ended_at = clock_timestamp()
       FROM webhook_endpoint e
      WHERE e.project_id = NEW.project_id AND e.deleted_at IS NULL AND d.endpoint_id = e.id AND d.status = 'pending'
        AND d.cause <> 'event';
     RETURN NULL;
   END $$`;

/** How many deliveries wait for an endpoint, up to the most: any other way than by the index reads all of them, or the whole table. */
const WEBHOOK_PENDING_SQL = `
CREATE OR REPLACE FUNCTION webhook_pending(p_endpoint uuid, p_most integer) RETURNS integer
  LANGUAGE sql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  SELECT count(*)::int FROM
    (SELECT FROM webhook_delivery d WHERE d.endpoint_id = p_endpoint AND d.status = 'pending' LIMIT p_most) d
$$`;

export const WEBHOOK_FUNCTIONS: Readonly<Record<string, string>> = {
  webhook_fan_out: WEBHOOK_FAN_OUT_SQL,
  webhook_fan_out_batch: WEBHOOK_FAN_OUT_BATCH_SQL,
  webhook_changed: WEBHOOK_CHANGED_SQL,
  webhook_pending: WEBHOOK_PENDING_SQL,
  webhook_project_frozen: WEBHOOK_PROJECT_FROZEN_SQL,
};
