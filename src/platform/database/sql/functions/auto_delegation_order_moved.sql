-- Schedules another check when an order of an auto-delegation is delivered or over, or its rental ends. Clears the
-- time of the next change, so that the check knows that it is the first one after the change.
CREATE OR REPLACE FUNCTION auto_delegation_order_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     IF NEW.key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' THEN
       UPDATE auto_delegation a
          SET open_order_id = CASE WHEN a.open_order_id = NEW.id AND NEW.status IN ('delivered', 'refunded') THEN NULL
                                   ELSE a.open_order_id END,
              due_at = CASE WHEN a.asleep THEN a.due_at ELSE clock_timestamp() END, change_at = NULL, fence = a.fence + 1
        WHERE a.id = split_part(NEW.key, '_', 2)::bigint AND a.project_id = NEW.project_id;
     END IF;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION auto_delegation_order_moved FROM PUBLIC;
