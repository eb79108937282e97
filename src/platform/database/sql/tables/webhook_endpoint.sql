-- Never deleted, so that deliveries and events keep naming an endpoint. Deletion removes its secret.
CREATE TABLE webhook_endpoint (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  types text[] CHECK (cardinality(types) > 0),
  description text NOT NULL DEFAULT '' CHECK (length(description) <= 500),
  secret_sealed bytea,
  previous_secret_sealed bytea,
  previous_until timestamptz,
  made_by_key uuid,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  failing_told_at timestamptz,
  disabled_at timestamptz,
  disabled_reason text CHECK (disabled_reason IN ('owner', 'gone', 'failing')),
  deleted_at timestamptz,
  change_reported_at timestamptz,
  CONSTRAINT webhook_endpoint_check CHECK ((secret_sealed IS NULL) = (deleted_at IS NOT NULL)),
  CONSTRAINT webhook_endpoint_check1 CHECK ((previous_secret_sealed IS NULL) = (previous_until IS NULL)),
  CONSTRAINT webhook_endpoint_check2 CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);

-- Read for every event and every list.
CREATE INDEX webhook_endpoint_project ON webhook_endpoint (project_id) WHERE deleted_at IS NULL;
-- Changes without an event so far. Read every five seconds; nearly empty.
CREATE INDEX webhook_endpoint_unreported ON webhook_endpoint (id)
  WHERE changed_at > change_reported_at AND deleted_at IS NULL;
CREATE INDEX webhook_endpoint_told ON webhook_endpoint (id) WHERE failing_told_at IS NOT NULL AND deleted_at IS NULL;

CREATE TRIGGER webhook_endpoint_changed AFTER INSERT OR UPDATE ON webhook_endpoint FOR EACH ROW
  EXECUTE FUNCTION webhook_changed();
CREATE TRIGGER webhook_endpoint_keeps_previous BEFORE UPDATE ON webhook_endpoint FOR EACH ROW
  WHEN (old.previous_until IS DISTINCT FROM new.previous_until)
  EXECUTE FUNCTION keep_previous_secret();
CREATE TRIGGER webhook_endpoint_kept BEFORE DELETE ON webhook_endpoint FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER webhook_endpoint_no_truncate BEFORE TRUNCATE ON webhook_endpoint FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
