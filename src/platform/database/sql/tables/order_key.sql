-- The idempotency keys of orders and extensions, unique for ever. Narrow, because every order writes it and it is
-- never split by time.
CREATE TABLE order_key (
  project_id uuid NOT NULL,
  key text NOT NULL,
  order_id bigint NOT NULL,
  extension smallint,
  PRIMARY KEY (project_id, key)
);

CREATE TRIGGER order_key_final BEFORE UPDATE ON order_key FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER order_key_kept BEFORE DELETE ON order_key FOR EACH ROW EXECUTE FUNCTION kept_unless_test();
CREATE TRIGGER order_key_no_truncate BEFORE TRUNCATE ON order_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
