-- Writes the event of a project that was frozen or unfrozen.
CREATE OR REPLACE FUNCTION project_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     SELECT p.id, CASE WHEN NEW.frozen THEN 'project.frozen' ELSE 'project.unfrozen' END,
            json_build_object('project', json_build_object('id', p.id, 'name', p.name, 'frozen', NEW.frozen))
       FROM project p WHERE p.id = NEW.project_id;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION project_frozen FROM PUBLIC;
