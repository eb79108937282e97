/**
 * Which server and which data a session talks to, as a text that changes when they may have lost commits: the timeline
 * after a failover or a recovery to a point in time, the system after a restore into another cluster, the database's
 * and the table's own ids after a dump was read back. Any role may read all of it; what a provider does not have stays
 * out. A copy of the disk without a recovery changes nothing here: that one is told by how old the last search is.
 */
const SERVER_MARK_SQL = `
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
   END $$`;

export const MARK_FUNCTIONS: Readonly<Record<string, string>> = { server_mark: SERVER_MARK_SQL };
