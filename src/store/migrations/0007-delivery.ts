/** What is known of a wallet that cannot deliver: why, until when, and what failed in a row. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `ALTER TABLE pool_wallet
     -- Why nothing of it can be delivered; its own column beside the other faults, so that none lifts another's.
     ADD COLUMN delivery_fault text,
     -- A hold by time; null while only a signature is waited for.
     ADD COLUMN delivery_held_until timestamptz,
     ADD COLUMN delivery_failed_at timestamptz,
     -- Holds since something of it last came into a block: each is longer.
     ADD COLUMN delivery_pauses integer NOT NULL DEFAULT 0,
     ADD COLUMN sign_failures integer NOT NULL DEFAULT 0,
     ADD COLUMN deaths integer NOT NULL DEFAULT 0`,
  `CREATE OR REPLACE FUNCTION pool_wallet_status() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE v_fault text;
   BEGIN
     -- What the chain did not allow is allowed again: whatever failed for it may be tried anew.
     IF TG_OP = 'UPDATE' AND OLD.wallet_fault IS NOT NULL AND NEW.wallet_fault IS NULL AND NEW.sign_failures < 3 THEN
       NEW.deaths := 0;
       NEW.delivery_fault := NULL;
       NEW.delivery_held_until := NULL;
     END IF;
     IF NEW.status = 'paused' AND (NEW.pause_reason IS NULL OR NEW.pause_reason NOT LIKE 'auto:%') THEN
       RETURN NEW;
     END IF;
     v_fault := coalesce((SELECT 'everything is stopped: ' || reason FROM sales_stop), NEW.books_fault, NEW.wallet_fault,
                         NEW.delivery_fault);
     NEW.status := CASE WHEN v_fault IS NULL THEN 'active' ELSE 'paused' END;
     NEW.pause_reason := 'auto: ' || v_fault;
     RETURN NEW;
   END $$`,
];

const DOWN = [
  `CREATE OR REPLACE FUNCTION pool_wallet_status() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE v_fault text;
   BEGIN
     IF NEW.status = 'paused' AND (NEW.pause_reason IS NULL OR NEW.pause_reason NOT LIKE 'auto:%') THEN
       RETURN NEW;
     END IF;
     v_fault := coalesce((SELECT 'everything is stopped: ' || reason FROM sales_stop), NEW.books_fault, NEW.wallet_fault);
     NEW.status := CASE WHEN v_fault IS NULL THEN 'active' ELSE 'paused' END;
     NEW.pause_reason := 'auto: ' || v_fault;
     RETURN NEW;
   END $$`,
  `ALTER TABLE pool_wallet DROP COLUMN delivery_fault, DROP COLUMN delivery_held_until, DROP COLUMN delivery_failed_at,
     DROP COLUMN delivery_pauses, DROP COLUMN sign_failures, DROP COLUMN deaths`,
  // A wallet that was held for its deliveries follows what else holds it.
  `UPDATE pool_wallet SET status = status`,
];

export class Delivery1760000000007 implements MigrationInterface {
  readonly name = 'Delivery1760000000007';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
