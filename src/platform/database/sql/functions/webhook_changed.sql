-- Writes the events of an endpoint. Changes within seconds are one event, marked by `change_reported_at`. The URL is
-- shown without its path and query, which may hold a token.
CREATE OR REPLACE FUNCTION webhook_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_type text := 'webhook.created';
   BEGIN
     IF TG_OP = 'UPDATE' THEN
       v_type := CASE
         WHEN NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL THEN 'webhook.disabled'
         WHEN NEW.failing_told_at IS NOT NULL AND OLD.failing_told_at IS NULL THEN 'webhook.failing'
         WHEN NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN 'webhook.changed'
         WHEN NEW.change_reported_at IS DISTINCT FROM OLD.change_reported_at THEN 'webhook.changed' END;
     END IF;
     IF v_type IS NOT NULL THEN
       INSERT INTO event (project_id, type, snapshot)
       VALUES (NEW.project_id, v_type, json_build_object('webhook', json_build_object(
         'id', NEW.id, 'url', regexp_replace(NEW.url, '^([^/]+://[^/?#]+)[/?#].+$', '\1/…'), 'types', NEW.types, 'description', NEW.description,
         'enabled', NEW.disabled_at IS NULL, 'disabled_reason', NEW.disabled_reason, 'deleted', NEW.deleted_at IS NOT NULL)));
     END IF;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION webhook_changed FROM PUBLIC;
