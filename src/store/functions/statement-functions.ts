/**
 * What a statement of a month must be when it is closed, and the event of it. Statements of a project follow one upon
 * the other: numbers rise by one, each opens with what the one before closed with. Nothing of them ever changes.
 */

const STATEMENT_GUARD_SQL = `
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
   END $$`;

const STATEMENT_CLOSED_SQL = `
CREATE OR REPLACE FUNCTION statement_closed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id, 'statement.ready', json_build_object('statement', row_to_json(NEW)));
     RETURN NULL;
   END $$`;

export const STATEMENT_FUNCTIONS: Readonly<Record<string, string>> = {
  statement_guard: STATEMENT_GUARD_SQL,
  statement_closed: STATEMENT_CLOSED_SQL,
};
