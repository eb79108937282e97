-- Sessions of the consoles.
CREATE TABLE console_session (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  token_hash bytea NOT NULL UNIQUE,
  audience text NOT NULL,
  person_id uuid NOT NULL,
  stage text NOT NULL CHECK (stage IN ('second_factor', 'enrol', 'signed_in')),
  wrong_codes smallint NOT NULL DEFAULT 0,
  pending_totp_sealed bytea,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  authenticated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  source_address text NOT NULL,
  user_agent text NOT NULL,
  CONSTRAINT console_session_person_id_audience_fkey FOREIGN KEY (person_id, audience) REFERENCES person (id, audience)
);

-- Expired sessions are deleted by age.
CREATE INDEX console_session_seen ON console_session (seen_at);
CREATE INDEX console_session_person ON console_session (person_id, created_at);

ALTER TABLE console_session ENABLE ROW LEVEL SECURITY;
CREATE POLICY console_session_of_audience ON console_session
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');

CREATE TRIGGER console_session_ended AFTER DELETE ON console_session FOR EACH ROW
  EXECUTE FUNCTION console_session_ended();
