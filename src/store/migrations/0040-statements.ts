/**
 * Statements of a project's ledger by calendar month: the month, cut off at an entry behind which none of its kind can
 * still appear, and one row for each project that had entries in it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Entries up to this id are all there are: what was being written when it was read was waited for.
  `CREATE TABLE statement_month (
     month date PRIMARY KEY CHECK (extract(day FROM month) = 1),
     ends_at timestamptz NOT NULL CHECK (ends_at = ((month + interval '1 month') AT TIME ZONE 'UTC')),
     entries_to bigint NOT NULL CHECK (entries_to >= 0),
     cut_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     -- Projects are gone through by their ids; one that could not be closed is come back to.
     projects_after uuid,
     skipped boolean NOT NULL DEFAULT false,
     closed_at timestamptz
   )`,
  // Its lines are the entries up to entries_to, made before ends_at, that are in no statement before. From rest_from on
  // there may be entries in none yet.
  `CREATE TABLE statement (
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
     -- One of each month; who closes is known by it, too.
     UNIQUE (project_id, month),
     CHECK (closing_credits = opening_credits + charge_credits + refund_credits + compensation_credits + deposit_credits
       + topup_credits + adjustment_credits)
   )`,
  // What was closed lately is verified again.
  `CREATE INDEX statement_closed_at ON statement (closed_at)`,
  `CREATE OR REPLACE FUNCTION statement_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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
   END $$`,
  `CREATE OR REPLACE FUNCTION statement_closed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id, 'statement.ready', json_build_object('statement', row_to_json(NEW)));
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION statement_guard(), statement_closed() FROM PUBLIC`,
  `CREATE TRIGGER statement_guard BEFORE INSERT ON statement FOR EACH ROW EXECUTE FUNCTION statement_guard()`,
  `CREATE TRIGGER statement_closed AFTER INSERT ON statement FOR EACH ROW EXECUTE FUNCTION statement_closed()`,
  `CREATE TRIGGER statement_kept BEFORE DELETE OR UPDATE ON statement FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER statement_no_truncate BEFORE TRUNCATE ON statement FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER statement_month_final BEFORE UPDATE ON statement_month FOR EACH ROW
     WHEN (OLD.closed_at IS NOT NULL OR OLD.month <> NEW.month OR OLD.ends_at <> NEW.ends_at
       OR OLD.entries_to <> NEW.entries_to OR OLD.cut_at <> NEW.cut_at) EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER statement_month_kept BEFORE DELETE ON statement_month FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER statement_month_no_truncate BEFORE TRUNCATE ON statement_month FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

const DOWN = [`DROP TABLE statement, statement_month`, `DROP FUNCTION statement_guard(), statement_closed()`];

export class Statements1760000000040 implements MigrationInterface {
  readonly name = 'Statements1760000000040';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
