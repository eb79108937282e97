/**
 * The token that deposits are paid in, kept with each deposit, and its successors. What the token's owner destroys at a
 * deposit address is a movement of its own kind. Ignored transfers say how much and where.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const GUARD = `CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND (NEW.kind = 'log' OR NEW.contract IS NULL)
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     -- Only before there was a successor can the version before leave out which token was paid.
     IF TG_OP = 'INSERT' AND NEW.kind = 'log' AND NEW.contract IS NULL
       AND EXISTS (SELECT FROM deposit_token WHERE replaces IS NOT NULL) THEN
       RAISE EXCEPTION 'deposit %: paid in no token', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'UPDATE' THEN
       -- What was only seen at the head is nothing that is known: its solid block says what it is.
       IF (OLD.txid, OLD.kind, OLD.place, OLD.seen_at) IS DISTINCT FROM (NEW.txid, NEW.kind, NEW.place, NEW.seen_at)
         OR (OLD.project_id, OLD.address, OLD.from_address, OLD.asset, OLD.amount, OLD.contract)
           IS DISTINCT FROM (NEW.project_id, NEW.address, NEW.from_address, NEW.asset, NEW.amount, NEW.contract)
         AND NOT (OLD.status = 'dropped' OR OLD.status = 'pending' AND OLD.reason = 'not_solid') THEN
         RAISE EXCEPTION 'deposit %: its terms never change', OLD.id USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status IN ('credited', 'ignored') THEN
         RAISE EXCEPTION 'deposit %: %, never changed', OLD.id, OLD.status USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (('pending','credited'), ('pending','held'), ('pending','ignored'), ('pending','dropped'), ('held','credited'), ('held','ignored'), ('dropped','pending'), ('dropped','credited'), ('dropped','held')) THEN
         RAISE EXCEPTION 'deposit %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
       END IF;
       -- The version before credits small ones with others whether they have a rate or not: one without waits on.
       IF NEW.status = 'credited' AND NEW.rate_e8 IS NULL AND OLD.status = 'pending' AND OLD.reason = 'below_minimum' THEN
         RETURN NULL;
       END IF;
     END IF;
     IF NEW.status = 'credited' AND (NEW.rate_e8 IS NULL OR (NEW.entry_key = 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place) <> (NEW.credits IS NOT NULL)
       OR NOT EXISTS (SELECT FROM credit_entry e WHERE e.entry_key = NEW.entry_key AND e.project_id = NEW.project_id
                        AND e.credits = coalesce(NEW.credits, e.credits))) THEN
       RAISE EXCEPTION 'deposit %: credited without its ledger entry', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     -- A small one whose sum is held names the deposit that it is held with.
     IF NEW.status <> 'credited' AND (NEW.credits IS NOT NULL OR NEW.entry_key IS NOT NULL AND NOT (NEW.status = 'pending'
       AND NEW.reason IN ('one_node', 'auto_max', 'amount', 'blacklisted', 'destroyed') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place)) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`;

const GUARD_BEFORE = `CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'UPDATE' THEN
       -- What was only seen at the head is nothing that is known: its solid block says what it is.
       IF (OLD.txid, OLD.kind, OLD.place, OLD.seen_at) IS DISTINCT FROM (NEW.txid, NEW.kind, NEW.place, NEW.seen_at)
         OR (OLD.project_id, OLD.address, OLD.from_address, OLD.asset, OLD.amount)
           IS DISTINCT FROM (NEW.project_id, NEW.address, NEW.from_address, NEW.asset, NEW.amount)
         AND NOT (OLD.status = 'dropped' OR OLD.status = 'pending' AND OLD.reason = 'not_solid') THEN
         RAISE EXCEPTION 'deposit %: its terms never change', OLD.id USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status IN ('credited', 'ignored') THEN
         RAISE EXCEPTION 'deposit %: %, never changed', OLD.id, OLD.status USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (('pending','credited'), ('pending','held'), ('pending','ignored'), ('pending','dropped'), ('held','credited'), ('held','ignored'), ('dropped','pending'), ('dropped','credited'), ('dropped','held')) THEN
         RAISE EXCEPTION 'deposit %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
       END IF;
       -- The version before credits small ones with others whether they have a rate or not: one without waits on.
       IF NEW.status = 'credited' AND NEW.rate_e8 IS NULL AND OLD.status = 'pending' AND OLD.reason = 'below_minimum' THEN
         RETURN NULL;
       END IF;
     END IF;
     IF NEW.status = 'credited' AND (NEW.rate_e8 IS NULL OR (NEW.entry_key = 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place) <> (NEW.credits IS NOT NULL)
       OR NOT EXISTS (SELECT FROM credit_entry e WHERE e.entry_key = NEW.entry_key AND e.project_id = NEW.project_id
                        AND e.credits = coalesce(NEW.credits, e.credits))) THEN
       RAISE EXCEPTION 'deposit %: credited without its ledger entry', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     -- A small one whose sum is held names the deposit that it is held with.
     IF NEW.status <> 'credited' AND (NEW.credits IS NOT NULL OR NEW.entry_key IS NOT NULL AND NOT (NEW.status = 'pending'
       AND NEW.reason IN ('one_node', 'auto_max', 'amount') AND NEW.rate_e8 IS NOT NULL AND NEW.entry_key <> 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place)) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`;

const UP = [
  `CREATE TABLE deposit_token (
     contract text PRIMARY KEY,
     -- The token before it; none of the first.
     replaces text UNIQUE REFERENCES deposit_token (contract),
     -- Its transfers count from this block on, until those of its successor do.
     from_block bigint NOT NULL UNIQUE CHECK (from_block >= 0),
     created_at timestamptz NOT NULL DEFAULT clock_timestamp()
   )`,
  // There is one first token, whichever process records it.
  `CREATE UNIQUE INDEX deposit_token_first ON deposit_token ((replaces IS NULL)) WHERE replaces IS NULL`,
  // Empty of TRX, and of what was paid before this column was: that was the first token.
  `ALTER TABLE deposit ADD COLUMN contract text REFERENCES deposit_token (contract)`,
  `ALTER TABLE deposit_movement ADD COLUMN contract text`,
  `ALTER TABLE deposit_movement DROP CONSTRAINT deposit_movement_kind_check`,
  `ALTER TABLE deposit_movement ADD CONSTRAINT deposit_movement_kind_check
     CHECK (kind IN ('native', 'log', 'internal', 'fee', 'destroyed'))`,
  `ALTER TABLE ignored_transfer ADD COLUMN amount numeric NOT NULL DEFAULT 0, ADD COLUMN last_txid bytea,
     ADD COLUMN last_block bigint`,
  GUARD,
  `CREATE TRIGGER deposit_token_kept BEFORE DELETE OR UPDATE OF contract, replaces, created_at ON deposit_token FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_token_no_truncate BEFORE TRUNCATE ON deposit_token FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

const DOWN = [
  GUARD_BEFORE,
  `ALTER TABLE ignored_transfer DROP COLUMN amount, DROP COLUMN last_txid, DROP COLUMN last_block`,
  `ALTER TABLE deposit_movement DROP CONSTRAINT deposit_movement_kind_check`,
  // Movements are never deleted: what was destroyed meanwhile stays recorded.
  `DO $$ BEGIN
     ALTER TABLE deposit_movement ADD CONSTRAINT deposit_movement_kind_check CHECK (kind IN ('native', 'log', 'internal', 'fee'));
   EXCEPTION WHEN check_violation THEN
     ALTER TABLE deposit_movement ADD CONSTRAINT deposit_movement_kind_check CHECK (kind IN ('native', 'log', 'internal', 'fee')) NOT VALID;
   END $$`,
  `ALTER TABLE deposit_movement DROP COLUMN contract`,
  `ALTER TABLE deposit DROP COLUMN contract`,
  `DROP TABLE deposit_token`,
];

export class DepositToken1760000000073 implements MigrationInterface {
  readonly name = 'DepositToken1760000000073';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
