-- Refuses any change of an ended leg.
CREATE OR REPLACE FUNCTION leg_final() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF OLD IS DISTINCT FROM NEW THEN
       RAISE EXCEPTION 'leg %: ended, never changed', OLD.id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION leg_final FROM PUBLIC;
