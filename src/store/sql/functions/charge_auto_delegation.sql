-- With the ledger entry of a purchase: takes its number, opens it if it is an order, and charges the daily cap, under
-- the row's lock. Of many checks that saw the same need, one finds the row unchanged. A refund lowers the spent
-- amount of the day of its charge.
-- The purchase comes in the setting energy.auto_delegation as id:fence:number:order or id:fence:number:extension.
CREATE OR REPLACE FUNCTION charge_auto_delegation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE
     v_purchase text[] := string_to_array(current_setting('energy.auto_delegation', true), ':');
     v_key text;
     v_today date;
     v_counted_on date;
     v_charged_on date;
   BEGIN
     IF NEW.kind = 'refund' THEN
       SELECT o.key INTO v_key FROM open_orders o WHERE o.id = NEW.order_id;
       IF v_key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
         UPDATE auto_delegation a SET spent_credits = greatest(a.spent_credits - NEW.credits, 0)
           FROM credit_entry c
          WHERE a.id = split_part(v_key, '_', 2)::bigint AND a.project_id = NEW.project_id
            AND c.entry_key = 'charge:' || NEW.order_id AND a.spent_on = (c.created_at AT TIME ZONE 'UTC')::date;
       END IF;
       RETURN NULL;
     END IF;
     LOOP
       v_today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
       UPDATE auto_delegation a
          SET purchases = v_purchase[3]::bigint,
              open_order_id = CASE v_purchase[4] WHEN 'order' THEN NEW.order_id END,
              spent_credits = CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits,
              spent_on = greatest(a.spent_on, v_today)
        WHERE a.id = v_purchase[1]::bigint AND a.project_id = NEW.project_id AND a.fence = v_purchase[2]::bigint
          AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL
          AND CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END - NEW.credits <= a.daily_cap_credits
       RETURNING a.spent_on, (clock_timestamp() AT TIME ZONE 'UTC')::date INTO v_counted_on, v_charged_on;
       IF FOUND THEN
         -- The key that set it goes on ordering for it as long as it may order.
         IF NOT EXISTS (SELECT FROM auto_delegation a JOIN api_key k ON k.id = a.api_key_id
                         WHERE a.id = v_purchase[1]::bigint AND 'order' = ANY (k.scopes)) THEN
           RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
         END IF;
         -- The wait for the row's lock lasted into the next day, which begins with this charge.
         IF v_charged_on > v_counted_on THEN
           UPDATE auto_delegation SET spent_on = v_charged_on, spent_credits = -NEW.credits WHERE id = v_purchase[1]::bigint;
         END IF;
         RETURN NULL;
       END IF;
       CONTINUE WHEN (clock_timestamp() AT TIME ZONE 'UTC')::date > v_today;
       RAISE EXCEPTION '%', CASE WHEN EXISTS (
           SELECT FROM auto_delegation a
            WHERE a.id = v_purchase[1]::bigint AND a.fence = v_purchase[2]::bigint
              AND a.purchases = v_purchase[3]::bigint - 1 AND a.open_order_id IS NULL)
         THEN 'SPEND_CAP_REACHED' ELSE 'AUTO_DELEGATION_MOVED' END USING ERRCODE = 'ER001';
     END LOOP;
   END $$;

REVOKE EXECUTE ON FUNCTION charge_auto_delegation FROM PUBLIC;
