/**
 * A row is compared with what it was by its stored values: `metadata` is json, for which there is no equality, so that no
 * order could be marked as judged any more.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class JudgedLabels1760000000050 implements MigrationInterface {
  readonly name = 'JudgedLabels1760000000050';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE FUNCTION orders_judged() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       NEW.judged := false;
     ELSE
       OLD.judged := true;
       NEW.judged := OLD *= NEW;
     END IF;
     RETURN NEW;
   END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE FUNCTION orders_judged() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       NEW.judged := false;
     ELSE
       OLD.judged := true;
       NEW.judged := OLD IS NOT DISTINCT FROM NEW;
     END IF;
     RETURN NEW;
   END $$`);
  }
}
