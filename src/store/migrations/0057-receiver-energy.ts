/** What an order's receiver could use of energy before anything of it was sent, and at its block or after. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Each reading with the block that was the node's head as it was made; what was not read is absent.
  `CREATE TABLE receiver_energy (
     order_id bigint PRIMARY KEY REFERENCES orders (id) ON DELETE CASCADE,
     before_energy bigint CHECK (before_energy >= 0),
     before_block bigint,
     after_energy bigint CHECK (after_energy >= 0),
     after_block bigint,
     CONSTRAINT receiver_energy_blocks CHECK (
       (before_energy IS NULL) = (before_block IS NULL) AND (after_energy IS NULL) = (after_block IS NULL))
   )`,
];

export class ReceiverEnergy1760000000057 implements MigrationInterface {
  readonly name = 'ReceiverEnergy1760000000057';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE receiver_energy`);
  }
}
