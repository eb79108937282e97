-- Up to ten API keys of a project, each with its scopes. The primary key has the id of its project, under which its
-- secret is sealed.
-- Half of each page stays free: the spent amount changes with every charge, and each change is a new row version.
CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ '{read,quote,order,manage}'::text[]),
  allowed_sources text[] NOT NULL DEFAULT '{}',
  sealed bytea NOT NULL,
  previous_sealed bytea,
  previous_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- The daily cap and the amount spent on `spent_on`, which a charge updates together.
  daily_cap_credits bigint CHECK (daily_cap_credits >= 0),
  spent_on date NOT NULL DEFAULT '1970-01-01',
  spent_credits bigint NOT NULL DEFAULT 0,
  -- Addresses that used the key recently, so that a new list of allowed addresses can name the callers it would lock
  -- out.
  recent_sources jsonb NOT NULL DEFAULT '{}',
  CONSTRAINT api_key_check CHECK ((previous_sealed IS NULL) = (previous_until IS NULL)),
  CONSTRAINT api_key_check1 CHECK (id <> project_id OR scopes @> '{read,quote,order,manage}'::text[])
) WITH (fillfactor = 50);

-- Keys are always read by project.
CREATE INDEX api_key_project ON api_key (project_id);
-- Verifying a signature reads the unrevoked keys only. Revoked keys are kept for ever, so this read must not grow
-- with them.
CREATE INDEX api_key_unrevoked ON api_key (project_id) WHERE revoked_at IS NULL;

CREATE TRIGGER api_key_announced AFTER INSERT
  OR UPDATE OF name, scopes, allowed_sources, sealed, previous_sealed, previous_until, revoked_at ON api_key
  FOR EACH ROW
  EXECUTE FUNCTION announce_project('project_id');
CREATE TRIGGER api_key_keeps_previous BEFORE UPDATE ON api_key FOR EACH ROW
  WHEN (old.previous_until IS DISTINCT FROM new.previous_until)
  EXECUTE FUNCTION keep_previous_key();
CREATE TRIGGER api_key_kept BEFORE DELETE ON api_key FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER api_key_no_truncate BEFORE TRUNCATE ON api_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
