/**
 * Blocks that the search for unrecorded transactions passed without knowing what they hold, until a node tells. They were
 * kept in the memory of one worker: what a block held that was passed just before that worker ended was never found.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE TABLE unsearched_block (
     number bigint PRIMARY KEY,
     tries integer NOT NULL DEFAULT 0
   )`,
];

const DOWN = [`DROP TABLE unsearched_block`];

export class UnsearchedBlocks1760000000025 implements MigrationInterface {
  readonly name = 'UnsearchedBlocks1760000000025';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
