-- The project's name of an invitation, for the holder of its token.
CREATE OR REPLACE FUNCTION console_invited_to(p_token_hash bytea) RETURNS text
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT p.name FROM invitation i JOIN project p ON p.id = i.project_id WHERE i.token_hash = p_token_hash
$$;

REVOKE EXECUTE ON FUNCTION console_invited_to FROM PUBLIC;
