-- Charges the daily cap of the paying key with the ledger entry: after the entry and before the balance, as the lock
-- order has it. A refund lowers the spent amount of the day of its charge.
-- With the owner's rights: roles that write entries may not read what keys have spent.
CREATE OR REPLACE FUNCTION charge_api_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_key uuid := coalesce(NEW.api_key_id, NEW.project_id);
     v_today date;
     v_counted_on date;
     v_charged_on date;
   BEGIN
     IF NEW.kind = 'refund' THEN
       UPDATE api_key k SET spent_credits = greatest(k.spent_credits - NEW.credits, 0)
         FROM credit_entry c
        WHERE c.entry_key = 'charge:' || NEW.order_id AND k.id = coalesce(c.api_key_id, c.project_id)
          AND k.spent_on = (c.created_at AT TIME ZONE 'UTC')::date;
       RETURN NULL;
     END IF;
     LOOP
       v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
       UPDATE api_key k
          SET spent_credits = CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END - NEW.credits,
              spent_on = greatest(k.spent_on, v_today)
        WHERE k.id = v_key AND k.project_id = NEW.project_id AND k.revoked_at IS NULL
          AND (k.daily_cap_credits IS NULL OR
               CASE WHEN k.spent_on >= v_today THEN k.spent_credits ELSE 0 END - NEW.credits <= k.daily_cap_credits)
       RETURNING k.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
       IF FOUND THEN
         -- The wait for the row's lock lasted into the next day, which begins with this charge.
         IF v_charged_on > v_counted_on THEN
           UPDATE api_key SET spent_on = v_charged_on, spent_credits = -NEW.credits WHERE id = v_key;
         END IF;
         RETURN NULL;
       END IF;
       CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
       RAISE EXCEPTION '%', CASE WHEN EXISTS (
           SELECT FROM api_key k WHERE k.id = v_key AND k.project_id = NEW.project_id AND k.revoked_at IS NULL)
         THEN 'SPEND_CAP_REACHED' ELSE 'INVALID_SIGNATURE' END USING ERRCODE = 'ER001';
     END LOOP;
   END $$;

REVOKE EXECUTE ON FUNCTION charge_api_key FROM PUBLIC;
