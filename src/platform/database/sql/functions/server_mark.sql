-- The server and data of this session, as a text that changes when commits may have been lost: the timeline after a
-- failover or point-in-time recovery, the system after a restore into another cluster, and the ids of the database
-- and a table after a dump was restored. Any role may read it; parts that a hosting provider hides are omitted. A disk
-- copy without recovery keeps the mark; the age of the last search reveals it.
CREATE OR REPLACE FUNCTION server_mark() RETURNS text LANGUAGE plpgsql STABLE AS $$
   DECLARE
     v_timeline text := '';
     v_system text := '';
   BEGIN
     BEGIN
       v_timeline := substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
     EXCEPTION WHEN OTHERS THEN NULL;
     END;
     BEGIN
       v_system := (SELECT system_identifier::text FROM pg_control_system());
     EXCEPTION WHEN OTHERS THEN NULL;
     END;
     RETURN concat_ws('/', v_system, v_timeline, (SELECT oid FROM pg_database WHERE datname = current_database()),
       'reconcile_state'::regclass::oid);
   END $$;

REVOKE EXECUTE ON FUNCTION server_mark FROM PUBLIC;
