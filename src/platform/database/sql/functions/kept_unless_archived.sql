-- Lets an open row be deleted only if the archive has exactly that row.
CREATE OR REPLACE FUNCTION kept_unless_archived() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_kept record := OLD;
     v_is_archived boolean := false;
   BEGIN
     v_kept.archived := true;
     IF OLD.archived THEN
       NULL;
     ELSIF TG_ARGV[0] = 'orders' THEN
       SELECT a *= v_kept INTO v_is_archived FROM archived_orders a WHERE a.id = OLD.id;
     ELSIF TG_ARGV[0] = 'leg' THEN
       SELECT a *= v_kept INTO v_is_archived FROM archived_leg a WHERE a.order_id = OLD.order_id AND a.id = OLD.id;
     ELSE
       SELECT a *= v_kept INTO v_is_archived FROM archived_chain_tx a WHERE a.order_id = OLD.order_id AND a.id = OLD.id;
     END IF;
     IF v_is_archived IS NOT TRUE THEN
       RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN OLD;
   END $$;

REVOKE EXECUTE ON FUNCTION kept_unless_archived FROM PUBLIC;
