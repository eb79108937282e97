/** What the owner of a token has set, as a worker last read it, and which of our addresses the token lets send nothing. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE TABLE token_state (
     contract text PRIMARY KEY,
     deprecated boolean NOT NULL DEFAULT false,
     successor text,
     paused boolean NOT NULL DEFAULT false,
     fee_basis_points numeric NOT NULL DEFAULT 0,
     maximum_fee numeric NOT NULL DEFAULT 0,
     -- The address after which the next round goes on.
     checked_to text NOT NULL DEFAULT '',
     due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     -- Null until it was read once.
     read_at timestamptz
   )`,
  `CREATE TABLE blacklisted_address (
     address text PRIMARY KEY,
     use text NOT NULL CHECK (use IN ('deposit', 'sweep', 'receiver')),
     since timestamptz NOT NULL DEFAULT clock_timestamp()
   )`,
  // Held until its address may send again: asked about in every round, and mostly none.
  `CREATE INDEX deposit_blacklisted ON deposit (address) WHERE status = 'held' AND reason = 'blacklisted'`,
];

const DOWN = [`DROP INDEX deposit_blacklisted`, `DROP TABLE blacklisted_address, token_state`];

export class TokenState1760000000074 implements MigrationInterface {
  readonly name = 'TokenState1760000000074';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
