-- Returns the project that the transaction names, and the e-mail of its owner who signed in within the last minutes.
-- Raises KEY_SCOPE for any other session. The guard of the route judges first; the minute more is for the way here.
CREATE OR REPLACE FUNCTION console_buyer(p_session uuid, OUT project uuid, OUT email text) LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT m.project_id, p.email INTO project, email
    FROM console_session s JOIN membership m ON m.person_id = s.person_id JOIN person p ON p.id = s.person_id
   WHERE s.id = p_session AND s.audience = 'merchant' AND s.stage = 'signed_in'
     AND s.authenticated_at > clock_timestamp() - interval '11 minutes'
     AND m.role = 'owner' AND m.project_id = nullif(current_setting('energy.project', true), '')::uuid;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION console_buyer FROM PUBLIC;
