/**
 * Where a row of an order lies: open, or in the archive that the next migration makes. The constraint is not yet held
 * against the rows there are, so that nobody waits; what hangs on an order is kept where its row moves.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `ALTER TABLE orders ADD COLUMN archived boolean NOT NULL DEFAULT false, ADD CONSTRAINT open_orders_open CHECK (NOT archived) NOT VALID`,
  `ALTER TABLE leg ADD COLUMN archived boolean NOT NULL DEFAULT false, ADD CONSTRAINT open_leg_open CHECK (NOT archived) NOT VALID`,
  `ALTER TABLE chain_tx ADD COLUMN archived boolean NOT NULL DEFAULT false, ADD CONSTRAINT open_chain_tx_open CHECK (NOT archived) NOT VALID`,
  `ALTER TABLE order_replay DROP CONSTRAINT order_replay_order_id_fkey`,
  `ALTER TABLE receiver_energy DROP CONSTRAINT receiver_energy_order_id_fkey`,
];

const DOWN = [
  `ALTER TABLE receiver_energy ADD CONSTRAINT receiver_energy_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE`,
  `ALTER TABLE order_replay ADD CONSTRAINT order_replay_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE`,
  `ALTER TABLE chain_tx DROP COLUMN archived`,
  `ALTER TABLE leg DROP COLUMN archived`,
  `ALTER TABLE orders DROP COLUMN archived`,
];

export class ArchivedColumn1760000000067 implements MigrationInterface {
  readonly name = 'ArchivedColumn1760000000067';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
