-- Keeps the replaced key for as long as it verifies. A trigger, so that rotating needs no right to read sealed
-- secrets.
CREATE OR REPLACE FUNCTION keep_previous_key() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.previous_sealed := CASE WHEN NEW.previous_until IS NOT NULL THEN OLD.sealed END;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION keep_previous_key FROM PUBLIC;
