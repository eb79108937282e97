/**
 * From where each API key was used lately, so that a list of allowed addresses can say whom it would lock out. The default
 * is a constant: no row is rewritten.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RecentSources1760000000051 implements MigrationInterface {
  readonly name = 'RecentSources1760000000051';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE api_key ADD COLUMN recent_sources jsonb NOT NULL DEFAULT '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE api_key DROP COLUMN recent_sources`);
  }
}
