-- The balance and the terms of a project in one row: the update that charges also checks the terms under the same row
-- lock. Every charge locks this row last.
CREATE TABLE credit_account (
  project_id uuid PRIMARY KEY REFERENCES project (id),
  balance_credits bigint NOT NULL DEFAULT 0,
  is_postpaid boolean NOT NULL DEFAULT false,
  -- The lowest balance that a charge may leave: 0 for prepaid, minus the debt limit for postpaid, null for postpaid
  -- without a limit.
  floor_credits bigint DEFAULT 0 CHECK (floor_credits <= 0),
  frozen boolean NOT NULL DEFAULT false,
  daily_cap_credits bigint CHECK (daily_cap_credits >= 0),
  spent_on date NOT NULL DEFAULT '1970-01-01',
  spent_credits bigint NOT NULL DEFAULT 0,
  low_balance_credits bigint,
  CONSTRAINT credit_account_check CHECK (is_postpaid OR floor_credits IS NOT DISTINCT FROM 0)
) WITH (fillfactor = 50);

-- Every API process drops its cached record of the project.
CREATE TRIGGER credit_account_announced AFTER UPDATE ON credit_account FOR EACH ROW
  WHEN (old.frozen IS DISTINCT FROM new.frozen
    OR old.is_postpaid IS DISTINCT FROM new.is_postpaid
    OR old.floor_credits IS DISTINCT FROM new.floor_credits
    OR old.daily_cap_credits IS DISTINCT FROM new.daily_cap_credits)
  EXECUTE FUNCTION announce_project('project_id');
CREATE TRIGGER credit_account_frozen AFTER UPDATE ON credit_account FOR EACH ROW
  WHEN (old.frozen IS DISTINCT FROM new.frozen)
  EXECUTE FUNCTION project_frozen();
CREATE TRIGGER credit_account_kept BEFORE DELETE ON credit_account FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- Without a threshold the comparison is with null, which is never true.
CREATE TRIGGER credit_account_low AFTER UPDATE ON credit_account FOR EACH ROW
  WHEN (old.balance_credits >= new.low_balance_credits AND new.balance_credits < new.low_balance_credits)
  EXECUTE FUNCTION balance_low();
CREATE TRIGGER credit_account_no_truncate BEFORE TRUNCATE ON credit_account FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credit_account_frozen_stops_repetitions AFTER UPDATE ON credit_account FOR EACH ROW
  WHEN (new.frozen AND NOT old.frozen)
  EXECUTE FUNCTION webhook_project_frozen();
