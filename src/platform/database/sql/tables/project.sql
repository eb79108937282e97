-- Merchants’ projects.
CREATE TABLE project (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  api_key_sealed bytea NOT NULL,
  require_idempotency_key boolean NOT NULL DEFAULT false,
  require_quote boolean NOT NULL DEFAULT false,
  allowed_sources text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Which signatures the project accepts.
  signature_schemes text NOT NULL DEFAULT 'either' CHECK (signature_schemes IN ('md5', 'hmac', 'either')),
  -- A test project takes nothing of the pool. Fixed when it is made.
  test boolean NOT NULL DEFAULT false
);

CREATE TRIGGER project_announced AFTER INSERT OR UPDATE ON project FOR EACH ROW
  EXECUTE FUNCTION announce_project('id');
CREATE TRIGGER project_kept BEFORE DELETE ON project FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_primary_key AFTER INSERT OR UPDATE OF api_key_sealed ON project FOR EACH ROW
  EXECUTE FUNCTION project_primary_key();
CREATE TRIGGER project_test_fixed BEFORE UPDATE ON project FOR EACH ROW
  WHEN (old.test <> new.test)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER project_no_truncate BEFORE TRUNCATE ON project FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
