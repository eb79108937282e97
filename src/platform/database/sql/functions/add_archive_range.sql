-- Makes the missing tables of the range of an order's id: a million orders each. They are created first and attached
-- afterwards, so that readers of the archive do not wait.
CREATE OR REPLACE FUNCTION add_archive_range(p_order bigint) RETURNS void LANGUAGE plpgsql AS $$
   DECLARE
     v_range bigint := p_order / 1000000;
     v_parent text;
     v_table text;
   BEGIN
     FOREACH v_parent IN ARRAY ARRAY['archived_orders', 'archived_leg', 'archived_chain_tx'] LOOP
       v_table := v_parent || '_' || v_range;
       CONTINUE WHEN to_regclass(v_table) IS NOT NULL;
       EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING CONSTRAINTS INCLUDING INDEXES)', v_table, v_parent);
       EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', v_parent, v_table,
                      v_range * 1000000, (v_range + 1) * 1000000);
       -- A partition inherits the row triggers of its parent, but no statement trigger.
       EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
                      v_table || '_no_truncate', v_table);
     END LOOP;
   END $$;

REVOKE EXECUTE ON FUNCTION add_archive_range FROM PUBLIC;
