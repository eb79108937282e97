-- Sets the time and the roles of an entry, and ignores the caller's values.
CREATE OR REPLACE FUNCTION stamp_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.at := clock_timestamp();
     NEW.login_role := session_user;
     NEW.acting_role := current_user;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION stamp_audit_entry FROM PUBLIC;
