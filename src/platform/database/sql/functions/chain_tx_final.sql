-- Refuses changes of a final transaction, except for the number of sends and the burnt amount, which is recorded
-- once.
CREATE OR REPLACE FUNCTION chain_tx_final() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- A transaction that was given up, and is found in a solid block after all, may be assigned to another leg.
     IF OLD.status <> 'solid' AND NEW.status = 'solid' THEN
       RETURN NEW;
     END IF;
     -- Generated after this trigger.
     OLD.stage := NEW.stage;
     OLD.sends := NEW.sends;
     OLD.sent_at := NEW.sent_at;
     IF OLD.status = 'solid' AND OLD.fee_sun IS NULL THEN
       OLD.fee_sun := NEW.fee_sun;
     END IF;
     IF OLD IS DISTINCT FROM NEW THEN
       RAISE EXCEPTION 'chain transaction %: final, never changed', OLD.id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION chain_tx_final FROM PUBLIC;
