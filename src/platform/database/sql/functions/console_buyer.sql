-- Returns the project that the transaction names, the id of its key for consoles (console-key-id.ts), and the e-mail of
-- the owner of the session. Raises KEY_SCOPE unless an owner of the project signed in within the last eleven minutes.
-- The console allows ten, and its statement may start up to a minute after that check. Raises INVALID_REQUEST unless
-- p_key is the key of a form.
CREATE OR REPLACE FUNCTION console_buyer(
  p_session uuid, p_key text, OUT project uuid, OUT api_key uuid, OUT email text
) LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT m.project_id, md5('console purchases of ' || m.project_id)::uuid, p.email INTO project, api_key, email
    FROM console_session s JOIN membership m ON m.person_id = s.person_id JOIN person p ON p.id = s.person_id
   WHERE s.id = p_session AND s.audience = 'merchant' AND s.stage = 'signed_in'
     AND s.authenticated_at > clock_timestamp() - interval '11 minutes'
     AND m.role = 'owner' AND m.project_id = nullif(current_setting('energy.project', true), '')::uuid;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'KEY_SCOPE' USING ERRCODE = 'ER001';
  END IF;
  IF p_key !~ '^console_[0-9a-f-]{36}$' THEN
    RAISE EXCEPTION 'INVALID_REQUEST' USING ERRCODE = 'ER001';
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION console_buyer FROM PUBLIC;
