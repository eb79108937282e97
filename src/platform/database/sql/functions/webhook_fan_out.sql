-- Makes the deliveries of one event that is inserted with its position.
CREATE OR REPLACE FUNCTION webhook_fan_out() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     WITH numbered AS (SELECT NEW.*) INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
     SELECT e.id, 'event', n.id, n.payload::json ->> 'id', n.type, n.position
       FROM numbered n JOIN webhook_endpoint e ON e.project_id = n.project_id
      WHERE n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        AND (e.types IS NULL OR n.type = ANY (e.types)) ORDER BY n.position;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION webhook_fan_out FROM PUBLIC;
