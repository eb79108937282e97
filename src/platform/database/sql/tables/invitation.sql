-- Invitations to a console.
CREATE TABLE invitation (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  token_hash bytea NOT NULL UNIQUE,
  audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
  email text NOT NULL,
  project_id uuid REFERENCES project (id),
  role text NOT NULL,
  invited_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  accepted_at timestamptz,
  revoked_at timestamptz,
  -- True if accepting it proves the e-mail address: false if an owner saw the link.
  proves_address boolean NOT NULL DEFAULT false,
  CONSTRAINT invitation_check CHECK ((audience = 'operator') = (project_id IS NULL)),
  CONSTRAINT invitation_role CHECK (
    CASE audience WHEN 'operator' THEN role IN ('admin', 'support') ELSE role IN ('owner', 'member') END
  )
);

-- Counts the invitations that a project made within a day.
CREATE INDEX invitation_made ON invitation (project_id, created_at);
-- The open invitations of a project or of the operators.
CREATE INDEX invitation_open ON invitation (project_id, expires_at) WHERE accepted_at IS NULL AND revoked_at IS NULL;

ALTER TABLE invitation ENABLE ROW LEVEL SECURITY;
CREATE POLICY invitation_of_audience ON invitation
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');
