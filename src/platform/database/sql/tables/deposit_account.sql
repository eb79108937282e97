-- Extended public keys from which deposit addresses are derived.
CREATE TABLE deposit_account (
  account bigint PRIMARY KEY CHECK (account BETWEEN 0 AND 2147483647),
  first_address text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TRIGGER deposit_account_kept BEFORE DELETE OR UPDATE ON deposit_account FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_account_no_truncate BEFORE TRUNCATE ON deposit_account FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
