/** The ledger as its project reads it: by time. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

// Entries of a project between two times, newest first: ids alone are not in the order of time, and a page deep in the
// past must cost no more than the first.
const UP = [`CREATE INDEX credit_entry_time ON credit_entry (project_id, created_at, id)`];

const DOWN = [`DROP INDEX credit_entry_time`];

export class LedgerTime1760000000039 implements MigrationInterface {
  readonly name = 'LedgerTime1760000000039';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
