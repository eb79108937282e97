/** Rates note when they were stored: `verify` compares a deposit with those that there were when it was credited. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class KeptRates1760000000085 implements MigrationInterface {
  readonly name = 'KeptRates1760000000085';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE asset_rate ADD COLUMN kept_at timestamptz`);
    await runner.query(`ALTER TABLE asset_rate ALTER COLUMN kept_at SET DEFAULT clock_timestamp()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE asset_rate DROP COLUMN kept_at`);
  }
}
