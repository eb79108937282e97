-- Sets a wallet's status from its faults with every change of the row. The operator's own pause stays.
CREATE OR REPLACE FUNCTION pool_wallet_status() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE v_fault text;
   BEGIN
     -- The wallet's permission on chain is back, so failed deliveries may be retried.
     IF TG_OP = 'UPDATE' AND OLD.wallet_fault IS NOT NULL AND NEW.wallet_fault IS NULL AND NEW.sign_failures < 3 THEN
       NEW.deaths := 0;
       NEW.delivery_fault := NULL;
       NEW.delivery_held_until := NULL;
     END IF;
     IF NEW.status = 'paused' AND (NEW.pause_reason IS NULL OR NEW.pause_reason NOT LIKE 'auto:%') THEN
       RETURN NEW;
     END IF;
     v_fault := coalesce((SELECT 'everything is stopped: ' || reason FROM sales_stop), NEW.books_fault, NEW.wallet_fault,
                         NEW.delivery_fault);
     NEW.status := CASE WHEN v_fault IS NULL THEN 'active' ELSE 'paused' END;
     NEW.pause_reason := 'auto: ' || v_fault;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION pool_wallet_status FROM PUBLIC;
