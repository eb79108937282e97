/** Who did an act by what a caller cannot choose: the role of the database, and the user its process runs as. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Empty in entries from before, and os_user also in entries of the version before.
  `ALTER TABLE audit_log ADD COLUMN login_role text, ADD COLUMN acting_role text, ADD COLUMN os_user text`,
  // By trigger and not by default: a default gives way to what the statement says.
  `CREATE FUNCTION stamp_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.at := clock_timestamp();
     NEW.login_role := session_user;
     NEW.acting_role := current_user;
     RETURN NEW;
   END $$`,
  `CREATE TRIGGER audit_log_stamped BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION stamp_audit_entry()`,
];

const DOWN = [
  `DROP TRIGGER audit_log_stamped ON audit_log`,
  `DROP FUNCTION stamp_audit_entry()`,
  `ALTER TABLE audit_log DROP COLUMN login_role, DROP COLUMN acting_role, DROP COLUMN os_user`,
];

export class AuditRoles1760000000012 implements MigrationInterface {
  readonly name = 'AuditRoles1760000000012';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
