-- The acts on a project and the operators that viewed it, newest first. For the project of the setting
-- energy.project, since a merchants’ console may not read the table.
CREATE OR REPLACE FUNCTION project_acts(p_before bigint, p_limit integer)
  RETURNS TABLE (id bigint, at timestamptz, actor text, action text, reason text, detail jsonb)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.id, l.at, l.actor, l.action, l.reason, l.detail FROM audit_log l
   WHERE l.subject = nullif(current_setting('energy.project', true), '') AND l.id < p_before
   ORDER BY l.id DESC LIMIT least(p_limit, 101)
$$;

REVOKE EXECUTE ON FUNCTION project_acts FROM PUBLIC;
