/** Further refusals of the database itself: what is kept can neither be emptied at once nor lose a leg. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE TRIGGER leg_kept BEFORE DELETE ON leg FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER orders_no_truncate BEFORE TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER leg_no_truncate BEFORE TRUNCATE ON leg FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER chain_tx_no_truncate BEFORE TRUNCATE ON chain_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

const DOWN = [
  `DROP TRIGGER leg_kept ON leg`,
  `DROP TRIGGER orders_no_truncate ON orders`,
  `DROP TRIGGER leg_no_truncate ON leg`,
  `DROP TRIGGER chain_tx_no_truncate ON chain_tx`,
  `DROP TRIGGER audit_log_no_truncate ON audit_log`,
];

export class KeptRows1760000000003 implements MigrationInterface {
  readonly name = 'KeptRows1760000000003';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
