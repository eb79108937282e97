-- The deposit address of a project.
CREATE TABLE deposit_address (
  address text PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES project (id),
  account bigint NOT NULL REFERENCES deposit_account (account),
  place bigint NOT NULL CHECK (place BETWEEN 0 AND 2147483647),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The server on which the address was assigned. A different server leaves a gap in the numbers, in case the old one
  -- had assigned more.
  server_mark text DEFAULT server_mark(),
  CONSTRAINT deposit_address_account_place_key UNIQUE (account, place),
  -- One address of each account for a project, and no address twice.
  CONSTRAINT deposit_address_project_id_account_key UNIQUE (project_id, account)
);

CREATE TRIGGER deposit_address_kept BEFORE DELETE OR UPDATE ON deposit_address FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deposit_address_live BEFORE INSERT ON deposit_address FOR EACH ROW
  EXECUTE FUNCTION refuse_test_project();
CREATE TRIGGER deposit_address_no_truncate BEFORE TRUNCATE ON deposit_address FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
