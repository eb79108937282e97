/**
 * One sealed canary for each purpose of a key, so that a process with a wrong key refuses to start. And the latest time
 * that the database's clock has shown, so that a clock set back is noticed by whichever worker looks next.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Written by the operator's commands alone, which hold every key; a process opens those of the keys it holds.
  `CREATE TABLE key_canary (
    purpose text PRIMARY KEY,
    sealed bytea NOT NULL,
    sealed_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `CREATE TABLE clock_mark (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `INSERT INTO clock_mark DEFAULT VALUES`,
];

const DOWN = ['DROP TABLE clock_mark', 'DROP TABLE key_canary'];

export class CanariesClock1760000000008 implements MigrationInterface {
  readonly name = 'CanariesClock1760000000008';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
