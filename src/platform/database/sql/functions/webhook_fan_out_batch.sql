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
