-- Tells every console process to end the streams of a session.
CREATE OR REPLACE FUNCTION console_session_ended() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     PERFORM pg_notify('console_session_ended', OLD.id::text);
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION console_session_ended FROM PUBLIC;
