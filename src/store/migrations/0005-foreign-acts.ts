/**
 * What somebody else does to our delegations: a leg may end by another's act, an order may be compensated for it, an
 * explanation holds for an amount. And whether this is still the server, and the data, that the records were written to.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Of a leg that ended otherwise than by our undelegation: when by the chain's clock, by which act, by whose word.
  `ALTER TABLE leg ADD COLUMN closed_at timestamptz, ADD COLUMN closed_by_txid bytea, ADD COLUMN closed_reason text`,
  // The legs that an undelegation by somebody else has ended.
  `ALTER TABLE orphan_tx ADD COLUMN leg_ids bigint[]`,
  // How large a disagreement was when it was explained; a larger one is another. Null: it has no size.
  `ALTER TABLE explained_finding ADD COLUMN amount numeric`,
  `CREATE INDEX credit_entry_compensation ON credit_entry (order_id) WHERE kind = 'compensation'`,
  `ALTER TABLE reconcile_state
     -- The server and data that the records were last known to be whole on; see server_mark().
     ADD COLUMN server_mark text,
     -- Another one that was seen since, and the chain's time up to which its past must be searched before it is taken for whole.
     ADD COLUMN search_mark text,
     ADD COLUMN search_until timestamptz,
     -- The time of the last block that was searched, by the chain's clock.
     ADD COLUMN scanned_at timestamptz`,
  `CREATE OR REPLACE FUNCTION server_mark() RETURNS text LANGUAGE plpgsql STABLE AS $$
   DECLARE
     v_timeline text := '';
     v_system text := '';
   BEGIN
     BEGIN
       v_timeline := substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
     EXCEPTION WHEN OTHERS THEN NULL;
     END;
     BEGIN
       v_system := (SELECT system_identifier::text FROM pg_control_system());
     EXCEPTION WHEN OTHERS THEN NULL;
     END;
     RETURN concat_ws('/', v_system, v_timeline, (SELECT oid FROM pg_database WHERE datname = current_database()),
       'reconcile_state'::regclass::oid);
   END $$`,
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
  `CREATE OR REPLACE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.purpose IN ('delegate', 'reclaim', 'activate'))
    AND (NEW.attempt >= 1)
    AND (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped'))
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END)
    AND (length(NEW.signature) = 65)
    AND (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL)
    AND (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL))
    AND (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL)) THEN
    RAISE EXCEPTION 'chain transaction %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.purpose IN ('delegate', 'reclaim', 'activate')) THEN 'purpose'
      WHEN NOT (NEW.attempt >= 1) THEN 'attempts count from 1'
      WHEN NOT (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped')) THEN 'status'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END) THEN 'the id is the hash of the bytes, which never change'
      WHEN NOT (length(NEW.signature) = 65) THEN 'a signature has 65 bytes'
      WHEN NOT (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL) THEN 'only what is signed may be sent'
      WHEN NOT (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL)) THEN 'included has a block'
      WHEN NOT (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL) THEN 'dead has evidence' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('built','signed'), ('built','dropped'), ('signed','sending'), ('signed','dropped'), ('sending','included'), ('sending','dead'), ('included','sending'), ('included','solid'), ('dead','solid'), ('dropped','solid')) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.status IN ('dead', 'dropped') AND NOT EXISTS (SELECT FROM orphan_tx WHERE txid = NEW.txid) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become % unseen on chain', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION credit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.contra IN ('revenue', 'funding', 'adjustments'))
    AND (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation'))
    AND (NEW.credits <> 0)
    AND (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra = 'funding' AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END)) THEN
    RAISE EXCEPTION 'ledger entry %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.contra IN ('revenue', 'funding', 'adjustments')) THEN 'the other side'
      WHEN NOT (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation')) THEN 'kind'
      WHEN NOT (NEW.credits <> 0) THEN 'the amount is not zero'
      WHEN NOT (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra = 'funding' AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END) THEN 'sign, other side and order by kind' END USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
];

const DOWN = [
  `CREATE OR REPLACE FUNCTION leg_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.kind IN ('rental', 'activation'))
    AND (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released'))
    AND (NEW.amount_sun > 0)) THEN
    RAISE EXCEPTION 'leg %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.kind IN ('rental', 'activation')) THEN 'kind'
      WHEN NOT (NEW.status IN ('reserved', 'placed', 'active', 'reclaiming', 'reclaimed', 'released')) THEN 'status'
      WHEN NOT (NEW.amount_sun > 0) THEN 'the amount is positive' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('reserved','placed'), ('reserved','released'), ('placed','active'), ('placed','released'), ('active','placed'), ('active','reclaiming'), ('reclaiming','reclaimed')) THEN
      RAISE EXCEPTION 'leg %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION chain_tx_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.purpose IN ('delegate', 'reclaim', 'activate'))
    AND (NEW.attempt >= 1)
    AND (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped'))
    AND (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END)
    AND (length(NEW.signature) = 65)
    AND (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL)
    AND (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL))
    AND (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL)) THEN
    RAISE EXCEPTION 'chain transaction %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.purpose IN ('delegate', 'reclaim', 'activate')) THEN 'purpose'
      WHEN NOT (NEW.attempt >= 1) THEN 'attempts count from 1'
      WHEN NOT (NEW.status IN ('built', 'signed', 'sending', 'included', 'solid', 'dead', 'dropped')) THEN 'status'
      WHEN NOT (CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END) THEN 'the id is the hash of the bytes, which never change'
      WHEN NOT (length(NEW.signature) = 65) THEN 'a signature has 65 bytes'
      WHEN NOT (NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL) THEN 'only what is signed may be sent'
      WHEN NOT (NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL)) THEN 'included has a block'
      WHEN NOT (NEW.status <> 'dead' OR NEW.evidence IS NOT NULL) THEN 'dead has evidence' END USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (('built','signed'), ('built','dropped'), ('signed','sending'), ('signed','dropped'), ('sending','included'), ('sending','dead'), ('included','sending'), ('included','solid')) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END$$`,
  `CREATE OR REPLACE FUNCTION credit_entry_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT ((NEW.contra IN ('revenue', 'funding', 'adjustments'))
    AND (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment'))
    AND (NEW.credits <> 0)
    AND (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra = 'funding' AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END)) THEN
    RAISE EXCEPTION 'ledger entry %: breaks the rule %', NEW.id, CASE
      WHEN NOT (NEW.contra IN ('revenue', 'funding', 'adjustments')) THEN 'the other side'
      WHEN NOT (NEW.kind IN ('charge', 'refund', 'topup', 'adjustment')) THEN 'kind'
      WHEN NOT (NEW.credits <> 0) THEN 'the amount is not zero'
      WHEN NOT (CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra = 'revenue' AND NEW.order_id IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra = 'funding' AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END) THEN 'sign, other side and order by kind' END USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END$$`,
  `DROP FUNCTION server_mark`,
  `ALTER TABLE reconcile_state DROP COLUMN server_mark, DROP COLUMN search_mark, DROP COLUMN search_until,
     DROP COLUMN scanned_at`,
  `DROP INDEX credit_entry_compensation`,
  `ALTER TABLE explained_finding DROP COLUMN amount`,
  `ALTER TABLE orphan_tx DROP COLUMN leg_ids`,
  `ALTER TABLE leg DROP COLUMN closed_at, DROP COLUMN closed_by_txid, DROP COLUMN closed_reason`,
];

export class ForeignActs1760000000005 implements MigrationInterface {
  readonly name = 'ForeignActs1760000000005';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
