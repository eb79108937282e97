/** What leaves a deposit address for an address of nobody of ours is found at every pass over the records. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // The addresses that anything left for, each found at one step, however many sweeps went there. Without it every pass
  // reads all that ever moved at deposit addresses.
  `CREATE INDEX deposit_movement_left ON deposit_movement (counterparty) WHERE amount < 0 AND kind <> 'fee'`,
];

export class DepositOutflows1760000000061 implements MigrationInterface {
  readonly name = 'DepositOutflows1760000000061';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX deposit_movement_left`);
  }
}
