-- Addresses to which the operator sweeps deposits.
CREATE TABLE deposit_sweep_address (
  address text PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TRIGGER deposit_sweep_address_kept BEFORE DELETE OR UPDATE ON deposit_sweep_address FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_sweep_address_no_truncate BEFORE TRUNCATE ON deposit_sweep_address FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
