/**
 * What the reconciler needs to remember: why a wallet or everything stopped selling, which disagreements a person has
 * explained, which acts of our wallets stand on chain without a record, and how far the chain was searched for them.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  // Each of those who watch a wallet has a column of its own, so that neither lifts what the other holds.
  `ALTER TABLE pool_wallet
     ADD COLUMN wallet_fault text,
     ADD COLUMN books_fault text,
     ADD COLUMN recovering_sun bigint NOT NULL DEFAULT 0`,
  // One row while nothing at all may be sold; a person's act removes it.
  `CREATE TABLE sales_stop (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    reason text NOT NULL,
    findings jsonb NOT NULL,
    stopped_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  // A disagreement by its fingerprint, figures included: explained once, it stops nothing any more.
  `CREATE TABLE explained_finding (
    fingerprint text PRIMARY KEY,
    check_name text NOT NULL,
    subject text NOT NULL,
    facts jsonb NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    explained_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `CREATE TABLE orphan_tx (
    txid bytea PRIMARY KEY CHECK (length(txid) = 32 AND txid = sha256(raw_data)),
    wallet_id integer NOT NULL,
    -- TRON's contract type: 57 delegate, 58 undelegate, 0 create account.
    type smallint NOT NULL,
    -- Made through the permission of the service's own key, not by the wallet's owner.
    by_own_key boolean NOT NULL,
    receive_address text,
    amount_sun bigint,
    raw_data bytea NOT NULL,
    signature bytea,
    block_number bigint NOT NULL,
    block_id bytea NOT NULL,
    block_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The order that takes it back.
    order_id bigint,
    -- Seen to be gone again: nothing of it is left to take back.
    gone_at timestamptz
  )`,
  // One row: whose turn it is, and the last solid block that was searched.
  `CREATE TABLE reconcile_state (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    lease_until timestamptz,
    fence integer NOT NULL DEFAULT 0,
    passed_at timestamptz,
    scanned_to bigint,
    -- When the search last came up to the solid head.
    searched_at timestamptz
  )`,
  `INSERT INTO reconcile_state DEFAULT VALUES`,
  // A wallet's status follows from who holds it, whoever writes the row; a person's own pause stays a person's.
  `CREATE FUNCTION pool_wallet_status() RETURNS trigger LANGUAGE plpgsql AS $$
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
  `CREATE TRIGGER pool_wallet_status BEFORE INSERT OR UPDATE ON pool_wallet
   FOR EACH ROW EXECUTE FUNCTION pool_wallet_status()`,
  // Stopping and resuming reach every wallet in the same transaction.
  `CREATE FUNCTION sales_stop_reaches_wallets() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     UPDATE pool_wallet SET status = status;
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER sales_stop_reaches_wallets AFTER INSERT OR UPDATE OR DELETE ON sales_stop
   FOR EACH STATEMENT EXECUTE FUNCTION sales_stop_reaches_wallets()`,
];

const DOWN = [
  `DROP TRIGGER pool_wallet_status ON pool_wallet`,
  `DROP TABLE sales_stop, explained_finding, orphan_tx, reconcile_state`,
  `DROP FUNCTION pool_wallet_status, sales_stop_reaches_wallets`,
  `ALTER TABLE pool_wallet DROP COLUMN wallet_fault, DROP COLUMN books_fault, DROP COLUMN recovering_sun`,
];

export class Reconciling1760000000002 implements MigrationInterface {
  readonly name = 'Reconciling1760000000002';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
