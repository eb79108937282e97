/** The threshold of a balance, and the event of falling below it. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `ALTER TABLE credit_account ADD COLUMN low_balance_credits bigint`,
  `CREATE OR REPLACE FUNCTION balance_low() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id, 'balance.low', json_build_object('balance', json_build_object(
       'credits', NEW.balance_credits::text, 'low_balance_credits', NEW.low_balance_credits::text)));
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION balance_low() FROM PUBLIC`,
  `CREATE TRIGGER credit_account_low AFTER UPDATE ON credit_account FOR EACH ROW
     WHEN (OLD.balance_credits >= NEW.low_balance_credits AND NEW.balance_credits < NEW.low_balance_credits)
     EXECUTE FUNCTION balance_low()`,
];

const DOWN = [
  `DROP TRIGGER credit_account_low ON credit_account`,
  `DROP FUNCTION balance_low()`,
  `ALTER TABLE credit_account DROP COLUMN low_balance_credits`,
];

export class LowBalance1760000000035 implements MigrationInterface {
  readonly name = 'LowBalance1760000000035';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
