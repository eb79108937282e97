-- One row while nothing may be sold. An operator removes it.
CREATE TABLE sales_stop (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  reason text NOT NULL,
  findings jsonb NOT NULL,
  stopped_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TRIGGER sales_stop_reaches_wallets AFTER INSERT OR DELETE OR UPDATE ON sales_stop FOR EACH STATEMENT
  EXECUTE FUNCTION sales_stop_reaches_wallets();
