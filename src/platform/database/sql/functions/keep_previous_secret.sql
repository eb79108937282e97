-- Keeps the replaced webhook secret for as long as it signs. A trigger, so that rotating needs no right to read
-- sealed secrets.
CREATE OR REPLACE FUNCTION keep_previous_secret() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.previous_secret_sealed := CASE WHEN NEW.previous_until IS NOT NULL THEN OLD.secret_sealed END;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION keep_previous_secret FROM PUBLIC;
