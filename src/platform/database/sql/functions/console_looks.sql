-- The times at which operators viewed a project, for one of its owners, identified by the session.
CREATE OR REPLACE FUNCTION console_looks(p_session uuid, p_project uuid)
  RETURNS TABLE (at timestamptz, actor text, what text)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.at, l.actor, l.detail ->> 'what' FROM audit_log l
   WHERE l.subject = p_project::text AND l.action = 'console.look'
     AND EXISTS (SELECT FROM console_session s JOIN membership m ON m.person_id = s.person_id
                  WHERE s.id = p_session AND s.stage = 'signed_in'
                    AND (m.project_id = p_project AND m.role = 'owner' OR m.role = 'admin'))
   ORDER BY l.id DESC LIMIT 200
$$;

REVOKE EXECUTE ON FUNCTION console_looks FROM PUBLIC;
