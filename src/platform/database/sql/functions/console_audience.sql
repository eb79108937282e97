-- The audience of the connected console; null for every other process. By the login's roles, which no statement can
-- change. A login with both roles counts as a merchant's, which sees less.
CREATE OR REPLACE FUNCTION console_audience() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT min(replace(r.rolname, 'energy_console_', '')) FROM pg_roles r
   WHERE r.rolname IN ('energy_console_merchant', 'energy_console_operator')
     AND (r.rolname IN (session_user, current_user)
          OR EXISTS (SELECT FROM pg_auth_members a JOIN pg_roles u ON u.oid = a.member
                      WHERE a.roleid = r.oid AND u.rolname IN (session_user, current_user)))
$$;

REVOKE EXECUTE ON FUNCTION console_audience FROM PUBLIC;
