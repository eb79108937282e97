/**
 * What is known of a wallet that cannot deliver: why, until when, and what failed in a row. And what a running rental
 * needs to be found when it falls short of what was sold, and to be topped up.
 */
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
  // Sun delegated for each energy sold, × 10^6; set when it is delivered and with each top-up.
  `ALTER TABLE orders
     ADD COLUMN sun_per_energy_e6 bigint,
     -- The database's clock: a top-up that found no room, or failed, is not tried again before.
     ADD COLUMN top_up_after timestamptz`,
  `ALTER TABLE leg ADD COLUMN top_up boolean NOT NULL DEFAULT false`,
  `UPDATE orders o SET sun_per_energy_e6 = div(s.sun * 1000000, o.energy)::bigint
     FROM (SELECT order_id, sum(amount_sun) AS sun FROM leg WHERE status <> 'released' GROUP BY order_id) s
    WHERE o.id = s.order_id AND o.settled AND o.status = 'delivered' AND o.kind = 'rental' AND o.reclaimed_at IS NULL`,
  // The running rentals that have least for what was sold, at whatever ratio: looked at with every block.
  `CREATE INDEX orders_standing ON orders (sun_per_energy_e6)
    WHERE settled AND status = 'delivered' AND kind = 'rental' AND reclaimed_at IS NULL`,
  `CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)
    AND (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END)
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END) THEN 'a top-up is made of what is reserved, and stays one' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
];

const DOWN = [
  `CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)
    AND (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `DROP INDEX orders_standing`,
  `ALTER TABLE leg DROP COLUMN top_up`,
  `ALTER TABLE orders DROP COLUMN sun_per_energy_e6, DROP COLUMN top_up_after`,
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
