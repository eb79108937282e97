-- Makes the deliveries of a batch of numbered events: one for each endpoint that wants the event. It writes only new
-- rows, so the numberer waits for no endpoint's row. Ordered by position, so that the list of deliveries, newest
-- first, is the log in reverse. A pruned row has no payload.
CREATE OR REPLACE FUNCTION webhook_fan_out_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT e.id, 'event', n.id, n.payload::json ->> 'id', n.type, n.position
       FROM numbered n JOIN webhook_endpoint e ON e.project_id = n.project_id
      WHERE n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        AND (e.types IS NULL OR n.type = ANY (e.types)) ORDER BY n.position;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION webhook_fan_out_batch FROM PUBLIC;
