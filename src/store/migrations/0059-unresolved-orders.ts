/** Orders whose outcome nobody knows yet are few, and may be old: an operator finds them however many came after them. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Of all projects by number, newest first. Nearly empty: an order enters it when no node has told its outcome for ten
  // minutes. Without it the list of unresolved orders of all projects reads every order there is.
  `CREATE INDEX orders_unresolved ON orders (id) WHERE status = 'unresolved'`,
];

export class UnresolvedOrders1760000000059 implements MigrationInterface {
  readonly name = 'UnresolvedOrders1760000000059';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX orders_unresolved`);
  }
}
