/** A project's record is read by the keys that verify alone: those revoked are kept for ever, however many they are. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class UnrevokedKeys1760000000065 implements MigrationInterface {
  readonly name = 'UnrevokedKeys1760000000065';

  async up(runner: QueryRunner): Promise<void> {
    // One connection reads projects for all callers of a process: what is read of one must not grow with its past.
    await runner.query(`CREATE INDEX api_key_unrevoked ON api_key (project_id) WHERE revoked_at IS NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX api_key_unrevoked`);
  }
}
