-- Writes the event of a paused or resumed auto-delegation.
CREATE OR REPLACE FUNCTION auto_delegation_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id,
             CASE WHEN NEW.pause_reason IS NULL THEN 'auto_delegation.resumed' ELSE 'auto_delegation.paused' END,
             json_build_object('auto_delegation', row_to_json(NEW)));
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION auto_delegation_changed FROM PUBLIC;
