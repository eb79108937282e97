-- The people who sign in to a console. Each belongs to one audience: a login of one console can do nothing in the
-- other.
CREATE TABLE person (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  audience text NOT NULL CHECK (audience IN ('merchant', 'operator')),
  email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
  password_hash text NOT NULL,
  password_changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  totp_sealed bytea,
  totp_since timestamptz,
  totp_step bigint NOT NULL DEFAULT 0,
  credentials integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Null: nobody has proven that this person reads the mailbox, so no mail is sent there.
  address_proven_at timestamptz,
  -- Rows of a person refer to this pair, so that they have the same audience.
  CONSTRAINT person_audience UNIQUE (id, audience),
  CONSTRAINT person_email UNIQUE (audience, email),
  CONSTRAINT person_check CHECK ((totp_since IS NULL) = (totp_sealed IS NULL))
);

ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE POLICY person_of_audience ON person
  USING (audience = 'merchant' OR (SELECT console_audience()) IS DISTINCT FROM 'merchant');
