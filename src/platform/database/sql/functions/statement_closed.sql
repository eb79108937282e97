-- Writes the event of a closed statement.
CREATE OR REPLACE FUNCTION statement_closed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id, 'statement.ready', json_build_object('statement', row_to_json(NEW)));
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION statement_closed FROM PUBLIC;
