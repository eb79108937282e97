-- Paid extensions of a rental.
CREATE TABLE order_extension (
  order_id bigint NOT NULL,
  number smallint NOT NULL CHECK (number BETWEEN 1 AND 100),
  project_id uuid NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
  duration_sec integer NOT NULL CHECK (duration_sec > 0),
  price_sun bigint NOT NULL CHECK (price_sun > 0),
  credits bigint NOT NULL CHECK (credits > 0),
  trx_usd_e8 bigint NOT NULL CHECK (trx_usd_e8 > 0),
  ends_at timestamptz NOT NULL,
  request_id text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- As in orders.
  expected_uses integer,
  -- The least fee limit of a transaction that spends all of the energy, at the energy price of the extension.
  fee_limit_sun bigint,
  -- True if the chain accepted none that is high enough.
  fee_limit_capped boolean,
  PRIMARY KEY (order_id, number)
);

CREATE TRIGGER order_extension_final BEFORE UPDATE ON order_extension FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER order_extension_kept BEFORE DELETE ON order_extension FOR EACH ROW EXECUTE FUNCTION kept_unless_test();
CREATE TRIGGER order_extension_no_truncate BEFORE TRUNCATE ON order_extension FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
