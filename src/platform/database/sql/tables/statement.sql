-- Statements by calendar month. Lines are the entries up to entries_to made before ends_at that no earlier statement
-- has. From rest_from on, entries may be in no statement yet.
CREATE TABLE statement (
  project_id uuid NOT NULL REFERENCES project (id),
  number integer NOT NULL CHECK (number > 0),
  month date NOT NULL REFERENCES statement_month (month),
  ends_at timestamptz NOT NULL,
  entries_to bigint NOT NULL,
  rest_from bigint NOT NULL,
  first_at timestamptz NOT NULL,
  lines bigint NOT NULL CHECK (lines > 0),
  opening_credits bigint NOT NULL,
  charge_credits bigint NOT NULL CHECK (charge_credits <= 0),
  refund_credits bigint NOT NULL CHECK (refund_credits >= 0),
  compensation_credits bigint NOT NULL CHECK (compensation_credits >= 0),
  deposit_credits bigint NOT NULL CHECK (deposit_credits >= 0),
  topup_credits bigint NOT NULL CHECK (topup_credits >= 0),
  adjustment_credits bigint NOT NULL,
  closing_credits bigint NOT NULL,
  closed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (project_id, number),
  -- One per month; it also shows which projects are closed.
  CONSTRAINT statement_project_id_month_key UNIQUE (project_id, month),
  CONSTRAINT statement_check CHECK (closing_credits = opening_credits + charge_credits + refund_credits + compensation_credits
    + deposit_credits + topup_credits + adjustment_credits)
);

-- Recently closed statements are verified again.
CREATE INDEX statement_closed_at ON statement (closed_at);

CREATE TRIGGER statement_closed AFTER INSERT ON statement FOR EACH ROW EXECUTE FUNCTION statement_closed();
CREATE TRIGGER statement_guard BEFORE INSERT ON statement FOR EACH ROW EXECUTE FUNCTION statement_guard();
CREATE TRIGGER statement_kept BEFORE DELETE OR UPDATE ON statement FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_live BEFORE INSERT ON statement FOR EACH ROW EXECUTE FUNCTION refuse_test_project();
CREATE TRIGGER statement_no_truncate BEFORE TRUNCATE ON statement FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
