/**
 * What a receiver had of energy when a reclaim was built beside other rentals of it, and why a running rental was topped up:
 * what reclaims leave behind of used energy is made up for, once.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = [
  `ALTER TABLE leg ADD COLUMN top_up_cause text`,
  `CREATE TABLE reclaim_usage (
     tx_id bigint PRIMARY KEY,
     order_id bigint NOT NULL,
     receive_address text NOT NULL,
     used_energy bigint NOT NULL CHECK (used_energy >= 0),
     limit_energy bigint NOT NULL CHECK (limit_energy >= 0),
     pool_energy bigint NOT NULL CHECK (pool_energy >= 0),
     sold_energy bigint NOT NULL CHECK (sold_energy >= 0),
     taken_energy bigint NOT NULL CHECK (taken_energy >= 0),
     read_block bigint NOT NULL,
     read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     weighed_at timestamptz,
     left_energy bigint CHECK (left_energy >= 0)
   )`,
  // The newest ones of a receiver, whenever one of its rentals may have lost energy.
  `CREATE INDEX reclaim_usage_receiver ON reclaim_usage (receive_address, tx_id)`,
  // Empty while nothing is to be made up for; every worker looks once for each of its looks at the chain.
  `CREATE INDEX reclaim_usage_due ON reclaim_usage (receive_address) WHERE weighed_at IS NULL`,
  `CREATE TRIGGER reclaim_usage_final BEFORE UPDATE ON reclaim_usage FOR EACH ROW
     WHEN ((old.tx_id, old.order_id, old.receive_address, old.used_energy, old.limit_energy, old.pool_energy, old.sold_energy,
            old.taken_energy, old.read_block, old.read_at)
       IS DISTINCT FROM (new.tx_id, new.order_id, new.receive_address, new.used_energy, new.limit_energy, new.pool_energy,
            new.sold_energy, new.taken_energy, new.read_block, new.read_at))
     EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER reclaim_usage_kept BEFORE DELETE ON reclaim_usage FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER reclaim_usage_no_truncate BEFORE TRUNCATE ON reclaim_usage FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

const FUNCTIONS = [
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
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END)
    AND (CASE WHEN NEW.top_up_cause IS NULL THEN TG_OP = 'INSERT' OR OLD.top_up_cause IS NULL
      ELSE TG_OP = 'UPDATE' AND NEW.top_up AND NEW.top_up_cause IN ('stake', 'usage')
        AND (NEW.top_up_cause = OLD.top_up_cause OR (OLD.top_up_cause IS NULL AND OLD.status = 'reserved' AND NOT OLD.top_up)) END)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive'
      WHEN NOT (CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END) THEN 'ended by somebody else has a time, and an act or a reason'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END) THEN 'a top-up is made of what is reserved, and stays one'
      WHEN NOT (CASE WHEN NEW.top_up_cause IS NULL THEN TG_OP = 'INSERT' OR OLD.top_up_cause IS NULL
      ELSE TG_OP = 'UPDATE' AND NEW.top_up AND NEW.top_up_cause IN ('stake', 'usage')
        AND (NEW.top_up_cause = OLD.top_up_cause OR (OLD.top_up_cause IS NULL AND OLD.status = 'reserved' AND NOT OLD.top_up)) END) THEN 'the cause is a top-up’s, and stays as it is' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('active','reclaimed'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM open_orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION 'leg of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION archive_orders(p_after bigint, p_before timestamptz, p_limit integer, OUT archived integer, OUT checked_to bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  archived := 0;
  p_before := least(p_before, clock_timestamp() - interval '1 day');
  IF NOT pg_try_advisory_xact_lock(4202067) THEN
    RETURN;
  END IF;
  SELECT max(n.id) FILTER (WHERE n.is_old), array_agg(n.id) FILTER (WHERE n.is_old AND n.is_over) INTO checked_to, v_orders FROM (
    SELECT o.id, o.created_at < p_before AS is_old, o.judged AND NOT o.test AND NOT o.needs_attention AS is_over
      FROM open_orders o WHERE o.id > p_after ORDER BY o.id LIMIT p_limit) n;
  -- Who holds one of them now may change it: it is archived another time.
  SELECT array_agg(h.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND o.judged AND o.next_run_at IS NULL AND (o.lease_until IS NULL OR o.lease_until < clock_timestamp())
       AND (o.status = 'refunded' OR o.status = 'delivered' AND o.settled AND (o.kind = 'activation' OR o.reclaimed_at IS NOT NULL))
       AND NOT EXISTS (SELECT FROM open_leg l WHERE l.order_id = o.id AND NOT (l.status IN ('reclaimed', 'released') OR l.kind = 'activation' AND l.status = 'active'))
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status NOT IN ('solid', 'dead', 'dropped'))
       -- What it cost is recorded where it is open; a node that lost its history cannot tell.
       AND (o.created_at < p_before - interval '30 days'
         OR NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status = 'solid' AND t.fee_sun IS NULL))
       -- Of what was signed and given up, the search of blocks has seen that it stands in none, as far as it could live.
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status IN ('dead', 'dropped') AND t.signature IS NOT NULL
             AND NOT coalesce((SELECT s.scanned_at > t.expires_at FROM reconcile_state s), false))
       -- There it is all that keeps the order from being bought again.
       AND EXISTS (SELECT FROM order_key k WHERE k.project_id = o.project_id AND k.key = o.key AND k.order_id = o.id AND k.extension IS NULL)
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND e.type IS NOT NULL AND e.position IS NULL)
     ORDER BY o.id FOR UPDATE SKIP LOCKED) h;
  IF v_orders IS NULL THEN
    RETURN;
  END IF;
  PERFORM add_archive_range(r.id) FROM (SELECT DISTINCT ON (id / 1000000) id FROM unnest(v_orders) AS id) r;

  INSERT INTO archived_orders (id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, archived) OVERRIDING SYSTEM VALUE
    SELECT id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, true FROM open_orders WHERE id = ANY (v_orders);
  INSERT INTO archived_leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, top_up_cause, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, top_up_cause, true FROM open_leg WHERE order_id = ANY (v_orders);
  INSERT INTO archived_chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, true FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_leg WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  archived := cardinality(v_orders);
END $$`,
];

const FUNCTIONS_BEFORE = [
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
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM open_orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION 'leg of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION archive_orders(p_after bigint, p_before timestamptz, p_limit integer, OUT archived integer, OUT checked_to bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  archived := 0;
  p_before := least(p_before, clock_timestamp() - interval '1 day');
  IF NOT pg_try_advisory_xact_lock(4202067) THEN
    RETURN;
  END IF;
  SELECT max(n.id) FILTER (WHERE n.is_old), array_agg(n.id) FILTER (WHERE n.is_old AND n.is_over) INTO checked_to, v_orders FROM (
    SELECT o.id, o.created_at < p_before AS is_old, o.judged AND NOT o.test AND NOT o.needs_attention AS is_over
      FROM open_orders o WHERE o.id > p_after ORDER BY o.id LIMIT p_limit) n;
  -- Who holds one of them now may change it: it is archived another time.
  SELECT array_agg(h.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND o.judged AND o.next_run_at IS NULL AND (o.lease_until IS NULL OR o.lease_until < clock_timestamp())
       AND (o.status = 'refunded' OR o.status = 'delivered' AND o.settled AND (o.kind = 'activation' OR o.reclaimed_at IS NOT NULL))
       AND NOT EXISTS (SELECT FROM open_leg l WHERE l.order_id = o.id AND NOT (l.status IN ('reclaimed', 'released') OR l.kind = 'activation' AND l.status = 'active'))
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status NOT IN ('solid', 'dead', 'dropped'))
       -- What it cost is recorded where it is open; a node that lost its history cannot tell.
       AND (o.created_at < p_before - interval '30 days'
         OR NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status = 'solid' AND t.fee_sun IS NULL))
       -- Of what was signed and given up, the search of blocks has seen that it stands in none, as far as it could live.
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status IN ('dead', 'dropped') AND t.signature IS NOT NULL
             AND NOT coalesce((SELECT s.scanned_at > t.expires_at FROM reconcile_state s), false))
       -- There it is all that keeps the order from being bought again.
       AND EXISTS (SELECT FROM order_key k WHERE k.project_id = o.project_id AND k.key = o.key AND k.order_id = o.id AND k.extension IS NULL)
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND e.type IS NOT NULL AND e.position IS NULL)
     ORDER BY o.id FOR UPDATE SKIP LOCKED) h;
  IF v_orders IS NULL THEN
    RETURN;
  END IF;
  PERFORM add_archive_range(r.id) FROM (SELECT DISTINCT ON (id / 1000000) id FROM unnest(v_orders) AS id) r;

  INSERT INTO archived_orders (id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, archived) OVERRIDING SYSTEM VALUE
    SELECT id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata, true FROM open_orders WHERE id = ANY (v_orders);
  INSERT INTO archived_leg (id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, true FROM open_leg WHERE order_id = ANY (v_orders);
  INSERT INTO archived_chain_tx (id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, archived) OVERRIDING SYSTEM VALUE
    SELECT id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun, true FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_leg WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  archived := cardinality(v_orders);
END $$`,
];

const DOWN = [...FUNCTIONS_BEFORE, `DROP TABLE reclaim_usage`, `ALTER TABLE leg DROP COLUMN top_up_cause`];

export class UsageLosses1760000000070 implements MigrationInterface {
  readonly name = 'UsageLosses1760000000070';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...TABLE, ...FUNCTIONS]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
