/**
 * The keys of the orders that were there before order_key was. One statement, not batches: it reads orders without locking
 * them, so that sales and deliveries go on beside it (a million take some seconds), every order since has its key by the
 * trigger, and what fails half-way leaves nothing to go on from.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OrderKeys1760000000042 implements MigrationInterface {
  readonly name = 'OrderKeys1760000000042';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `INSERT INTO order_key (project_id, key, order_id) SELECT project_id, key, id FROM orders ON CONFLICT DO NOTHING`,
    );
  }

  async down(): Promise<void> {
    // They go with their table.
  }
}
