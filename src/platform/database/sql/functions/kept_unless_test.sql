-- Keeps rows that belong to orders for ever, except for those of test orders.
CREATE OR REPLACE FUNCTION kept_unless_test() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT FROM open_orders o WHERE o.id = OLD.order_id AND o.test) THEN
       RETURN OLD;
     END IF;
     RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
   END $$;

REVOKE EXECUTE ON FUNCTION kept_unless_test FROM PUBLIC;
