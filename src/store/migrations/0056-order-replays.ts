/** How often an order's key came again, and when last: counted by the processes that answered, and written together. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Test orders are deleted some day, and this with them.
  `CREATE TABLE order_replay (
     order_id bigint PRIMARY KEY REFERENCES orders (id) ON DELETE CASCADE,
     replays bigint NOT NULL CHECK (replays > 0),
     last_at timestamptz NOT NULL
   )`,
];

export class OrderReplays1760000000056 implements MigrationInterface {
  readonly name = 'OrderReplays1760000000056';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE order_replay`);
  }
}
