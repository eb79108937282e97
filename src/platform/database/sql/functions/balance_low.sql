-- Writes the event of a balance that fell below its threshold. The trigger fires only if it was not below before: one
-- event until the balance recovers.
CREATE OR REPLACE FUNCTION balance_low() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id, 'balance.low', json_build_object('balance', json_build_object(
       'credits', NEW.balance_credits::text, 'low_balance_credits', NEW.low_balance_credits::text)));
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION balance_low FROM PUBLIC;
