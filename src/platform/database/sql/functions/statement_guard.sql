-- Guards statements: a project's numbers rise by one, and each opens with the closing balance of the one before.
CREATE OR REPLACE FUNCTION statement_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_number integer := 0;
     v_closing bigint := 0;
     v_ends_at timestamptz := '-infinity';
     v_entries_to bigint := 0;
   BEGIN
     SELECT number, closing_credits, ends_at, entries_to INTO v_number, v_closing, v_ends_at, v_entries_to FROM statement
      WHERE project_id = NEW.project_id ORDER BY number DESC LIMIT 1;
     IF NEW.number <> coalesce(v_number, 0) + 1 OR NEW.opening_credits <> coalesce(v_closing, 0)
       OR NEW.ends_at <= coalesce(v_ends_at, '-infinity') OR NEW.entries_to < coalesce(v_entries_to, 0) THEN
       RAISE EXCEPTION 'statement % of %: does not follow the one before', NEW.number, NEW.project_id USING ERRCODE = 'check_violation';
     END IF;
     IF NOT EXISTS (SELECT FROM statement_month m WHERE m.month = NEW.month AND m.ends_at = NEW.ends_at
                      AND m.entries_to = NEW.entries_to AND m.closed_at IS NULL) THEN
       RAISE EXCEPTION 'statement % of %: its month is not being closed', NEW.number, NEW.project_id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$;

REVOKE EXECUTE ON FUNCTION statement_guard FROM PUBLIC;
