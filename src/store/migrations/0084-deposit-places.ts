/** Deposit addresses note the server that they were assigned on: another one leaves a gap in the numbers. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DepositPlaces1760000000084 implements MigrationInterface {
  readonly name = 'DepositPlaces1760000000084';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE deposit_address ADD COLUMN server_mark text DEFAULT server_mark()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE deposit_address DROP COLUMN server_mark`);
  }
}
