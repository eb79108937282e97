-- Keeps `judged` only in an update that sets it and changes nothing else; any other change clears it. Compared by
-- stored values, since json has no equality.
CREATE OR REPLACE FUNCTION orders_judged() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       NEW.judged := false;
     ELSE
       OLD.judged := true;
       NEW.judged := OLD *= NEW;
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION orders_judged FROM PUBLIC;
