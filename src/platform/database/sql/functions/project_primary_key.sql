-- Makes a project's primary key with the project, and keeps its secret equal to the project's.
CREATE OR REPLACE FUNCTION project_primary_key() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       INSERT INTO api_key (id, project_id, name, scopes, sealed)
       VALUES (NEW.id, NEW.id, 'primary', '{read,quote,order,manage}', NEW.api_key_sealed);
     ELSE
       UPDATE api_key SET sealed = NEW.api_key_sealed WHERE id = NEW.id;
     END IF;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION project_primary_key FROM PUBLIC;
