-- Drops requested repetitions when a project is frozen; its events are still delivered. A request holds the
-- endpoint's row, so its repetitions are seen here, or it sees the frozen project.
CREATE OR REPLACE FUNCTION webhook_project_frozen() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     PERFORM FROM webhook_endpoint WHERE project_id = NEW.project_id AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE;
     UPDATE webhook_delivery d SET status = 'dropped', fault = 'PROJECT_FROZEN', next_at = NULL, is_fresh = false,
            ended_at = clock_timestamp()
       FROM webhook_endpoint e
      WHERE e.project_id = NEW.project_id AND e.deleted_at IS NULL AND d.endpoint_id = e.id AND d.status = 'pending'
        AND d.cause <> 'event';
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION webhook_project_frozen FROM PUBLIC;
