-- The projects of a person, for the console's project switcher.
CREATE OR REPLACE FUNCTION console_memberships(p_person uuid)
  RETURNS TABLE (id uuid, name text, role text, frozen boolean, test boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.id, p.name, m.role, a.frozen, p.test
    FROM membership m JOIN project p ON p.id = m.project_id JOIN credit_account a ON a.project_id = p.id
   WHERE m.person_id = p_person ORDER BY p.name, p.id LIMIT 1000
$$;

REVOKE EXECUTE ON FUNCTION console_memberships FROM PUBLIC;
