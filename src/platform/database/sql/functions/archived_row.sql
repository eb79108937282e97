-- Guards a table of the archive: nothing is changed or deleted, and an inserted row must equal the open row. Compared
-- by stored values, since json has no equality.
CREATE OR REPLACE FUNCTION archived_row() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_open record := NEW;
     v_is_open boolean := false;
   BEGIN
     IF TG_OP = 'INSERT' THEN
       v_open.archived := false;
       IF TG_ARGV[0] = 'orders' THEN
         SELECT o *= v_open INTO v_is_open FROM open_orders o WHERE o.id = NEW.id;
       ELSIF TG_ARGV[0] = 'leg' THEN
         SELECT o *= v_open INTO v_is_open FROM open_leg o WHERE o.id = NEW.id;
       ELSE
         -- Generated after this trigger, from columns that are compared.
         SELECT o.stage INTO v_open.stage FROM open_chain_tx o WHERE o.id = NEW.id;
         SELECT o *= v_open INTO v_is_open FROM open_chain_tx o WHERE o.id = NEW.id;
       END IF;
     END IF;
     IF v_is_open IS NOT TRUE THEN
       RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION archived_row FROM PUBLIC;
