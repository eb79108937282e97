-- Months that are closed or being closed. Entries up to entries_to are complete: entries in progress at the cut were
-- waited for.
CREATE TABLE statement_month (
  month date PRIMARY KEY CHECK (EXTRACT(day FROM month) = 1),
  ends_at timestamptz NOT NULL,
  entries_to bigint NOT NULL CHECK (entries_to >= 0),
  cut_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Projects are closed in the order of their ids. A project that could not be closed is retried.
  projects_after uuid,
  skipped boolean NOT NULL DEFAULT false,
  closed_at timestamptz,
  CONSTRAINT statement_month_check CHECK (ends_at = (month + interval '1 month') AT TIME ZONE 'UTC')
);

CREATE TRIGGER statement_month_final BEFORE UPDATE ON statement_month FOR EACH ROW
  WHEN (old.closed_at IS NOT NULL
    OR old.month <> new.month
    OR old.ends_at <> new.ends_at
    OR old.entries_to <> new.entries_to
    OR old.cut_at <> new.cut_at)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_month_kept BEFORE DELETE ON statement_month FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_month_no_truncate BEFORE TRUNCATE ON statement_month FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();
