-- Tells every API process to drop its cached record of a project. The argument names the column with its id.
CREATE OR REPLACE FUNCTION announce_project() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('project_changed', to_jsonb(NEW) ->> TG_ARGV[0]);
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION announce_project FROM PUBLIC;
