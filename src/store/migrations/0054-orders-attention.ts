/** The orders that need attention are few, and may be old: they are found however many came after them. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // What a person looks at, newest first; played orders resolve themselves. Nearly empty: an order enters it when it comes
  // to need attention, which few ever do.
  `CREATE INDEX orders_attention ON orders (id) WHERE needs_attention AND NOT test`,
];

export class OrdersAttention1760000000054 implements MigrationInterface {
  readonly name = 'OrdersAttention1760000000054';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX orders_attention`);
  }
}
