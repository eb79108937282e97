-- Acts of operators. Rows are only added.
CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  reason text,
  detail jsonb,
  -- The acting person, by facts that the caller cannot choose: the database role and the operating-system user of its
  -- process.
  login_role text,
  acting_role text,
  os_user text
);

-- The acts on one project, newest first.
CREATE INDEX audit_log_subject ON audit_log (subject, id DESC);

CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON audit_log FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- A trigger, not column defaults: a statement can override a default.
CREATE TRIGGER audit_log_stamped BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION stamp_audit_entry();
