/**
 * What projects pay in on chain: the accounts that addresses are derived from, an address for each project, what came to
 * them, how far blocks were read, and the rates of each minute that deposits are credited at.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `CREATE TABLE deposit_account (
     account bigint PRIMARY KEY CHECK (account BETWEEN 0 AND 2147483647),
     first_address text NOT NULL UNIQUE,
     created_at timestamptz NOT NULL DEFAULT clock_timestamp()
   )`,
  `CREATE TABLE deposit_address (
     address text PRIMARY KEY,
     project_id uuid NOT NULL REFERENCES project (id),
     account bigint NOT NULL REFERENCES deposit_account (account),
     place bigint NOT NULL CHECK (place BETWEEN 0 AND 2147483647),
     created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     -- One address of each account for a project, and no address twice.
     UNIQUE (project_id, account),
     UNIQUE (account, place)
   )`,
  `CREATE TABLE deposit_cursor (
     id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
     block_number bigint NOT NULL,
     block_id bytea NOT NULL CHECK (length(block_id) = 32),
     block_at timestamptz NOT NULL,
     fence bigint NOT NULL DEFAULT 0,
     lease_until timestamptz,
     read_at timestamptz
   )`,
  // The key says for ever that a transfer was taken in: by its place in its transaction, since one transaction can pay
  // an address twice. A value of a log has 256 bits.
  `CREATE TABLE deposit (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     txid bytea NOT NULL CHECK (length(txid) = 32),
     kind text NOT NULL,
     place integer NOT NULL,
     project_id uuid NOT NULL REFERENCES project (id),
     address text NOT NULL REFERENCES deposit_address (address),
     from_address text NOT NULL,
     asset text NOT NULL,
     amount numeric(78) NOT NULL,
     block_number bigint NOT NULL,
     block_id bytea NOT NULL CHECK (length(block_id) = 32),
     block_at timestamptz NOT NULL,
     status text NOT NULL,
     reason text,
     rate_e8 bigint CHECK (rate_e8 > 0),
     entry_key text,
     credits bigint CHECK (credits > 0),
     seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
     UNIQUE (txid, kind, place)
   )`,
  // Lists of a project, newest first.
  `CREATE INDEX deposit_project ON deposit (project_id, id)`,
  // What waits is few rows of many: for a rate, for the operator, or for more to come to its address.
  `CREATE INDEX deposit_waiting ON deposit (status, reason, project_id, asset) WHERE status IN ('pending', 'held')`,
  // With one node only so much is credited in a day by itself.
  `CREATE INDEX deposit_credited_at ON deposit (changed_at) WHERE status = 'credited' AND credits IS NOT NULL`,
  `CREATE TABLE ignored_transfer (
     address text NOT NULL REFERENCES deposit_address (address),
     contract text NOT NULL,
     day date NOT NULL,
     transfers bigint NOT NULL,
     PRIMARY KEY (address, contract, day)
   )`,
  `CREATE TABLE asset_rate (
     asset text NOT NULL CHECK (asset IN ('TRX', 'USDT')),
     minute timestamptz NOT NULL,
     rate_e8 bigint NOT NULL CHECK (rate_e8 > 0),
     PRIMARY KEY (asset, minute)
   )`,
  `CREATE OR REPLACE FUNCTION deposit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF NOT (NEW.kind IN ('native', 'log', 'internal') AND NEW.place >= 0 AND (NEW.kind <> 'native' OR NEW.place = 0)
       AND NEW.asset IN ('TRX', 'USDT') AND (NEW.asset = 'USDT') = (NEW.kind = 'log') AND NEW.amount > 0
       AND NEW.status IN ('pending', 'held', 'credited', 'ignored', 'dropped')
       AND (NEW.status IN ('credited', 'dropped') OR NEW.reason IS NOT NULL)) THEN
       RAISE EXCEPTION 'deposit %: no such deposit', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF TG_OP = 'UPDATE' THEN
       IF (OLD.txid, OLD.kind, OLD.place, OLD.project_id, OLD.address, OLD.from_address, OLD.asset, OLD.amount, OLD.seen_at)
         IS DISTINCT FROM (NEW.txid, NEW.kind, NEW.place, NEW.project_id, NEW.address, NEW.from_address, NEW.asset, NEW.amount, NEW.seen_at) THEN
         RAISE EXCEPTION 'deposit %: its terms never change', OLD.id USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status IN ('credited', 'ignored') THEN
         RAISE EXCEPTION 'deposit %: %, never changed', OLD.id, OLD.status USING ERRCODE = 'check_violation';
       END IF;
       IF OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (('pending','credited'), ('pending','held'), ('pending','ignored'), ('pending','dropped'), ('held','credited'), ('held','ignored'), ('dropped','pending')) THEN
         RAISE EXCEPTION 'deposit %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
       END IF;
     END IF;
     IF NEW.status = 'credited' AND (NEW.rate_e8 IS NULL OR (NEW.entry_key = 'deposit:' || encode(NEW.txid, 'hex') || ':' || NEW.kind || ':' || NEW.place) <> (NEW.credits IS NOT NULL)
       OR NOT EXISTS (SELECT FROM credit_entry e WHERE e.entry_key = NEW.entry_key AND e.project_id = NEW.project_id
                        AND e.credits = coalesce(NEW.credits, e.credits))) THEN
       RAISE EXCEPTION 'deposit %: credited without its ledger entry', NEW.id USING ERRCODE = 'check_violation';
     END IF;
     IF NEW.status <> 'credited' AND (NEW.entry_key IS NOT NULL OR NEW.credits IS NOT NULL) THEN
       RAISE EXCEPTION 'deposit %: % with a ledger entry', NEW.id, NEW.status USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`,
  `CREATE OR REPLACE FUNCTION deposit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- Small ones, of which there can be thousands, come with the one with which their sum passes the minimum.
     IF TG_OP = 'UPDATE' AND OLD.status = NEW.status OR NEW.reason = 'below_minimum'
       OR NEW.status = 'credited' AND NEW.credits IS NULL THEN
       RETURN NULL;
     END IF;
     INSERT INTO event (project_id, type, chain_at, snapshot)
     VALUES (NEW.project_id, 'deposit.' || NEW.status, NEW.block_at, json_build_object('deposit', json_build_object(
       'id', NEW.id::text, 'txid', encode(NEW.txid, 'hex'), 'kind', NEW.kind, 'place', NEW.place, 'address', NEW.address,
       'from_address', NEW.from_address, 'asset', NEW.asset, 'amount', NEW.amount::text, 'status', NEW.status,
       'reason', NEW.reason, 'rate_e8', NEW.rate_e8::text, 'credits', NEW.credits::text,
       'block_number', NEW.block_number::text, 'block_at', NEW.block_at)));
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION deposit_guard(), deposit_changed() FROM PUBLIC`,
  `CREATE TRIGGER deposit_guard BEFORE INSERT OR UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION deposit_guard()`,
  `CREATE TRIGGER deposit_changed AFTER INSERT OR UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION deposit_changed()`,
  `CREATE TRIGGER deposit_kept BEFORE DELETE ON deposit FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_no_truncate BEFORE TRUNCATE ON deposit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_account_kept BEFORE DELETE OR UPDATE ON deposit_account FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_account_no_truncate BEFORE TRUNCATE ON deposit_account FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_address_kept BEFORE DELETE OR UPDATE ON deposit_address FOR EACH ROW EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER deposit_address_no_truncate BEFORE TRUNCATE ON deposit_address FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
];

const DOWN = [
  `DROP TABLE asset_rate, ignored_transfer, deposit, deposit_cursor, deposit_address, deposit_account`,
  `DROP FUNCTION deposit_guard(), deposit_changed()`,
];

export class Deposits1760000000031 implements MigrationInterface {
  readonly name = 'Deposits1760000000031';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
